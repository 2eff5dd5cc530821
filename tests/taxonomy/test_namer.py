"""Names from a function of the user's."""

import json

import pytest

from cladify.errors import InvalidInput
from cladify.taxonomy import ClusterView


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    monkeypatch.setattr("cladify.taxonomy._names.namer.PAUSE", 0.0)


def test_every_group_but_the_root_is_asked_for(taxonomy):
    seen: list[ClusterView] = []

    def namer(views):
        seen.extend(views)
        return [f"name {len(seen) - len(views) + i}" for i in range(len(views))]

    hand = taxonomy.levels[0].nodes[0]
    taxonomy.rename(hand, "by hand")
    taxonomy.name(namer, batch_size=4)
    assert len(seen) == len(taxonomy.names) - 2
    assert taxonomy.names[hand] == "by hand"
    assert sum(name.startswith("name ") for name in taxonomy.names.values()) == len(seen)
    view = seen[0]
    assert view.keywords and view.examples and view.siblings and view.size > 0
    json.dumps(view.to_dict())


def test_a_stopped_run_goes_on_where_it_was(taxonomy, tmp_path):
    calls = []

    def failing(views):
        calls.append(len(views))
        if len(calls) > 2:
            raise ConnectionError("no\nroute")
        return ["first"] * len(views)

    with pytest.raises(InvalidInput, match=r"failed 2 times: ConnectionError: no route .* kept"):
        taxonomy.name(failing, batch_size=5, retries=1, cache=tmp_path / "answers")
    assert calls == [5, 5, 5, 5]
    assert sum(name == "first" for name in taxonomy.names.values()) == 10
    asked = []
    taxonomy.name(lambda views: asked.extend(views) or ["second"] * len(views), cache=tmp_path / "answers")
    names = [name for v, name in taxonomy.names.items() if v != taxonomy.tree.root]
    assert len(asked) == names.count("second") == len(names) - 10 and names.count("first") == 10


def test_the_cache_answers_what_was_asked_before(taxonomy, tmp_path):
    automatic = dict(taxonomy.names)
    asked = []

    def namer(views):
        asked.append(len(views))
        return [view.name.upper() for view in views]

    taxonomy.name(namer, cache=tmp_path / "answers")
    n_calls = len(asked)
    taxonomy.name()  # the automatic names again
    assert taxonomy.names == automatic
    taxonomy.name(namer, cache=tmp_path / "answers")
    assert len(asked) == n_calls
    assert taxonomy.names[taxonomy.levels[0].nodes[0]].isupper()


@pytest.mark.parametrize("answer", ["one text", ["too", "few"], [3, 4, 5], None])
def test_wrong_answers(taxonomy, answer):
    with pytest.raises(InvalidInput, match="the namer failed 1 times"):
        taxonomy.name(lambda views: answer, retries=0)


def test_answers_cannot_act_on_a_terminal(taxonomy):
    taxonomy.name(lambda views: ["\x1b[2Jevil\n" + "x" * 500] * len(views))
    names = [name for v, name in taxonomy.names.items() if v != taxonomy.tree.root]
    assert all(name.isprintable() and len(name) <= 120 for name in names)


def test_an_empty_answer_keeps_the_automatic_name(taxonomy):
    before = dict(taxonomy.names)
    taxonomy.name(lambda views: [""] * len(views))
    assert taxonomy.names == before


def test_names_from_other_texts(taxonomy):
    kinds = ["alpha", "beta", "gamma"]
    taxonomy.name(texts=[f"{kinds[i % 3]} text" for i in range(180)])
    names = taxonomy.table(levels=[3])["name_1"]
    assert all(kinds[i % 3] in names[i] for i in range(3))
    with pytest.raises(InvalidInput, match="2 texts for 180"):
        taxonomy.name(texts=["a", "b"])
