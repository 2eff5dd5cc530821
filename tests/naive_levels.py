"""MB-SCC of Monath (2022), algorithm 10 as :class:`cladify.online.MiniBatchSCC` reads it, on a dense matrix of weights.

Similarities are means over all pairs, worked out anew each time; nothing is kept but the tree, and of each node the
cluster that was most similar when it was last asked.
"""

from __future__ import annotations

from collections import Counter, deque


class Node:
    def __init__(self, name, level):
        self.name, self.level = name, level
        self.parent = self.best = None
        self.children = []

    def leaves(self):
        return [self.name] if self.level == 0 else sorted(leaf for child in self.children for leaf in child.leaves())


class NaiveLevels:
    def __init__(self, thresholds):
        self.tau = list(thresholds)
        self.alive, self.free, self.count = {}, deque(), 0
        self.W = self.root = None

    def make(self, level):
        """Names are used again, the one first that was free first."""
        name = self.free.popleft() if self.free else self.count
        self.count += name == self.count
        self.alive[name] = node = Node(name, level)
        return node

    def drop(self, node):
        del self.alive[node.name]
        self.free.append(node.name)

    # --- what clusters there are on a level

    def lift(self, node, at):
        while node.parent is not None and node.parent.level <= at:
            node = node.parent
        return node

    def most_similar(self, node, at):
        """Of equally similar clusters of the level that with the least name."""
        mine, there = node.leaves(), {}
        for other in self.alive.values():
            if other.level <= at and self.lift(other, at) is other and other is not node:
                theirs = other.leaves()
                there[other] = sum(self.W[a, b] for a in mine for b in theirs) / (len(mine) * len(theirs))
        best = min(there, key=lambda other: (-there[other], other.name), default=None)
        return (best, there[best]) if best is not None and there[best] > 0 else (None, 0.0)

    # --- a batch

    def batch(self, W, n_new):
        """Points that arrive. Old ones that are near them are asked for by the clusters that change."""
        self.W, levels = W, len(self.tau)
        self.marks = [[] for _ in range(levels + 1)]
        self.broken = [[] for _ in range(levels + 2)]
        self.changed = set()
        for _ in range(n_new):
            leaf = self.make(0)
            self.changed.add(leaf)
            self.marks[0].append(leaf)
        for at in range(levels):
            if (self.marks[at] or self.broken[at + 1]) and not self.step(at) and not self.is_open(at):
                break
        self.close()

    def is_open(self, at):
        """Whether there are nodes without a place, or parents that lost children."""
        apart = [v for v in self.alive.values() if v.parent is None and v is not self.root]
        return bool(apart) or any(self.broken[at + 2 :])

    def top(self):
        return next((v for v in self.alive.values() if v.level == len(self.tau) + 1), None)

    def mark(self, at, node):
        if node is not None and node.name in self.alive and self.alive[node.name].level <= at < len(self.tau):
            self.marks[at].append(self.alive[node.name])

    def mark_children(self, parent):
        for child in parent.children:
            self.mark(parent.level - 1, child)

    def change(self, node):
        while node is not None and node not in self.changed:
            self.changed.add(node)
            node = node.parent

    def take_out(self, node):
        parent = node.parent
        self.change(parent)
        self.broken[parent.level].append(parent)
        parent.children.remove(node)
        node.parent = None

    def step(self, at):
        """Equations 4.7 to 4.12 for one level; whether anything hangs elsewhere than before."""
        there = [v for v in self.marks[at] if self.alive.get(v.name) is v and v.level <= at]
        marked = list(dict.fromkeys(self.lift(v, at) for v in there))
        if not marked and not self.broken[at + 1]:
            return True
        parents = [v.parent for v in marked] + self.broken[at + 1]
        items, similarity, links = list(marked), {}, []
        for v in marked:
            v.best, similarity[v] = self.most_similar(v, at)
            if v.best is not None and similarity[v] >= self.tau[at]:
                other, parent = v.best, v.best.parent
                if other not in marked:
                    parents.append(parent)
                    if parent is not None and parent.level == at + 1:
                        other = parent  # and with it all of its children that are not marked
                items.append(other)
                links.append((v, other))
        parents = [p for p in dict.fromkeys(parents) if p and self.alive.get(p.name) is p and p.level == at + 1]
        items += [p for p in parents if any(child not in marked for child in p.children)]
        groups = [Group(part, marked, at) for part in components(dict.fromkeys(items), links)]
        self.name_parents([g for g in groups if len(g.members) > 1], at)
        changed = False
        for g in groups:
            for v in g.members:
                if v.parent is not None and (
                    v.parent.level == at + 1 if len(g.members) == 1 else v.parent is not g.node
                ):
                    if v.parent.level == at + 2:
                        self.mark_children(v.parent)
                    self.take_out(v)
                    changed = True
        for g in groups:
            if len(g.members) == 1:
                g.node = g.members[0]
                continue
            g.node = g.node or self.make(at + 1)
            for v in g.members:
                if v.parent is None:
                    v.parent = g.node
                    g.node.children.append(v)
                    self.change(g.node)
                    changed = True
        for p in parents:
            if not p.children:
                self.mark(at + 1, p.best)
                if p.parent is not None:
                    if p.parent.level == at + 2:
                        self.mark_children(p.parent)
                    self.take_out(p)
                self.drop(p)
        for g in groups:
            v = g.node
            if v in self.changed or v.parent is None:
                later = at + 1
                if v in marked:  # alone: asked again where the threshold has come down to it, or to its parent
                    later = next((i for i, tau in enumerate(self.tau) if tau <= similarity[v]), len(self.tau))
                    later = max(at + 1, later if v.parent is None else min(later, v.parent.level - 1))
                self.mark(later, v)
                self.mark(later, v.best)
                if v.parent is not None and v.parent.level == at + 2:
                    self.mark_children(v.parent)
        return changed

    def name_parents(self, groups, at):
        """An old parent goes on as that of the group that has the most of its children."""
        claims = []
        for g in groups:
            own = Counter(v.parent.name for v in g.members if v.parent is not None and v.parent.level == at + 1)
            claims += [(name, g, own[name]) for name in sorted(own)]
        taken = set()
        for name, g, _ in sorted(claims, key=lambda claim: -claim[2]):
            if g.node is None and name not in taken:
                g.node = self.alive[name]
                taken.add(name)

    def close(self):
        """What is left after the last level is joined by one node."""
        top = self.top()
        apart = [v for v in self.alive.values() if v.parent is None and v is not top]
        if top is None and len(apart) > 1:
            top = self.make(len(self.tau) + 1)
        if top is not None:
            for v in apart:
                v.parent = top
                top.children.append(v)
            if len(top.children) == 1:
                top.children[0].parent = None
                self.drop(top)
        self.root = next(v for v in self.alive.values() if v.parent is None)

    def clusters(self):
        return {frozenset(v.leaves()) for v in self.alive.values() if v.level > 0}


class Group:
    """Clusters of a level that are joined: marked ones, and the children of parents that are not marked."""

    def __init__(self, part, marked, at):
        self.node = None
        self.members = []
        for item in part:
            alone = item.level <= at
            self.members += [item] if alone else [child for child in item.children if child not in marked]


def components(items, links):
    """Connected components in order of their least names."""
    name = {v: v for v in items}

    def root(v):
        while name[v] is not v:
            v = name[v]
        return v

    for a, b in links:
        one, two = sorted((root(a), root(b)), key=lambda v: v.name)
        name[two] = one
    parts = {}
    for v in items:
        parts.setdefault(root(v), []).append(v)
    return [parts[v] for v in sorted(parts, key=lambda v: v.name)]
