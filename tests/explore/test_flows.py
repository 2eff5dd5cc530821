"""Two taxonomies side by side, against counting one by one."""

import numpy as np
import pytest

import cladify
from cladify.errors import InvalidInput
from cladify.explore import open_document
from cladify.explore._flows import flows


@pytest.fixture(scope="module")
def both(texts, taxonomy):
    X = np.random.default_rng(3).normal(size=(len(texts), 3)) + np.repeat(np.eye(3) * 8, 40, axis=0)
    return open_document(taxonomy, compare=cladify.Taxonomy.fit(X, texts, min_size=4, metric="sqeuclidean"))


def test_bands_are_the_items_that_two_groups_share(both):
    view, other = both.view, both.other
    nodes = view.cut_nodes(level=0)
    found = flows(view, nodes, other)
    level = min(other.levels, key=lambda each: abs(each.n_clusters - len(nodes)))
    mine = {view.name(v): set(view.tree.members(v).tolist()) for v in nodes.tolist()}
    theirs = {
        name: set(other.tree.members(v).tolist())
        for v, name in zip(level.nodes, other.names_of(level.nodes), strict=True)
    }
    seen = 0
    for i, j, count in found["cells"]:
        a, b = found["left"][i]["name"], found["right"][j]["name"]
        if a in mine and b in theirs:
            assert len(mine[a] & theirs[b]) == count
            seen += 1
    assert seen >= len(nodes)
    assert sum(count for *_, count in found["cells"]) == other.n_items
    assert [group["size"] for group in found["left"]] == sorted((g["size"] for g in found["left"]), reverse=True)


def test_small_groups_are_one(texts):
    rows = len(texts)
    tree = cladify.Tree([rows + i // 2 for i in range(rows)] + [rows + rows // 2] * (rows // 2) + [-1])
    document = open_document(cladify.Taxonomy(tree, texts), compare=tree)
    found = document.flows(document.now, n=rows // 2)
    assert len(found["left"]) == 21 and found["left"][-1]["name"] == f"{rows // 2 - 20} smaller groups"
    assert sum(count for *_, count in found["cells"]) == rows
    with pytest.raises(InvalidInput, match="--compare"):
        alone = open_document(tree)
        alone.flows(alone.now, n=2)


def test_compare_names_the_groups_of_a_taxonomy(both):
    answer = both.compare(both.now, both.view.tree.root)
    assert {row["name"] for row in answer["rows"]} <= {*both.other.names.values(), "in no group"}
    assert sum(row["shared"] for row in answer["rows"]) <= both.taxonomy.n_items


def test_the_report_is_measured_once_a_version(document):
    first = document.report(document.now)
    assert first["overall"]["n_items"] == document.taxonomy.n_items
    assert all(document.view.has(look["id"]) for look in first["look_first"])
    assert document.report(document.now) is first
    document.edit({"op": "rename", "node": int(document.view.keys[-1]), "name": "x"})
    assert document.report(document.now) is not first


def test_items_in_a_lasso_move_together(document):
    view = document.view
    to = int(view.keys[view.levels[0][0][0]])
    found = view.plane.inside(np.array([[0, 0], [0.5, 0], [0.5, 1], [0, 1]]))
    rows = view.tree.leaf_order[found].tolist()
    document.edit({"op": "move", "polygon": "0,0,0.5,0,0.5,1,0,1", "to": to})
    now = document.view
    assert 10 < len(rows) < 120 and set(rows) <= set(now.tree.members(now.node(to)).tolist())
    assert len(document.taxonomy.edits) == 1
    for polygon in ("5,5,6,5,6,6", "0,0,1,0", 7):
        with pytest.raises(InvalidInput):
            document.edit({"op": "move", "polygon": polygon, "to": to})
    assert len(document.taxonomy.edits) == 1
