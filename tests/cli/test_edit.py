"""`cladify edit`: changes by hand."""

import json

import pytest
from taxonomy_texts import make_texts

from cladify.taxonomy import Taxonomy


@pytest.fixture
def made(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    taxonomy = Taxonomy.from_texts(make_texts(60)[0], levels=[3])
    taxonomy.save("x.taxonomy")
    return taxonomy


def test_every_action_is_kept_and_listed(cladify, made):
    first, second, third = made.levels[0].nodes
    assert cladify("edit", "x.taxonomy", "rename", first, "Mine").code == 0
    assert cladify("edit", "x.taxonomy", "note", second, "look here").code == 0
    assert cladify("edit", "x.taxonomy", "split", third, 2).code == 0
    now = Taxonomy.load("x.taxonomy")
    assert "Mine" in now.names.values() and now.tree.n_nodes == made.tree.n_nodes + 2
    done = cladify("edit", "x.taxonomy")
    assert "3 edits" in done.out and "look here" in done.out and "split" in done.out
    assert cladify("edit", "x.taxonomy", "undo").code == 0
    found = json.loads(cladify("edit", "x.taxonomy", "--json").out)
    assert [edit["kind"] for edit in found["edits"]] == ["rename", "note"] and found["undone"][0]["kind"] == "split"
    assert cladify("edit", "x.taxonomy", "redo").code == 0
    now = Taxonomy.load("x.taxonomy")
    groups = [int(v) for v in now.levels[0].nodes[:2]]
    assert cladify("edit", "x.taxonomy", "merge", *groups).code == 0
    assert Taxonomy.load("x.taxonomy").levels[0].n_clusters == 2


@pytest.mark.parametrize(
    ("given", "code", "said"),
    [
        (["fold", "1"], 2, "is not known"),
        (["rename", "1"], 2, "takes NODE NAME"),
        (["merge", "a", "b"], 2, "a number is expected"),
        (["split", "0", "2"], 1, "for a group"),
        (["redo"], 1, "no undone edit"),
    ],
)
def test_wrong_edits_are_one_line(cladify, made, given, code, said):
    done = cladify("edit", "x.taxonomy", *given)
    assert done.code == code and said in done.err and done.err.count("\n") == 1
    assert not len(Taxonomy.load("x.taxonomy").edits)
