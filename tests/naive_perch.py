"""PERCH of Kobren, Monath, Krishnamurthy and McCallum (2017), line by line on nodes that know their leaves."""

from __future__ import annotations

from naive_online import NaiveOnline, Node


class NaivePerch(NaiveOnline):
    """``S`` has the similarities; of equally near points the first is taken, of equally large siblings the lower."""

    def __init__(self, S, *, balance=True):
        super().__init__(None)
        self.S, self.balance = S, balance
        self.maskings = self.balancings = 0

    def pairs(self, a, b):
        return [self.S[i, j] for i in a.leaves() for j in b.leaves()]

    def insert(self, x):
        point = Node(x)
        if self.root is None:
            self.root = point
            return
        near = max(self.leaf_nodes(), key=lambda leaf: self.S[leaf.leaf, x])
        self.join(near, point)
        self.rotate_while_masked(near)
        if self.balance:
            self.rotate_for_balance(point.sibling())

    def aunt(self, v):
        return v.parent.sibling()

    def has_aunt(self, v):
        return v is not self.root and v.parent is not self.root

    def is_masked(self, v):
        """All of the aunt is nearer than anything of the sibling."""
        return min(self.pairs(v, self.aunt(v))) > max(self.pairs(v, v.sibling()))

    def rotate(self, v):
        """The aunt in the place of the sibling, and the other way round."""
        sibling, aunt = v.sibling(), self.aunt(v)
        p, q = v.parent, v.parent.parent
        p.takes(sibling, aunt)
        q.takes(aunt, sibling)

    def rotate_while_masked(self, v):
        """From the sibling of the new point up to the first inner node that is not masked."""
        while v is not self.root:
            if self.has_aunt(v) and self.is_masked(v):
                self.rotate(v)
                self.maskings += 1
            elif v.leaf is None:
                return
            v = v.parent

    def rotate_for_balance(self, v):
        """Up to the root: the smaller of two siblings goes to its aunt where that evens the two sides, else the larger;
        never where all of the sibling is nearer than anything of the aunt."""
        while self.has_aunt(v):
            for u in sorted((v, v.sibling()), key=lambda side: len(side.leaves())):
                own, sibling, aunt = (len(side.leaves()) for side in (u, u.sibling(), self.aunt(u)))
                masks = min(self.pairs(u, u.sibling())) > max(self.pairs(u, self.aunt(u)))
                if abs(own + aunt - sibling) < abs(own + sibling - aunt) and not masks:
                    self.rotate(u)
                    self.balancings += 1
                    v = u
                    break
            v = v.parent
