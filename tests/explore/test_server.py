"""The server's answers and its guards, without a browser."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
import zipfile

import numpy as np
import pyarrow.csv as csv
import pyarrow.parquet as parquet
import pytest

pytest.importorskip("starlette")

from starlette.testclient import TestClient

import cladify
from cladify.errors import CladifyWarning, FileError, InvalidInput
from cladify.explore import Explorer, open_document
from cladify.explore._server import make_app
from cladify.maps._islands import densest

TOKEN = "secret"


@pytest.fixture
def client(document):
    with TestClient(make_app(document, token=TOKEN), base_url="http://127.0.0.1:8765") as client:
        yield client


def root_of(client):
    return client.get("/api/meta").json()["root"]["id"]


def edit(client, **action):
    return client.post("/api/edit", json=action, headers={"x-cladify-token": TOKEN})


def test_page_and_its_files(client):
    page = client.get("/")
    assert page.status_code == 200
    for name in re.findall(r'(?:src|href)="([\w.]+)"', page.text):
        assert client.get(f"/{name}").status_code == 200
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy
    assert page.headers["x-content-type-options"] == "nosniff"
    assert not re.search(r"https?://", page.text)


@pytest.mark.parametrize(
    "path", ["/../pyproject.toml", "/%2e%2e/server.py", "/server.py", "/static/main.js", "/etc/passwd"]
)
def test_no_path_leaves_the_given_files(client, path):
    assert client.get(path).status_code == 404


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:8765", "", "localhost.evil:80"])
def test_other_hosts_are_refused(client, host):
    assert client.get("/api/meta", headers={"host": host}).status_code == 421


@pytest.mark.parametrize("host", ["localhost:8765", "127.0.0.1", "[::1]:8765"])
def test_own_names_are_served(client, host):
    assert client.get("/api/meta", headers={"host": host}).status_code == 200


def test_writing_needs_the_token_and_the_origin(client, document):
    action = {"op": "rename", "node": root_of(client), "name": "everything"}
    assert client.post("/api/edit", json=action).status_code == 403
    assert client.post("/api/edit", json=action, headers={"x-cladify-token": "wrong"}).status_code == 403
    other = {"x-cladify-token": TOKEN, "origin": "http://evil.example"}
    assert client.post("/api/edit", json=action, headers=other).status_code == 403
    assert len(document.taxonomy.edits) == 0


def test_edits_are_saved_and_undone(client, document):
    root = root_of(client)
    first = client.get(f"/api/children?ids={root}").json()["children"][str(root)][0]["id"]
    assert edit(client, op="rename", node=first, name="my <b>name</b>").status_code == 200
    again = cladify.Taxonomy.load(document.file)
    assert "my <b>name</b>" in again.names.values()
    assert client.get(f"/api/card?node={first}").json()["name"] == "my <b>name</b>"
    assert edit(client, op="hide", node=first).status_code == 200
    shown = client.get(f"/api/children?ids={root}").json()["children"][str(root)]
    assert first not in [record["id"] for record in shown]
    for _ in range(2):
        assert edit(client, op="undo").status_code == 200
    assert "my <b>name</b>" not in cladify.Taxonomy.load(document.file).names.values()
    assert edit(client, op="undo").json()["error"] == "there is no edit to undo."


@pytest.mark.parametrize(
    "action",
    [
        {"op": "explode"},
        {"op": "rename", "node": "x", "name": "a"},
        {"op": "rename", "node": 10**9, "name": "a"},
        {"op": "rename", "node": 3, "name": 5},
        {"op": "move", "node": 1},
        {},
    ],
)
def test_bad_edits_change_nothing(client, document, action):
    answer = edit(client, **action)
    assert answer.status_code == 400
    assert answer.json()["error"]
    assert len(document.taxonomy.edits) == 0


def test_bad_json(client):
    for body in (b"", b"[1]", b"{", b"[" * 100_000, b'"' + b"x" * 90_000 + b'"'):
        assert client.post("/api/edit", content=body, headers={"x-cladify-token": TOKEN}).status_code == 400


@pytest.mark.parametrize(
    "path",
    [
        "card?node=-1",
        "card?node=abc",
        "card",
        "items?node=99999999",
        "cut?n=nan",
        "cut?level=99",
        "like?item=1e9",
        "image?item=0",
    ],
)
def test_bad_questions_get_one_line(client, path):
    answer = client.get(f"/api/{path}")
    assert answer.status_code == 400
    assert "\n" not in answer.json()["error"]


def test_card_search_cut_compare(client, texts):
    root = root_of(client)
    card = client.get(f"/api/card?node={root}").json()
    assert card["size"] == len(texts)
    assert sum(row["count"] for row in card["classes"]) == len(texts)
    hits = client.get("/api/search?q=comet").json()["results"]
    assert hits
    assert any("comet" in hit["text"] for hit in hits)
    path = client.get(f"/api/path?node={hits[-1]['node']}").json()["path"]
    assert path[0]["id"] == root
    cut = client.get("/api/cut?n=4").json()
    assert cut["n"] <= 4
    assert cut["smallest"] >= 1
    compared = client.get(f"/api/compare?node={root}").json()
    assert sum(row["shared"] for row in compared["rows"]) <= len(texts)
    assert all(-1 <= row["value"] <= 1 for row in compared["agreement"])


def test_exports(client, texts):
    content = client.get("/api/export?what=labels&format=csv&n=4")
    assert "attachment" in content.headers["content-disposition"]
    table = csv.read_csv(io.BytesIO(content.content))
    assert table.num_rows == len(texts)
    assert table["row"].to_pylist() == list(range(len(texts)))
    whole = parquet.read_table(io.BytesIO(client.get("/api/export?what=table&format=parquet").content))
    assert whole.num_rows == len(texts)
    tree = cladify.Tree.from_newick(client.get("/api/export?what=newick").text)
    assert tree.n_leaves == len(texts)
    root = root_of(client)
    inner = next(r for r in client.get(f"/api/children?ids={root}").json()["children"][str(root)] if r["kids"])
    part = client.get(f"/api/export?what=newick&node={inner['id']}")
    assert "things-part.nwk" in part.headers["content-disposition"]
    assert cladify.Tree.from_newick(part.text).n_leaves == inner["size"]
    assert edit(client, op="hide", node=inner["id"]).status_code == 200
    assert edit(client, op="undo").status_code == 200
    nested = client.get("/api/export?what=json").json()
    assert nested["size"] == len(texts)
    assert client.get("/api/export?what=everything").status_code == 400


def leaves_of(nested):
    found, waiting = [], [nested]
    while waiting:
        record = waiting.pop()
        waiting += record.get("children", [])
        assert record["size"] == sum(child["size"] for child in record.get("children", [{"size": 1}]))
        if "children" not in record:
            found.append(record["name"])
    return sorted(found)


def found(client, word):
    return {hit["node"] for hit in client.get(f"/api/search?q={word}").json()["results"]}


def test_what_is_hidden_is_in_no_export_and_not_found(client, document):
    """All exports have the same items."""
    view = document.view
    root = view.tree.root
    inner = max((v for v in view.shown(root) if v >= view.tree.n_leaves), key=lambda v: view.tree.size[v])
    beside = next(v for v in view.shown(root) if v != inner)
    alone = int(view.tree.members(beside)[0])  # an item may be hidden, too
    gone = {*view.tree.members(inner).tolist(), alone}
    rest = [row for row in range(view.tree.n_leaves) if row not in gone]
    word = view.text(int(view.tree.members(inner)[0])).split()[0]
    assert gone & found(client, word)
    key = int(view.keys[inner])
    for node in (key, alone):
        assert edit(client, op="hide", node=node).status_code == 200
    for what in ("labels", "table"):
        content = client.get(f"/api/export?what={what}&format=parquet&n=4").content
        assert parquet.read_table(io.BytesIO(content))["row"].to_pylist() == rest
    texts = sorted(document.view.text(row) for row in rest)
    assert leaves_of(client.get("/api/export?what=json").json()) == texts
    newick = cladify.Tree.from_newick(client.get("/api/export?what=newick").text)
    assert sorted(" ".join(name.split()) for name in newick.info["names"]) == sorted(
        " ".join(document.taxonomy.items[row].split()) for row in rest
    )
    assert not ({*gone, key} & found(client, word))
    assert {record["id"] for record in client.get("/api/meta").json()["hidden"]} == {key, alone}
    part = client.get(f"/api/export?what=json&node={key}").json()  # asked for by itself
    assert part["size"] == len(gone) - 1
    for node in (key, alone):
        assert edit(client, op="hide", node=node).status_code == 200
    assert client.get("/api/meta").json()["hidden"] == []


def test_csv_cells_are_no_formulas():
    import pyarrow as pa

    from cladify.io._write import escape_formulas

    table = escape_formulas(pa.table({"item": ["=1+1", "+x", "-y", "@z", "plain", None], "n": [1, 2, 3, 4, 5, 6]}))
    assert table["item"].to_pylist() == ["'=1+1", "'+x", "'-y", "'@z", "plain", None]


def test_images_are_only_the_given_ones(tmp_path, taxonomy):
    picture = tmp_path / "a.png"
    picture.write_bytes(b"\x89PNG rest")
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    images = [picture, secret, tmp_path / "none.png"] + [picture] * (taxonomy.n_items - 3)
    document = open_document(taxonomy, images=images)
    with TestClient(make_app(document, token=TOKEN), base_url="http://localhost") as client:
        assert client.get("/api/image?item=0").headers["content-type"] == "image/png"
        assert "is no PNG" in client.get("/api/image?item=1").json()["error"]
        assert client.get("/api/image?item=2").status_code == 400


@pytest.mark.parametrize("shape", [(8, 9), (8, 9, 3), (8, 9, 4)])
def test_arrays_are_pictures(taxonomy, shape):
    from matplotlib import image

    pixels = np.random.default_rng(0).integers(0, 256, (taxonomy.n_items, *shape), dtype=np.uint8)
    document = open_document(taxonomy, images=pixels)
    with TestClient(make_app(document, token=TOKEN), base_url="http://localhost") as client:
        answer = client.get("/api/image?item=3")
    assert answer.headers["content-type"] == "image/png"
    read = np.round(255 * image.imread(io.BytesIO(answer.content))).astype(np.uint8)
    assert (read.reshape(8, 9, -1) == pixels[3].reshape(8, 9, -1)).all()
    with pytest.raises(InvalidInput, match="images must have one entry a leaf"):
        open_document(taxonomy, images=pixels[:5])


def test_port_taken_means_the_next_one(taxonomy):
    first = Explorer(open_document(taxonomy), port=0)
    second = Explorer(open_document(taxonomy), port=first.port)
    assert second.port > first.port
    first.stop()
    second.stop()


def test_other_addresses_warn(taxonomy):
    with pytest.warns(CladifyWarning, match="everybody who reaches this machine"):
        explorer = Explorer(open_document(taxonomy), host="0.0.0.0", port=0)
    explorer.stop()


def test_files_that_cannot_be_shown(tmp_path, taxonomy):
    empty = tmp_path / "empty.taxonomy"
    empty.write_bytes(b"")
    with pytest.raises(FileError):
        open_document(empty)
    with pytest.raises(FileError):
        open_document(tmp_path / "none.tree")
    with pytest.raises(InvalidInput, match="compare trees of the same items"):
        open_document(taxonomy, compare=cladify.Tree([3, 3, 4, 4, -1]))
    tree = cladify.Tree([3, 3, 4, 4, -1])
    with pytest.raises(InvalidInput, match="items"):
        open_document(tree, items=["a"])
    assert open_document(tree, items=["a", "b", "c"]).view.tree.n_leaves == 3


def test_a_file_of_a_newer_version(tmp_path, taxonomy):
    file = tmp_path / "newer.taxonomy"
    taxonomy.save(file)
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(members["cladify-taxonomy.json"])
    members["cladify-taxonomy.json"] = json.dumps({**header, "version": 99}).encode()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    with pytest.raises(FileError, match="Update cladify"):
        open_document(file)


@pytest.mark.parametrize("ending", ["taxonomy", "tree", "nwk", "npy", "json", "dag"])
def test_files_of_no_bytes(tmp_path, ending):
    file = tmp_path / f"empty.{ending}"
    file.write_bytes(b"")
    with pytest.raises(FileError) as caught:
        open_document(file)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("what", ["labels", "vectors", "points"])
def test_wrong_numbers_of_things(taxonomy, what):
    values = ["a"] * 5 if what == "labels" else np.zeros((5, 2))
    with pytest.raises(InvalidInput, match=f"{what} must have one entry a leaf"):
        open_document(taxonomy, **{what: values})


def unpacked(content):
    """Window, whether these are all, places, and both coordinates of an answer."""
    whole, count = np.frombuffer(content, "<u4", 2, 24)
    places = np.frombuffer(content, "<u4", count, 32)
    across, down = np.frombuffer(content, "<u2", 2 * count, 32 + 4 * count).reshape(2, count)
    return np.frombuffer(content, "<f8", 3), bool(whole), places, across, down


def test_names_stand_on_their_groups(client, document):
    view = document.view
    islands = client.get("/api/islands").json()["islands"]
    assert {island["id"] for island in islands} >= {int(v) for v in view.levels[0][0]}
    known = {view.tree.root}
    for island in islands:
        v = view.node(island["id"])
        assert island["parent"] in known and island["name"] == view.name(v)
        known.add(island["id"])
        x, y = (each[view.tree.first[v] : view.tree.last[v]] for each in (view.plane.x, view.plane.y))
        distance = np.hypot(x - island["x"], y - island["y"])
        assert abs(np.median(distance) - island["reach"]) < 1e-4
        assert x.min() <= island["x"] + 1e-5 and island["x"] <= x.max() + 1e-5


def test_the_name_of_two_islands_stands_on_the_larger_one():
    random = np.random.default_rng(0)
    x = np.concatenate([random.normal(0.1, 0.02, 70), random.normal(0.9, 0.02, 30)])
    across, down, reach = densest(x, random.normal(0.5, 0.02, 100))
    assert abs(across - 0.1) < 0.02 and abs(down - 0.5) < 0.02 and reach < 0.1


def test_the_item_at_a_place(client, document):
    row = int(document.view.tree.leaf_order[5])
    found = client.get("/api/at?place=5").json()
    assert found["row"] == row and found["text"] == document.view.text(row) and len(found["path"]) >= 1
    assert client.get("/api/at?place=100000").status_code == 400


def test_hidden_groups_are_not_on_the_map(client, document):
    v = int(document.view.levels[0][0][0])
    key = int(document.view.keys[v])
    first, last = document.view.tree.first[v], document.view.tree.last[v]
    assert client.post("/api/edit", json={"op": "hide", "node": key}, headers={"x-cladify-token": TOKEN}).is_success
    _, _, place, *_ = unpacked(client.get("/api/points").content)
    assert not ((place >= first) & (place < last)).any() and len(place) == document.view.tree.n_leaves - (last - first)
    assert key not in {island["id"] for island in client.get("/api/islands").json()["islands"]}


def test_points_go_out_by_the_window(client, document):
    window, whole, place, *_ = unpacked(client.get("/api/points").content)
    assert whole and window.tolist() == [0, 0, 1]
    assert place.tolist() == list(range(document.view.tree.n_leaves))
    window, _, place, across, down = unpacked(client.get("/api/points?left=0.25&top=0.25&side=0.5").content)
    x, y = document.view.plane.x, document.view.plane.y
    inside = (x >= 0.25) & (x <= 0.75) & (y >= 0.25) & (y <= 0.75)
    assert window.tolist() == [0.25, 0.25, 0.5] and place.tolist() == np.flatnonzero(inside).tolist()
    assert np.allclose(0.25 + across * (0.5 / 65535), x[inside], atol=1e-5)
    assert np.allclose(0.25 + down * (0.5 / 65535), y[inside], atol=1e-5)
    assert client.get("/api/points?side=0").status_code == 400
    assert client.get("/api/points?left=nan").status_code == 400


def test_no_answer_is_larger_than_half_a_megabyte():
    n = 40_000
    low = n + np.arange(n) // 400
    tree = cladify.Tree(np.concatenate([low, np.full(100, n + 100), [-1]]))
    document = open_document(
        cladify.Taxonomy(tree, ["中" * 300 + str(i) if i < 4000 else f"item {i}" for i in range(n)]),
        points=np.random.default_rng(0).random((n, 2)),
    )
    with TestClient(make_app(document, token=TOKEN), base_url="http://localhost") as client:
        ids = ",".join(str(n + i) for i in range(100))
        answers = [
            client.get(f"/api/children?ids={ids}"),
            client.get(f"/api/cut?n={n}"),
            client.get(f"/api/items?node={n + 100}&limit=1000"),
            client.get(f"/api/card?node={n + 100}"),
            client.get("/api/points"),
            client.get("/api/islands"),
            client.get("/api/search?q=" + "中" * 20),
        ]
        assert [answer.status_code for answer in answers] == [200] * 7
        assert max(len(answer.content) for answer in answers) < 500_000
        assert 0 < len(answers[0].json()["children"]) < 100  # the page asks again for the others


def test_senses_and_shared_members():
    # Two groups of four that share two items, below a root.
    dag = cladify.ClusterDag([0, 1, 2, 4, 6, 7, 8, 9, 10, 10], [6, 6, 6, 7, 6, 7, 7, 7, 8, 8])
    document = open_document(dag, items=["a0", "a1", "both2", "both3", "b4", "b5"])
    with TestClient(make_app(document, token=TOKEN), base_url="http://localhost") as client:
        alone = client.get("/api/card?node=0").json()["also"]
        both = client.get("/api/card?node=2").json()["also"]
    assert len(alone) == 1 and "4 items" in alone[0]["note"]
    assert len(both) == 2
    assert any("b4" in entry["name"] for entry in both) and any("a0" in entry["name"] for entry in both)


def test_what_is_prepared_of_a_tree_can_be_kept(tmp_path):
    document = open_document(cladify.Tree([4, 4, 5, 5, 6, 6, -1]), items=["oak", "elm", "car", "bus"])
    document.save_in(tmp_path / "a.taxonomy")
    root = int(document.view.keys[document.view.tree.root])
    document.edit({"op": "rename", "node": root, "name": "things"})
    again = open_document(tmp_path / "a.taxonomy")
    assert again.view.name(again.view.tree.root) == "things"


def test_the_command_says_which_port_it_took_and_stops(tmp_path, taxonomy):
    file = tmp_path / "things.taxonomy"
    taxonomy.save(file)
    taken = Explorer(open_document(taxonomy), port=0)
    process = subprocess.Popen(
        [sys.executable, "-m", "cladify", "explore", str(file), "--no-browser", "--port", str(taken.port)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    try:
        assert f"Port {taken.port} is taken; using " in process.stdout.readline()
        address = process.stdout.readline().split(": ", 1)[1].strip()
        with urllib.request.urlopen(address) as answer:
            assert b"canvas" in answer.read()
    finally:
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
        taken.stop()
    assert "Traceback" not in errors


def test_a_tree_in_a_folder_opens_group_by_group(tree_folder, monkeypatch):
    items = [f"thing {i}" for i in range(90)]
    document = open_document(tree_folder.folder, items=items)
    with TestClient(make_app(document, token=TOKEN), base_url="http://127.0.0.1:8765") as client:
        meta = client.get("/api/meta").json()
        assert meta["n"] == tree_folder.top.n_leaves and meta["below"] and not meta["is_below"]
        seen = []
        for group in range(meta["n"]):
            below = client.get(f"/below/{group}/api/meta").json()
            assert below["is_below"] and not below["below"] and below["n"] == tree_folder.size[group]
            page = client.get(f"/below/{group}/api/items?node={below['root']['id']}&limit=200").json()
            seen += [item["text"] for item in page["items"]]
        assert sorted(seen) == sorted(items)
        assert client.get("/below/0/").status_code == client.get("/below/0/main.js").status_code == 200
        assert "default-src 'none'" in client.get("/below/0/").headers["content-security-policy"]
        assert client.get("/below/0/", headers={"host": "evil.example"}).status_code == 421
        rename = {"op": "rename", "node": client.get("/below/0/api/meta").json()["root"]["id"], "name": "first"}
        assert client.post("/below/0/api/edit", json=rename).status_code == 403
        assert client.post("/below/0/api/edit", json=rename, headers={"x-cladify-token": TOKEN}).status_code == 200
        monkeypatch.setattr("cladify.explore._server._KEPT_BELOW", 1)
        assert all(client.get(f"/below/{group}/api/meta").status_code == 200 for group in range(meta["n"]))
        assert client.get("/below/0/api/meta").json()["root"]["name"] == "first"  # edited, so kept
        for wrong in (meta["n"], 10**12):
            answer = client.get(f"/below/{wrong}/")
            assert answer.status_code == 404 and "group must be" in answer.json()["error"]
        assert client.get("/below/x/").status_code == 404


def test_texts_of_places(client, document):
    order, n = document.view.tree.leaf_order, document.view.tree.n_leaves
    found = client.get(f"/api/texts?places=0,3,{n}").json()["texts"]
    assert found[2] == "" and all(
        document.view.items[int(order[p])].startswith(text.rstrip("…")) for p, text in zip((0, 3), found, strict=False)
    )
    assert len(client.get("/api/texts?places=" + ",".join(["1"] * 500)).json()["texts"]) == 200
    assert client.get("/api/texts?places=x").status_code == 400
