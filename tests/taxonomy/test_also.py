"""Which other groups items belong to: against brute force, after edits, in tables and in files."""

from dataclasses import replace

import numpy as np
import pytest

import cladify
from cladify import Taxonomy
from cladify.errors import InvalidInput
from cladify.taxonomy._read.also import Also
from cladify.taxonomy._read.snapshot import Snapshot


@pytest.fixture(scope="module")
def clouds() -> tuple[np.ndarray, cladify.NeighborGraph]:
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(c, 1.0, (60, 3)) for c in rng.normal(0, 1.6, (12, 3))]).astype(np.float32)
    return X, cladify.neighbors(X, 9).symmetrize()


@pytest.fixture
def made(clouds) -> Taxonomy:
    X, graph = clouds
    tree = cladify.fit(X, method="reciprocal").condense(min_size=12, max_children=4)
    return Taxonomy(tree, X=X, graph=graph, metric="sqeuclidean")


def shares(taxonomy: Taxonomy, graph: cladify.NeighborGraph) -> np.ndarray:
    """Share of the neighbours of each item in each node of the tree, from the definition."""
    W = graph.to_scipy().toarray().astype(float)
    tree = taxonomy.tree
    inside = np.array([np.isin(np.arange(tree.n_leaves), tree.members(v)) for v in range(tree.n_nodes)], dtype=float)
    return (W / W.sum(axis=1, keepdims=True)) @ inside.T


def expected(taxonomy: Taxonomy, share: np.ndarray, i: int) -> dict[int, float]:
    """The lowest groups beside the path of item i that have a fifth of its neighbours."""
    tree, n = taxonomy.tree, taxonomy.n_items
    above = set(tree.ancestors(i).tolist())
    found = {v for v in range(n, tree.n_nodes) if v not in above and share[i, v] >= 0.2 - 1e-9}
    return {v: share[i, v] for v in found if not any(int(c) in found for c in tree.children(v))}


def test_items_agree_with_the_definition(made, clouds):
    share = shares(made, clouds[1])
    several = 0
    for i in range(made.n_items):
        want = expected(made, share, i)
        got = made.also_in(i, n=99)
        assert {a.node: pytest.approx(a.share, abs=0.003) for a in got} == want
        assert [a.share for a in got] == sorted((a.share for a in got), reverse=True)
        assert [a.name for a in got] == made.names_of([a.node for a in got])
        assert made.also_in(i, n=1) == got[:1]
        several += len(got) > 1
    assert several > 5


def test_groups_agree_with_the_definition(made, clouds):
    share, tree, n = shares(made, clouds[1]), made.tree, made.n_items
    for v in range(n, tree.n_nodes):
        above = set(tree.ancestors(v).tolist())
        beside = [int(c) for u in above for c in tree.children(u) if c >= n and c != v and int(c) not in above]
        want = {u: np.mean(share[tree.members(v), u] >= 0.2 - 1e-9) for u in beside}
        got = {a.node: a.share for a in made.also_in(v, n=99)}
        assert got == pytest.approx({u: s for u, s in want.items() if s > 0})
    assert made.also_in(tree.root) == []


def test_the_table_names_other_clusters_of_each_level(made, clouds):
    share = shares(made, clouds[1])
    table = made.table(form="arrow").to_pydict()
    some = 0
    for number, level in enumerate(made.levels, 1):
        names = made.names_of(level.nodes)
        for i, cell in enumerate(table[f"also_{number}"]):
            beside = [v for v in level.nodes if i not in made.tree.members(v) and share[i, v] >= 0.2 - 1e-9]
            want = [names[level.nodes.index(v)] for v in sorted(beside, key=lambda v: (-round(255 * share[i, v]), v))]
            assert (cell or "") == " | ".join(want[:3])
            some += bool(want)
    assert some > 20
    together = made.table(levels=[2], form="arrow").to_pydict()  # groups put together as one cluster
    assert all(cell is None or cell != own for cell, own in zip(together["also_1"], together["name_1"], strict=True))


def test_edits_move_what_an_item_is_also_in(made, clouds):
    item, first, second = next(
        (i, a[0], a[1]) for i in range(made.n_items) if len(a := made.also_in(i)) > 1 and a[0].node != a[1].node
    )
    made.rename(first.node, "by hand")
    assert made.also_in(item)[0] == Also(first.node, "by hand", first.share)
    keys = [int(made.keys[v]) for v in (first.node, second.node)]
    both = made.merge([made.node(key) for key in keys])
    assert made.also_in(item)[0] == Also(both, "by hand", pytest.approx(first.share + second.share, abs=1e-6))
    made.move(item, to=both)
    assert all(a.node != both for a in made.also_in(item))
    for _ in range(3):
        made.undo()
    assert made.also_in(item)[:2] == [first, second]


def test_a_collapsed_group_leaves_the_one_around_it(made, clouds):
    tree, n = made.tree, made.n_items
    group = next(v for v in range(n, tree.root) if (tree.children(v) >= n).all())
    made.collapse(group)
    share = shares(made, clouds[1])
    for i in range(n):
        assert {a.node for a in made.also_in(i, n=99)} == set(expected(made, share, i))


def test_boundary_examples_say_where_they_also_belong(made):
    seen = 0
    for v in made.levels[0].nodes:
        examples = made.examples(v)
        assert examples.boundary_also == [made.also_in(i) for i in examples.boundary_rows]
        seen += sum(map(bool, examples.boundary_also))
    assert seen


def test_files_keep_it(made, tmp_path):
    made.save(tmp_path / "a.taxonomy")
    again = Taxonomy.load(tmp_path / "a.taxonomy")
    assert all(made.also_in(v) == again.also_in(v) for v in range(made.tree.n_nodes))
    made._now = Snapshot.of(replace(made._now.facts, also=None), made.edits)  # as without a graph
    made.save(tmp_path / "b.taxonomy")
    old = Taxonomy.load(tmp_path / "b.taxonomy")
    assert old.also_in(0) == [] and old.table()["also_1"].isna().all() and old.also_in(old.tree.root) == []


def test_bad_input(made):
    with pytest.raises(InvalidInput, match=r"node must be an int in \[0, \d+\]"):
        made.also_in(10**6)
    with pytest.raises(InvalidInput, match="n must be an int of at least 1"):
        made.also_in(0, n=0)
