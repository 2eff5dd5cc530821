"""Native entry points refuse arrays that do not fit each other: a forged file ends in an error, not in a crash."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cladify import _core

I32, I64, F32 = np.int32, np.int64, np.float32


def ints(*values: int, dtype: Any = I64) -> np.ndarray:
    return np.array(values, dtype=dtype)


PARENT = ints(4, 4, 5, 5, 6, 6, -1)  # ((0, 1), (2, 3))
SIZE = ints(1, 1, 1, 1, 2, 2, 4)
START, CHILD = ints(0, 2, 4, 6), ints(0, 1, 2, 3, 4, 5)
ORDER, FIRST, LAST = ints(0, 1, 2, 3), ints(0, 1, 2, 3, 0, 2, 0), ints(1, 2, 3, 4, 2, 4, 4)
HEIGHT = np.zeros(7)
DAG, DAG_IDS = ints(0, 1, 2, 2), ints(2, 2)  # parents of the leaves 0 and 1
POINTER = ints(0, 1, 2)
ENDS = ints(1, 0, dtype=I32)
WEIGHT = np.ones(2, dtype=F32)
LINK = _core.Linkage.average
ONES = np.ones(2)
NO = np.zeros(0)
ROOM = np.zeros((2, 3), dtype=np.uint64)
WRONG_PARENTS = [
    ints(9, 4, 5, 5, 6, 6, -1),
    ints(-5, 4, 5, 5, 6, 6, -1),
    ints(4, 4, 5, 5, 6, 4, -1),
    ints(1, 4, 5, 5, 6, 6, -1),
]

PASSES: dict[str, Callable[[np.ndarray], Any]] = {
    "sizes": lambda p: _core.tree_sizes(p, 4),
    "largest": lambda p: _core.tree_largest_heights(p, HEIGHT, 4),
    "children": lambda p: _core.tree_children(p, 4),
    "layout": lambda p: _core.tree_layout(p, SIZE, 4),
    "layout_of": lambda p: _core.tree_layout_of(p, SIZE, ORDER),
    "cut": lambda p: _core.tree_cut(p, SIZE, HEIGHT, ints(6, 5, 4), 4, 2, False, 0.0, 1, 4, False),
    "cut_path": lambda p: _core.tree_cut_path(p, HEIGHT, 4),
    "top_labels": lambda p: _core.tree_top_labels(p, np.zeros(7, dtype=np.uint8), 4),
    "prune": lambda p: _core.tree_prune(p, 4, ints(0, 2)),
    "binarize": lambda p: _core.tree_binarize(p, START, CHILD, 4, 0),
    "canonical": lambda p: _core.tree_canonical(p, HEIGHT, 4),
    "condense": lambda p: _core.tree_condense(p, SIZE, HEIGHT, 4, 1, 2),
    "parts": lambda p: _core.tree_parts(p, SIZE, HEIGHT, 4, 1),
    "near_order": lambda p: _core.tree_near_order(p, START, CHILD, 4, np.zeros((4, 2), dtype=F32), 4),
    "newick": lambda p: _core.newick_write(p, START, CHILD, HEIGHT, ints(), b"", ints(), True),
    "lca": lambda p: _core.Lca(p, FIRST, LAST, 4),
    "condense_tree": lambda p: _core.condense_tree(p, np.ones(7), HEIGHT, 4, 1.0),
    "spread_gaps": lambda p: _core.spread_gaps(p, 4, 0.5),
    "best_cut": lambda p: _core.best_cut(p, SIZE, SIZE, 1.0, 4),
    "viewed": lambda p: _core.ViewedTree(p, ORDER, FIRST, LAST, START, CHILD, 4),
    "gaps": lambda p: _core.Gaps(p, SIZE, START, CHILD, FIRST, np.ones(7)),
}


@pytest.mark.parametrize("name", PASSES)
def test_passes_over_a_tree_refuse_parents_that_are_no_nodes(name: str) -> None:
    PASSES[name](PARENT)
    for wrong in WRONG_PARENTS:
        with pytest.raises(ValueError, match="parent"):
            PASSES[name](wrong)


def graph_calls(pointer: np.ndarray, ends: np.ndarray, weight: np.ndarray) -> dict[str, Callable[[], Any]]:
    wide = weight.astype(np.float64)
    index = np.arange(2)
    tree = ints(0, dtype=I32), ints(1, dtype=I32)
    return {
        "symmetrize": lambda: _core.symmetrize(pointer, ends, weight, 0, 1),
        "components": lambda: _core.components(pointer, ends),
        "single_linkage": lambda: _core.single_linkage(pointer, ends, weight, 1.0, 0.0, 1),
        "contraction": lambda: _core.GraphContraction(pointer, ends, weight, 0.0, 1.0, None, LINK, 1),
        "goes on": lambda: _core.GraphContraction(
            pointer, ends, wide, NO, ONES > 0, ONES, ends[:2], ONES, ONES > 0, NO, LINK, 1
        ),
        "llama": lambda: _core.LlamaRounds(pointer, ends, weight, 0.0, 1.0, "average", 2, True, 1),
        "soft": lambda: _core.soft_groups(ints(-1, dtype=I32), ints(0, 0, dtype=I32), pointer, ends, weight, 0.1, 1),
        "bisect": lambda: _core.bisect_graph(
            pointer, ends.copy(), weight.copy(), index, _core.BisectParameters(), 1, lambda done: None
        ),
        "refine": lambda: _core.RefineGraph32(*tree, ONES, pointer, ends, weight, 1.0),
        "triples": lambda: _core.graph_triple_sums(pointer, ends.astype(I64), wide, ONES, 1),
    }


@pytest.mark.parametrize("name", graph_calls(POINTER, ENDS, WEIGHT))
def test_kernels_on_graphs_refuse_edges_that_lead_nowhere(name: str) -> None:
    wrong = [
        (ints(0, 1, 3), ENDS, WEIGHT),
        (ints(0, 3, 2), ENDS, WEIGHT),
        (ints(-1, 1, 2), ENDS, WEIGHT),
        (POINTER, ints(1, 2, dtype=I32), WEIGHT),
        (POINTER, ints(-1, 0, dtype=I32), WEIGHT),
    ]
    if name != "components":
        wrong.append((POINTER, ENDS, WEIGHT[:1]))
    for arrays in wrong:
        with pytest.raises(ValueError, match=r"indptr|edge"):
            graph_calls(*arrays)[name]()


def part(indices: np.ndarray = ENDS, key: np.ndarray = ENDS) -> Any:
    return _core.PartOfGraph(indices, WEIGHT, 0.0, 1.0, None, [(key, ONES, ONES)], LINK)


def merge(part: Any, label: np.ndarray, home: int, *span: int) -> Any:
    source, owner, start, count = span
    return part.combine(
        label,
        np.ones(len(label)),
        ints(home, dtype=I32),
        ints(0, 1),
        np.array([True]),
        ints(source, dtype=I32),
        ints(owner, dtype=I32),
        ints(start),
        ints(count),
    )


NAMES = ints(0, 1, dtype=I32)
DAG_CHILDREN = ints(0, 2), ints(0, 1)
LCA = _core.Lca(PARENT, FIRST, LAST, 4)
LABELS = _core.LabelledTree(ORDER, ints(0, 1, 2, 3, 4), ints(0, 0, 1, 1), 2)
MARKS = np.zeros(3, dtype=np.uint8)
GROUPS = ints(0, 0, 0, dtype=I32)


def cells() -> Any:
    lists = _core.CellLists(2)
    lists.add(NAMES, NAMES)
    return lists


def scan(query: np.ndarray, start: np.ndarray, last: int) -> Any:
    rows = np.ones((2, 3), dtype=F32)
    return cells().scan(rows, WEIGHT, WEIGHT, rows, WEIGHT, query, start, 0, last, ROOM, MARKS[:2], True)


REFUSED: dict[str, Callable[[], Any]] = {
    # trees
    "sizes of another tree": lambda: _core.tree_layout(PARENT, SIZE[:3], 4),
    "heights of another tree": lambda: _core.tree_largest_heights(PARENT, HEIGHT[:3], 4),
    "levels": lambda: _core.tree_levels_up(WRONG_PARENTS[0]),
    "depths": lambda: _core.tree_levels_down(WRONG_PARENTS[0]),
    "no leaf": lambda: _core.tree_sizes(PARENT, 0),
    "too many leaves": lambda: _core.tree_sizes(PARENT, 8),
    "order without leaves": lambda: _core.tree_order(PARENT, 0),
    "a leaf to keep": lambda: _core.tree_prune(PARENT, 4, ints(0, 4)),
    "ancestors": lambda: _core.tree_ancestors(PARENT, 7),
    "lca of no node": lambda: LCA(ints(0), ints(7), 1),
    "lca of half pairs": lambda: LCA(ints(0, 1), ints(1), 1),
    "lca with places outside": lambda: _core.Lca(PARENT, FIRST + 4, LAST, 4),
    "cut in an order of no nodes": lambda: _core.tree_cut(
        PARENT, SIZE, HEIGHT, ints(7, 5, 4), 4, 2, False, 0.0, 1, 4, False
    ),
    "leaf order": lambda: _core.tree_layout_of(PARENT, SIZE, ints(0, 1, 2, 4)),
    "pairs": lambda: _core.tree_pair_order(ints(0, 7, 2, 3, 4, 5), SIZE, 4),
    "children of others": lambda: _core.tree_binarize(PARENT, START, ints(0, 2, 1, 3, 4, 5), 4, 0),
    "newick children": lambda: _core.newick_write(PARENT, START, CHILD + 1, HEIGHT, ints(), b"", ints(), True),
    "newick names": lambda: _core.newick_write(
        PARENT, START, CHILD, HEIGHT, ints(), b"abcd", ints(0, 1, 2, 3, 9), True
    ),
    "newick levels": lambda: _core.newick_write(PARENT, START, CHILD, HEIGHT, ints(1, 2), b"", ints(), True),
    "rows of others": lambda: _core.tree_near_order(PARENT, START, CHILD, 4, np.zeros((3, 2), dtype=F32), 4),
    "random cut": lambda: _core.random_cut(0, 1, np.zeros(5, dtype=I64), np.zeros(3)),
    "projection": lambda: _core.project_rows(np.ones((2, 3)), np.ones(2), False, np.ones(2)),
    "line keys": lambda: _core.line_keys(ONES, np.zeros(1, dtype=np.uint64), 1),
    "node sums": lambda: _core.node_sums(PARENT, np.ones(8)),
    # graphs of clusters
    "dag starts": lambda: _core.dag_check(ints(0, 5, 2), DAG_IDS),
    "dag starts too far": lambda: _core.dag_check(ints(0, 1, 9), DAG_IDS),
    "dag parents": lambda: _core.dag_children(DAG, ints(2, 3), 2),
    "dag leaf as parent": lambda: _core.dag_children(DAG, ints(1, 2), 2),
    "dag ancestors": lambda: _core.dag_ancestors(DAG, DAG_IDS, 3),
    "dag descendants": lambda: _core.dag_descendants(*DAG_CHILDREN, 2, 3),
    "dag cycle": lambda: _core.dag_sizes(ints(0, 2), ints(0, 2), 2),
    "dag child": lambda: _core.dag_sizes(ints(0, 2), ints(0, -1), 2),
    "dag marks": lambda: _core.dag_memberships(*DAG_CHILDREN, 2, MARKS[:2], 2),
    "dag labels": lambda: _core.dag_jaccard(*DAG_CHILDREN, 2, POINTER, ints(0, 9), ints(1, 1), GROUPS, 1),
    "dag groups": lambda: _core.dag_jaccard(*DAG_CHILDREN, 2, POINTER, ints(0, 1), ints(1, 1), GROUPS + 1, 1),
    "dag shortcuts": lambda: _core.dag_direct_edges(DAG, ints(2, 3)),
    "dag heights": lambda: _core.dag_raise(DAG, DAG_IDS, np.zeros(2)),
    # rounds, from the files of a distributed run
    "a span of no list": lambda: part().copy(ints(2, dtype=I32), ints(0, dtype=I32), ints(0), ints(1)),
    "a span that is too long": lambda: part().copy(ints(1, dtype=I32), ints(0, dtype=I32), ints(1), ints(2)),
    "a span before the list": lambda: part().copy(ints(0, dtype=I32), ints(0, dtype=I32), ints(-1), ints(1)),
    "half a span": lambda: part().copy(ints(0, dtype=I32), ints(0, dtype=I32), ints(), ints(1)),
    "edges to no name": lambda: merge(part(key=ints(0, 9, dtype=I32)), NAMES, 0, 1, 0, 0, 2),
    "graph to no name": lambda: merge(part(indices=ints(0, 9, dtype=I32)), NAMES, 0, 0, 0, 0, 2),
    "a name of no cluster": lambda: merge(part(), ints(0, 7, dtype=I32), 0, 1, 0, 0, 2),
    "a cluster of no name": lambda: merge(part(), NAMES, 2, 1, 0, 0, 2),
    "values of another list": lambda: _core.PartOfGraph(ENDS, WEIGHT, 0.0, 1.0, None, [(ENDS, NO, NO)], LINK),
    "merges of no names": lambda: _core.apply_merges(ints(0, dtype=I32), ints(2, dtype=I32), NAMES.copy(), ONES.copy()),
    "labels of no names": lambda: _core.apply_merges(NAMES[:1], NAMES[1:], ints(0, 5, dtype=I32), ONES.copy()),
    "candidates": lambda: _core.unite_candidates(ints(0, dtype=I32), ints(2, dtype=I32), ONES[:1], 2, False),
    "round tree": lambda: _core.round_tree(ints(0, dtype=I32), ints(2, dtype=I32), ONES[:1], ints(1, dtype=I32)),
    "round tree in a circle": lambda: _core.round_tree(
        ints(0, 1, dtype=I32), ints(1, 0, dtype=I32), ONES, ints(1, 1, dtype=I32)
    ),
    "merge nodes": lambda: _core.merge_nodes(ints(0, dtype=I32), ints(-1, dtype=I32), ONES[:1]),
    "masses": lambda: _core.GraphContraction(POINTER, ENDS, WEIGHT, 0.0, 1.0, np.ones(1), LINK, 1),
    "nearest": lambda: _core.GraphContraction(
        POINTER, ENDS, ONES, NO, ONES > 0, ONES, ints(5, 0, dtype=I32), ONES, ONES > 0, NO, LINK, 1
    ),
    # other kernels
    "a distance a pair": lambda: _core.MatrixHac64(np.ones(2), LINK, np.ones(3), 1),
    "a block of distances": lambda: _core.write_distances(np.ones((2, 1)), 1, 0, ONES, ONES[:1], True, 2, np.ones(1)),
    "lengths of a block": lambda: _core.write_distances(np.ones((2, 1)), 0, 0, ONES, ONES, True, 2, np.ones(1)),
    "edges of a tree": lambda: _core.merge_edges(ints(0, dtype=I32), ints(5, dtype=I32), ONES[:1], 2),
    "prim": lambda: _core.prim_edges(ints(0, dtype=I32), ints(2, dtype=I32), ONES[:1], 2),
    "neighbours": lambda: _core.ReachForest(ints(1, 2, dtype=I32).reshape(2, 1), ONES.reshape(2, 1), ONES),
    "groups in a circle": lambda: _core.soft_groups(
        ints(1, 0, dtype=I32), ints(0, 0, dtype=I32), POINTER, ENDS, WEIGHT, 0.1, 1
    ),
    "a point twice in a tree": lambda: _core.RefineMatrix64(
        ints(0, dtype=I32), ints(0, dtype=I32), ONES, np.ones((2, 2)), 1.0
    ),
    "kmeans places": lambda: _core.divide_kmeans(
        np.ones((2, 2), dtype=F32), ints(0, 2), None, False, 1, 1, 0.0, 1, 1, 0, 1, lambda done: None
    ),
    "triplets": lambda: _core.triplet_loss(
        np.ones((2, 2)), ints(0, 1, 2).reshape(1, 3), np.ones((1, 3)), 1.0, None, None, 1
    ),
    "labels": lambda: _core.LabelledTree(ORDER, ints(0, 1, 2, 3, 4), ints(0, 0, 1, 2), 2),
    "leaves in order": lambda: _core.LabelledTree(ORDER + 1, ints(0, 1, 2, 3, 4), ints(0, 0, 1, 1), 2),
    "labels of another tree": lambda: LABELS.purity_sums(LCA, SIZE[:5], 1),
    "weights of triples": lambda: _core.triple_sums(np.ones((2, 2)), np.ones(3), 1),
    "heaps": lambda: _core.offer(
        ROOM,
        MARKS[:2],
        np.ones((1, 1), dtype=F32),
        ints(2, dtype=I32),
        NAMES[:1],
        NAMES[:1],
        NAMES[1:],
        WEIGHT[:1],
        WEIGHT[:1],
        False,
        False,
    ),
    "values a row": lambda: _core.sort_rows(np.zeros((2, 2), dtype=I32), np.zeros((2, 1))),
    "norms": lambda: _core.squared_norms(np.ones((2, 2)), np.ones(1), np.ones(2), 1),
    "ids of rows": lambda: _core.prepare_rows(
        np.ones((2, 2)), NO, NO, 1.0, ints(2, dtype=I32), np.zeros((1, 2), dtype=F32)
    ),
    "a cell": lambda: cells().add(ints(2, dtype=I32), ints(2, dtype=I32)),
    "a slot below 0": lambda: cells().add(ints(-1, dtype=I32), ints(0, dtype=I32)),
    "a slot twice": lambda: cells().add(ints(0, dtype=I32), ints(0, dtype=I32)),
    "a slot of no cell": lambda: cells().remove(ints(5, dtype=I32)),
    "members of no cell": lambda: cells().members(2),
    "queries": lambda: scan(ints(0, 2, dtype=I32), POINTER, 2),
    "lists of queries": lambda: scan(NAMES, ints(0, 3, 2), 2),
    "cells to scan": lambda: scan(NAMES, POINTER, 3),
}


@pytest.mark.parametrize("name", REFUSED)
def test_arrays_that_do_not_fit_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        REFUSED[name]()


def test_the_same_calls_with_arrays_that_fit() -> None:
    assert part().copy(ints(1, dtype=I32), ints(0, dtype=I32), ints(0), ints(2))[0].tolist() == [1, 0]
    assert merge(part(), NAMES, 0, 1, 0, 0, 2)[1].tolist() == [1]
    assert _core.dag_sizes(*DAG_CHILDREN, 2).tolist() == [1, 1, 2]
    assert scan(NAMES, POINTER, 2)[0].tolist() == [0, 1]
    assert cells().cells_of(ints(1, 7, dtype=I32)).tolist() == [1, -1]
    assert LCA(ints(0, 2), ints(1, 0), 1).tolist() == [4, 6]
    for call in graph_calls(POINTER, ENDS, WEIGHT).values():
        call()
