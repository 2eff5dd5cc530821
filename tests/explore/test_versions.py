"""A document that several change at once: nothing is lost, and every answer is of one version."""

import random
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

pytest.importorskip("starlette")

from starlette.testclient import TestClient

import cladify
from cladify.errors import FileError, InvalidInput, Stale
from cladify.explore import open_document
from cladify.explore._server import make_app

TOKEN = "secret"


def connect(document):
    return TestClient(make_app(document, token=TOKEN), base_url="http://127.0.0.1:8765")


def edit(client, **action):
    return client.post("/api/edit", json=action, headers={"x-cladify-token": TOKEN})


def groups_of(document):
    return document.taxonomy.keys[document.taxonomy.n_items :].tolist()


def names_in(file):
    return [step.name for step in cladify.Taxonomy.load(file).edits]


def test_two_tabs_on_one_server(document):
    client = connect(document)
    version = client.get("/api/meta").json()["version"]
    first, second = groups_of(document)[:2]
    answer = edit(client, op="rename", node=first, name="tab A", version=version)
    assert answer.status_code == 200
    stale = edit(client, op="rename", node=second, name="tab B", version=version)
    assert stale.status_code == 409
    assert "changed by another" in stale.json()["error"]
    assert stale.json()["version"] == answer.json()["version"] == client.get("/api/version").json()["version"]
    assert names_in(document.file) == ["tab A"]
    assert edit(client, op="rename", node=second, name="tab B", version=stale.json()["version"]).status_code == 200
    assert names_in(document.file) == ["tab A", "tab B"]
    assert edit(client, op="undo", version="other-1").status_code == 409
    assert edit(client, op="undo", version=5).status_code == 409


def test_two_servers_on_one_file(document):
    other = open_document(document.file)
    a, b = connect(document), connect(other)
    seen = b.get("/api/meta").json()["version"]
    first, second = groups_of(document)[:2]
    assert edit(a, op="rename", node=first, name="in A").status_code == 200
    answer = edit(b, op="rename", node=second, name="in B", version=seen)
    assert answer.status_code == 409
    assert names_in(document.file) == ["in A"]
    assert b.get(f"/api/card?node={first}").json()["name"] == "in A"  # the server shows what is there now
    again = answer.json()["version"]
    assert again.split("-")[0] == seen.split("-")[0]  # the same nodes, so that the page may offer the edit again
    assert edit(b, op="rename", node=second, name="in B", version=again).status_code == 200
    assert names_in(document.file) == ["in A", "in B"]
    assert edit(a, op="collapse", node=second).status_code == 200  # without a version: on top of what is there
    assert len(cladify.Taxonomy.load(document.file).edits) == 3


def test_a_stale_writer_of_the_file_is_409(document, monkeypatch):
    def stale(self, path):
        raise Stale("things.taxonomy was changed by another writer; reload and try again.")

    client, before = connect(document), document.view.name(document.view.tree.root)
    monkeypatch.setattr(cladify.Taxonomy, "save_edits", stale)
    assert edit(client, op="rename", node=groups_of(document)[-1], name="x").status_code == 409
    assert document.view.name(document.view.tree.root) == before
    assert len(document.taxonomy.edits) == 0


def test_an_edit_that_cannot_be_saved_leaves_no_trace(document, monkeypatch):
    client, key = connect(document), groups_of(document)[0]
    assert edit(client, op="rename", node=key, name="one").status_code == 200
    assert edit(client, op="undo").status_code == 200
    version = client.get("/api/meta").json()["version"]
    with monkeypatch.context() as patch:

        def full(self, path):
            raise FileError("cannot write: No space left on device")

        patch.setattr(cladify.Taxonomy, "save_edits", full)
        assert "No space left" in edit(client, op="rename", node=key, name="refused").json()["error"]
    assert client.get("/api/meta").json()["version"] == version
    assert (len(document.taxonomy.edits.done), len(document.taxonomy.edits.undone)) == (0, 1)
    assert edit(client, op="redo").status_code == 200
    assert names_in(document.file) == ["one"]


