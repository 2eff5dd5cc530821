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
    VectorFile,
    columns,
    print_json,
    read_points_of,
    read_tree_file,
    show_progress,
)

OBJECTIVES = ("mw", "ckmm")


def score(
    tree_file: TreeFile,
    x: VectorFile,
    metric: Annotated[
        str | None,
        typer.Option(help="A similarity for dasgupta and mw, a distance for ckmm; default: cosine, sqeuclidean"),
    ] = None,
    objective: Annotated[
        list[str] | None,
        typer.Option(help="dasgupta, mw or ckmm; may be given again. Default: mw and ckmm, or what the metric fits."),
    ] = None,
    labels: Annotated[Path | None, typer.Option(help="True classes of the rows, for dendrogram purity and F1.")] = None,
    labels_column: Annotated[str | None, typer.Option(help="Column or key with the classes.")] = None,
    column: VectorColumn = None,
    n_jobs: Annotated[int, typer.Option("--n-jobs", "-j", help="Threads; -1 is all cores.")] = -1,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Score a tree against the vectors it was built from, and against true classes.

    Example: [bold]cladify score names.tree embeddings.npy --labels classes.csv[/bold]
    """
    import cladify
    from cladify.io import check_items, read_labels

    tree = read_tree_file(tree_file)
    vectors = read_points_of(tree, tree_file, x, columns(column))
    y = None if labels is None else read_labels(labels, labels_column)
    if y is not None:
        check_items(y, tree.n_leaves, what=f"labels in {labels}", rows=f"leaves in {tree_file}")
    progress = show_progress(quiet or as_json)
    scores = [
        cladify.score(tree, vectors, metric, name, n_jobs=n_jobs, progress=progress)
        for name in objective or _fitting(metric)
    ]
    truth = {} if y is None else _against_classes(tree, y, n_jobs)
    if as_json:
        print_json({"file": str(tree_file), "scores": [entry.to_dict() for entry in scores], **truth})
        return
    for entry in scores:
        print(entry)
    for name, value in truth.items():
        print(f"{name.replace('_', ' ')}: {value:.4f}")


def _fitting(metric: str | None) -> tuple[str, ...]:
    """The objectives that take the metric: MW sums similarities, CKMM distances."""
    from cladify.data.similarity import get_similarity

    if metric is None:
        return OBJECTIVES
    return ("mw",) if get_similarity(metric).kind == "similarity" else ("ckmm",)


def _against_classes(tree: Any, y: Any, n_jobs: int) -> dict[str, float]:
    from cladify.metrics import best_f1, dendrogram_purity

    return {
        "dendrogram_purity": float(dendrogram_purity(tree, y, n_jobs=n_jobs)),
        "best_f1": float(best_f1(tree, y, n_jobs=n_jobs).f1),
    }
