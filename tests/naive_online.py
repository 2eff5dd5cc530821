"""GREEDY, ROTATE and GRINCH of Monath (2022), algorithms 4 to 8, line by line on nodes that know their leaves.

The reading of algorithms 6 and 7 is that of :class:`cladify.Grinch`: restructuring starts at the sibling that L left
behind, a graft goes on at the parent of V, and both climbs of a round are decided for the same V and L.
"""

from __future__ import annotations


class Node:
    def __init__(self, leaf=None, left=None, right=None):
        self.leaf, self.left, self.right, self.parent = leaf, left, right, None
        for child in (left, right):
            if child is not None:
                child.parent = self

    def leaves(self):
        return [self.leaf] if self.leaf is not None else self.left.leaves() + self.right.leaves()

    def nodes(self):
        return [self] if self.leaf is not None else [self, *self.left.nodes(), *self.right.nodes()]

    def sibling(self):
        return self.parent.right if self.parent.left is self else self.parent.left

    def ancestors(self):
        return [] if self.parent is None else [self.parent, *self.parent.ancestors()]

    def takes(self, old, new):
        """``new`` in the place of the child ``old``."""
        if self.left is old:
            self.left = new
        else:
            self.right = new
        new.parent = self


def lca(a, b):
    above = [b, *b.ancestors()]
    return next(v for v in [a, *a.ancestors()] if v in above)


class NaiveOnline:
    """``f(leaves, leaves)`` is the linkage; of equal ones the first is taken."""

    def __init__(self, f, *, rotate=True, graft=True):
        self.linkage, self.rotates, self.grafts = f, rotate, graft
        self.root = None

    def f(self, a, b):
        return self.linkage(sorted(a.leaves()), sorted(b.leaves()))

    def insert(self, x):
        point = Node(x)
        if self.root is None:
            self.root = point
            return
        v = max(self.leaf_nodes(), key=lambda leaf: self.f(leaf, point))
        while self.rotates and v is not self.root and self.f(v, point) < self.f(v, v.sibling()):
            v = v.parent
        v = self.join(v, point)
        while self.grafts and v is not self.root:
            v = self.graft(v)

    def leaf_nodes(self):
        return sorted((v for v in self.root.nodes() if v.leaf is not None), key=lambda v: v.leaf)

    def join(self, v, other):
        above = v.parent
        made = Node()
        if above is None:
            self.root = made
        else:
            above.takes(v, made)
        made.left, made.right = v, other
        v.parent = other.parent = made
        return made

    def graft(self, v):
        inside = v.leaves()
        other = max((leaf for leaf in self.leaf_nodes() if leaf.leaf not in inside), key=lambda leaf: self.f(leaf, v))
        start, top = v, lca(v, other)
        while v is not top and other is not top and v.sibling() is not other:
            both, mine, its = self.f(v, other), self.f(v, v.sibling()), self.f(other, other.sibling())
            if both > mine and both > its:
                left_behind = other.sibling()
                self.detach(other)
                self.join(v, other)
                self.restructure(left_behind, lca(left_behind, v))
                return v.parent
            if both <= its:
                other = other.parent
            if both <= mine:
                v = v.parent
        return top if v is start else v

    def detach(self, v):
        p, s = v.parent, v.sibling()
        if p.parent is None:
            self.root, s.parent = s, None
        else:
            p.parent.takes(p, s)

    def restructure(self, z, top):
        while z is not top:
            aunts = [a.sibling() for a in z.ancestors()[: z.ancestors().index(top)]]
            if not aunts:
                return
            best = max(aunts, key=lambda side: self.f(z, side))
            sibling = z.sibling()
            if self.f(z, sibling) < self.f(z, best):
                p, q = sibling.parent, best.parent
                p.takes(sibling, best)
                q.takes(best, sibling)
            z = z.parent

    def clusters(self):
        return {frozenset(v.leaves()) for v in self.root.nodes() if v.leaf is None}
