"""The tree that changes, against a naive one of sets and dictionaries."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from cladify import _core
from cladify.tree import Tree

WIDTH = 3


LOG = 4_000_000


def make_leaf(tree, weight=1.0, row=()):
    return tree.make_leaf(weight, np.asarray(row, dtype=np.float64))


def freeze(tree):
    parent, node = tree.freeze(tree.leaves())
    return Tree(parent), node


class Naive:
    """Children lists and a parent for each node; everything else is worked out when asked for."""

    def __init__(self):
        self.children: dict[int, list[int]] = {}
        self.parent: dict[int, int | None] = {}
        self.weight: dict[int, float] = {}
        self.row: dict[int, np.ndarray] = {}
        self.root: int | None = None

    def leaf(self, v, weight, row):
        self.children[v], self.parent[v], self.weight[v], self.row[v] = [], None, weight, row
        self.root = v if self.root is None else self.root

    def below(self, v):
        out = [v]
        for u in out:
            out.extend(self.children[u])
        return out

    def leaves(self, v):
        return [u for u in self.below(v) if not self.children[u]]

    def join(self, u, v, p):
        above = self.parent[u]
        self.children[p], self.parent[p] = [u, v], above
        if above is None:
            self.root = p
        else:
            kids = self.children[above]
            kids[kids.index(u)] = p
        self.parent[u] = self.parent[v] = p

    def detach(self, v):
        """Returns the parent, if it is gone."""
        p = self.parent[v]
        self.parent[v] = None
        if p is None:
            self.root = None
            return None
        self.children[p].remove(v)
        if len(self.children[p]) > 1:
            return None
        (rest,) = self.children[p]
        above = self.parent[p]
        self.parent[rest] = above
        if above is None:
            self.root = rest
        else:
            kids = self.children[above]
            kids[kids.index(p)] = rest
        self.forget(p)
        return p

    def forget(self, v):
        for table in (self.children, self.parent, self.weight, self.row):
            table.pop(v, None)

    def swap(self, a, b):
        p, q = self.parent[a], self.parent[b]
        if p == q:
            return
        i, j = self.children[p].index(a), self.children[q].index(b)
        self.children[p][i], self.children[q][j] = b, a
        self.parent[a], self.parent[b] = q, p

    def size(self, v):
        return sum(self.weight[u] for u in self.leaves(v))

    def sums(self, v):
        return sum((self.row[u] for u in self.leaves(v)), np.zeros(WIDTH))


class Pair:
    """One change at a time to both trees, chosen by numbers."""

    def __init__(self):
        self.tree, self.naive = _core.MutableTree(WIDTH, LOG), Naive()

    def pick(self, number, nodes=None):
        nodes = sorted(self.naive.parent) if nodes is None else nodes
        return nodes[number % len(nodes)]

    def insert(self, i, weight, row):
        v = make_leaf(self.tree, weight, row)
        old = self.pick(i) if self.naive.root is not None else None
        self.naive.leaf(v, weight, np.array(row, dtype=float))
        if old is None:
            return
        if self.naive.children[old] and i % 3 == 0:
            self.tree.append(old, v)
            self.naive.children[old].append(v)
            self.naive.parent[v] = old
        else:
            self.naive.join(old, v, self.tree.join(old, v))

    def remove(self, i):
        v = self.pick(i)
        if len(self.naive.leaves(v)) > 8:
            v = self.naive.leaves(v)[0]
        self.tree.remove(v)
        below = self.naive.below(v)
        self.naive.detach(v)
        for u in below:
            self.naive.forget(u)

    def move(self, i, j):
        v = self.pick(i)
        inside = set(self.naive.below(v))
        places = [u for u in sorted(self.naive.parent) if u not in inside]
        if not places:
            return
        u = self.pick(j, places)
        p = self.naive.parent[v]
        made = self.tree.move(v, u)
        if len(self.naive.children[p]) == 2 and (u == p or u in self.naive.children[p]):
            assert made == p
            return
        self.naive.detach(v)
        self.naive.join(u, v, made)

    def swap(self, i, j):
        a = self.pick(i)
        inside = set(self.naive.below(a))
        places = [u for u in sorted(self.naive.parent) if u not in inside and a not in self.naive.below(u)]
        if places:
            b = self.pick(j, places)
            self.tree.swap(a, b)
            self.naive.swap(a, b)

    def group(self, i):
        wide = [v for v, kids in sorted(self.naive.children.items()) if len(kids) > 2]
        if not wide:
            return
        p = self.pick(i, wide)
        kids = self.naive.children[p]
        chosen = kids[: 2 + i % (len(kids) - 2)]
        v = self.tree.group(chosen)
        self.naive.children[p] = [c for c in kids if c not in chosen] + [v]
        self.naive.children[v], self.naive.parent[v] = list(chosen), p
        for c in chosen:
            self.naive.parent[c] = v

    def check(self):
        tree, naive = self.tree, self.naive
        assert tree.broken_rule() == ""
        assert tree.n_nodes == len(naive.parent)
        if naive.root is None:
            return
        assert tree.root == naive.root
        for v in naive.parent:
            assert tree.is_alive(v)
            assert tree.children(v) == naive.children[v]
            assert tree.parent(v) == (-1 if naive.parent[v] is None else naive.parent[v])
            assert tree.size(v) == pytest.approx(naive.size(v))
            assert tree.sums(v) == pytest.approx(naive.sums(v).tolist())
        frozen, node = freeze(tree)
        members = {int(node[v]): {int(node[u]) for u in frozen.members(v)} for v in range(frozen.n_nodes)}
        assert members == {v: set(naive.leaves(v)) for v in naive.parent}


numbers = st.integers(0, 10**6)
rows = st.lists(st.integers(-9, 9), min_size=WIDTH, max_size=WIDTH)
weights = st.integers(0, 5)


class Machine(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.pair = Pair()
        self.known = (self.pair.tree.version, {})

    @rule(i=numbers, weight=weights, row=rows)
    def insert(self, i, weight, row):
        self.pair.insert(i, weight, row)

    @precondition(lambda self: self.pair.naive.root is not None)
    @rule(i=numbers)
    def remove(self, i):
        self.pair.remove(i)

    @precondition(lambda self: len(self.pair.naive.parent) > 1)
    @rule(i=numbers, j=numbers)
    def move(self, i, j):
        self.pair.move(i, j)

    @precondition(lambda self: len(self.pair.naive.parent) > 1)
    @rule(i=numbers, j=numbers)
    def swap(self, i, j):
        self.pair.swap(i, j)

    @precondition(lambda self: self.pair.naive.root is not None)
    @rule(i=numbers)
    def group(self, i):
        self.pair.group(i)

    @rule()
    def remember(self):
        self.known = (self.pair.tree.version, dict(self.pair.naive.parent))

    @invariant()
    def same(self):
        self.pair.check()

    @invariant()
    def changes_tell_the_difference(self):
        version, before = self.known
        now = self.pair.naive.parent
        made, removed, moved, touched = (set(part.tolist()) for part in self.pair.tree.changes(version))
        again = made & removed
        assert made - again == set(now) - set(before)
        assert removed - again == set(before) - set(now)
        stayed = (set(now) & set(before)) - again
        assert moved == {v for v in stayed if now[v] != before[v] or now[v] in made}
        assert touched <= stayed
        assert {now[v] for v in made | moved if now[v] is not None} & stayed <= touched


Machine.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestMachine = Machine.TestCase


def test_a_hundred_thousand_changes():
    """Against the invariants after each, and against the naive tree now and then."""
    rng = np.random.default_rng(0)
    pair = Pair()
    for step in range(100_000):
        n = len(pair.naive.parent)
        i, j = int(rng.integers(10**6)), int(rng.integers(10**6))
        row = rng.standard_normal(WIDTH)
        kind = rng.random()
        if n < 2 or kind < (0.5 if n < 60 else 0.2):
            pair.insert(i, float(rng.integers(1, 4)), row)
        elif kind < 0.55:
            pair.remove(i)
        elif kind < 0.75:
            pair.move(i, j)
        elif kind < 0.85:
            pair.swap(i, j)
        else:
            pair.group(i)
        assert pair.tree.broken_rule() == ""
        if step % 500 == 0:
            pair.check()
    assert pair.tree.capacity < 400  # freed ids are used again


def test_ids_are_used_again_as_late_as_possible():
    tree = _core.MutableTree(0, LOG)
    leaves = [make_leaf(tree)]
    for _ in range(9):
        leaves.append(make_leaf(tree))
        tree.join(leaves[0], leaves[-1])
    for v in (leaves[3], leaves[5]):
        tree.remove(v)
    again = [make_leaf(tree) for _ in range(5)]
    assert again.index(leaves[3]) < again.index(leaves[5]) and again[4] == tree.capacity - 1


def test_old_versions_are_forgotten_and_said_so():
    tree = _core.MutableTree(0, 1000)
    a = make_leaf(tree)
    tree.join(a, make_leaf(tree))
    for _ in range(1000):
        v = make_leaf(tree)
        tree.join(a, v)
        tree.remove(v)
    with pytest.raises(ValueError, match="not in the log"):
        tree.changes(0)
    with pytest.raises(ValueError, match="not in the log"):
        tree.changes(tree.version + 1)
    assert all(len(part) == 0 for part in tree.changes(tree.version))
    assert tree.capacity < 10


def test_what_cannot_be_done_is_refused():
    tree = _core.MutableTree(2, LOG)
    a, b, c = (make_leaf(tree, 1.0, [0.0, 1.0]) for _ in range(3))
    p = tree.join(a, b)
    with pytest.raises(ValueError, match="no such node"):
        tree.join(99, c)
    with pytest.raises(ValueError, match="hangs in the tree already"):
        tree.join(c, a)
    with pytest.raises(ValueError, match="a leaf has no children"):
        tree.append(a, c)
    tree.join(p, c)
    with pytest.raises(ValueError, match="outside of it"):
        tree.move(p, a)
    with pytest.raises(ValueError, match="neither is below the other"):
        tree.swap(p, a)
    with pytest.raises(ValueError, match="leaves a sibling out"):
        tree.group([a, b])
    with pytest.raises(ValueError, match="another length"):
        make_leaf(tree, 1.0, [1.0])


def test_the_last_leaf_can_go_and_the_first_come_again():
    tree = _core.MutableTree(0, LOG)
    a = make_leaf(tree)
    tree.remove(a)
    assert tree.n_nodes == 0 and tree.root == -1 and tree.broken_rule() == ""
    b = make_leaf(tree)
    assert tree.root == b and freeze(tree)[0].n_leaves == 1


def test_a_path_of_a_hundred_thousand_leaves():
    tree = _core.MutableTree(0, LOG)
    top = make_leaf(tree)
    for _ in range(99_999):
        top = tree.join(top, make_leaf(tree))
    assert freeze(tree)[0].depth == 99_999
    assert tree.broken_rule() == ""
