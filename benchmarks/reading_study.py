"""The table of ``docs/studies/reading.md``: groups of the condensed tree beside those whose levels are groups.

``python -m benchmarks.reading_study --most 6000`` draws so many rows of each set.
"""

from __future__ import annotations

import argparse

import numpy as np
from sklearn.metrics import adjusted_rand_score

import cladify
from benchmarks.steer_study import SETS, load, purity
from cladify.metrics import dendrogram_purity
from cladify.taxonomy._read.levels import labels_of, suggest_levels
from cladify.taxonomy._steer.reading import levels_of, reading_tree
from cladify.tree import Tree


def said(tree: Tree, levels: list[tuple[int, ...]], y: np.ndarray) -> str:
    """Purity of the tree; of each level its groups, purity, ARI and the share of the largest group."""
    parts = []
    for nodes in levels:
        labels = labels_of(tree, nodes)
        share = tree.size[list(nodes)].max() / tree.n_leaves
        parts.append(f"{len(nodes)}: {purity(y, labels):.3f}, {adjusted_rand_score(y, labels):.3f}, {share:.0%}")
    return f"{dendrogram_purity(tree, y):.3f} | {'; '.join(parts)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=6000)
    most = parser.parse_args().most
    print("| set | condensed | its levels | levels as groups | levels |\n| --- | --- | --- | --- | --- |")
    for name in SETS:
        X, y, metric = load(name, most)
        full = cladify.fit(X, metric=metric, random_state=0)
        condensed = full.condense()
        suggested = suggest_levels(condensed, [(level.n_clusters, level.stability) for level in full.levels()])
        tree, ranks = reading_tree(full)
        before = said(condensed, [level.nodes for level in suggested], y)
        print(f"| {name} | {before} | {said(tree, levels_of(tree, ranks), y)} |", flush=True)


if __name__ == "__main__":
    main()