def test_a_file_that_is_made_again_is_noticed(tmp_path, taxonomy):
    file = tmp_path / "a.taxonomy"
    taxonomy.save(file)
    document = open_document(file)
    client, seen = connect(document), document.now.name
    made = cladify.Taxonomy.fit(np.random.default_rng(0).normal(size=(300, 4)), [f"new {i}" for i in range(300)])
    made.save(tmp_path / "b.taxonomy")
    shutil.move(tmp_path / "b.taxonomy", file)
    assert edit(client, op="rename", node=groups_of(document)[0], name="x", version=seen).status_code == 409
    now = client.get("/api/version").json()["version"]
    assert now.split("-")[0] != seen.split("-")[0]  # other nodes: the page does not offer the edit again
    assert client.get("/api/meta").json()["n"] == 300
    assert cladify.Taxonomy.load(file).n_items == 300 and names_in(file) == []


def test_a_new_file_that_does_not_fit_what_was_given(document):
    file = document.file
    cladify.Taxonomy.fit(np.random.default_rng(0).normal(size=(50, 4)), [f"new {i}" for i in range(50)]).save(file)
    client = connect(document)
    assert "start the explorer again" in client.get("/api/version").json()["error"]
    assert "start the explorer again" in edit(client, op="undo").json()["error"]
    assert cladify.Taxonomy.load(file).n_items == 50
    assert client.get("/api/meta").json()["n"] == 120  # the page goes on reading


def test_edits_from_python_are_seen_and_edits_of_the_page_are_in_the_taxonomy(texts):
    taxonomy = cladify.Taxonomy.from_texts(texts, min_size=4)
    document = open_document(taxonomy)
    client, seen = connect(document), document.now.name
    taxonomy.rename(taxonomy.tree.root, "by hand")
    assert edit(client, op="undo", version=seen).status_code == 409
    assert client.get("/api/meta").json()["root"]["name"] == "by hand"
    assert edit(client, op="rename", node=groups_of(document)[0], name="in the page").status_code == 200
    assert "in the page" in taxonomy.names.values()


def mixed(document, until, n_threads):
    """Readers and writers in threads; the statuses seen, and the texts of each (version, question)."""
    client, statuses, texts, lock = connect(document), {}, {}, threading.Lock()
    n, top = document.taxonomy.n_items, document.taxonomy.tree.n_nodes
    exports = ("what=table&format=csv", "what=labels&format=csv&n=9", "what=json", "what=newick")
    questions = [f"export?{what}" for what in exports] + ["cut?n=8", "meta", f"card?node={top - 1}", "search?q=item"]

    def work(seed):
        rng = random.Random(seed)
        for step in until(seed):
            if seed % 4 == 0:
                key, other = (rng.randrange(n, top) for _ in range(2))
                made = {"op": rng.choice(["undo", "redo", "hide", "collapse", "merge", "rename", "move"])}
                made |= {"node": key, "with": other, "to": other, "name": f"name {step}"}
                answer, name = edit(client, **made), None
            else:
                name = rng.choice(questions)
                answer = client.get(f"/api/{name}")
            with lock:
                statuses[answer.status_code] = statuses.get(answer.status_code, 0) + 1
                version = answer.headers.get("x-cladify-version")
                if name and version:
                    texts.setdefault((version, name), set()).add(answer.text)

    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(work, range(n_threads)))
    return statuses, texts


def test_eight_threads_see_whole_versions(tmp_path):
    rng = np.random.default_rng(0)
    cladify.Taxonomy.fit(rng.normal(size=(150, 6)), [f"item {i}" for i in range(150)]).save(tmp_path / "a.taxonomy")
    document = open_document(tmp_path / "a.taxonomy")
    statuses, texts = mixed(document, lambda seed: range(12), 8)
    assert set(statuses) <= {200, 400}  # 400: an edit that cannot be made, or a node that is gone
    assert statuses[200] > 30
    assert all(len(seen) == 1 for seen in texts.values())  # one version has one answer
    assert cladify.Taxonomy.load(document.file).edits == document.taxonomy.edits


def test_versions_need_a_known_name(document):
    with pytest.raises(Stale):
        document.edit({"op": "undo", "version": None})
    with pytest.raises(InvalidInput, match="no edit to undo"):
        document.edit({"op": "undo", "version": document.now.name})
