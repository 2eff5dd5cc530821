"""``cladify score``: how good a tree is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cladify.cli._common import (
    AsJson,
    Quiet,
    TreeFile,
    VectorColumn,
    columns,
    print_json,
    read_points_of,
    read_tree_file,
    show_progress,
)

OBJECTIVES = ("mw", "ckmm")


def score(
    tree_file: TreeFile,
    x: Annotated[
        Path | None, typer.Argument(metavar="X", help="The vectors, for the objectives; not needed with --labels.")
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(help="A similarity for dasgupta and mw, a distance for ckmm; default: cosine, sqeuclidean"),
    ] = None,
    objective: Annotated[
        list[str] | None,
        typer.Option(help="dasgupta, mw or ckmm; may be given again. Default: mw and ckmm, or what the metric fits."),
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(help="True classes of the rows, for dendrogram purity, F1 and Jaccard measures.")
    ] = None,
    labels_column: Annotated[str | None, typer.Option(help="Column or key with the classes.")] = None,
    n_clusters: Annotated[
        int | None, typer.Option("--n-clusters", "-k", help="Score this cut too: pairwise F1, B³, CEAF-e, MUC, CoNLL.")
    ] = None,
    self_pairs: Annotated[
        bool, typer.Option("--self-pairs", help="Dendrogram purity with the pairs of a point and itself.")
    ] = False,
    column: VectorColumn = None,
    n_jobs: Annotated[int, typer.Option("--n-jobs", "-j", help="Threads; -1 is all cores.")] = -1,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Score a tree against the vectors it was built from, and a tree or overlapping clusters against true classes.

    Example: [bold]cladify score names.tree embeddings.npy --labels classes.csv[/bold]
    """
    import cladify
    from cladify.errors import InvalidInput
    from cladify.io import check_items, read_labels

    if x is None and labels is None:
        raise InvalidInput("Give the vectors the tree was built from, --labels with true classes, or both.")
    if n_clusters is not None and labels is None:
        raise InvalidInput("--n-clusters is a cut to score against true classes: give --labels too.")
    tree = _read(tree_file)
    if not isinstance(tree, cladify.Tree) and (x is not None or n_clusters is not None):
        raise InvalidInput(
            f"{tree_file} has overlapping clusters, which have no objective and no cut; give only --labels."
        )
    scores = []
    if x is not None:
        vectors = read_points_of(tree, tree_file, x, columns(column))
    y = None if labels is None else read_labels(labels, labels_column)
    if y is not None:
        check_items(y, tree.n_leaves, what=f"labels in {labels}", rows=f"leaves in {tree_file}")
    if x is not None:
        progress = show_progress(quiet or as_json)
        scores = [
            cladify.score(tree, vectors, metric, name, n_jobs=n_jobs, progress=progress)
            for name in objective or _fitting(metric)
        ]
    truth = {} if y is None else _against_classes(tree, y, n_clusters, self_pairs, n_jobs)
    if as_json:
        print_json({"file": str(tree_file), "scores": [entry.to_dict() for entry in scores], **truth})
        return
    for entry in scores:
        print(entry)
    for name, value in truth.items():
        print(f"{name.replace('_', ' ')}: {value:.4f}")


def _read(path: Path) -> Any:
    """The tree, or the overlapping clusters, of a file."""
    from cladify.io import read_hierarchy

    return read_hierarchy(path) if path.suffix.lower() == ".dag" else read_tree_file(path)


def _fitting(metric: str | None) -> tuple[str, ...]:
    """The objectives that take the metric: MW sums similarities, CKMM distances."""
    from cladify.data.similarity import get_similarity

    if metric is None:
        return OBJECTIVES
    return ("mw",) if get_similarity(metric).kind == "similarity" else ("ckmm",)


def _against_classes(tree: Any, y: Any, n_clusters: int | None, self_pairs: bool, n_jobs: int) -> dict[str, float]:
    from cladify import Tree, metrics

    found: dict[str, float] = {}
    if isinstance(tree, Tree):
        found["dendrogram_purity"] = float(metrics.dendrogram_purity(tree, y, self_pairs=self_pairs, n_jobs=n_jobs))
        found["best_f1"] = float(metrics.best_f1(tree, y, n_jobs=n_jobs).f1)
    for name in ("jaccard_per_label", "jaccard_per_point", "jaccard_per_node"):
        found[name] = float(getattr(metrics, name)(tree, y, n_jobs=n_jobs))
    if n_clusters is not None:
        cut = tree.cut(n_clusters=n_clusters)
        for name in ("pairwise_f1", "b_cubed", "ceaf_e", "muc"):
            found[name] = float(getattr(metrics, name)(cut, y).f1)
        found["conll"] = metrics.conll(cut, y)
    return found
