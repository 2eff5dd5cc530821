"""``cladify refine``: a better tree from a finished one."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from cladify.cli._common import (
    AsJson,
    Items,
    ItemsColumn,
    Quiet,
    TreeFile,
    VectorColumn,
    VectorFile,
    columns,
    print_json,
    print_outline,
    read_named_items,
    read_points_of,
    read_tree_file,
    seconds,
    show_progress,
)

if TYPE_CHECKING:
    from cladify.tree import Tree


def refine(
    tree_file: TreeFile,
    x: VectorFile,
    metric: Annotated[
        str | None, typer.Option(help="Default: the one the tree was built with, if that is known.")
    ] = None,
    objective: Annotated[
        str | None, typer.Option(help="dasgupta, mw or ckmm. Default: mw for similarities, ckmm for distances.")
    ] = None,
    budget_seconds: Annotated[float | None, typer.Option(help="Stop after about this time with what there is.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help=".tree .nwk .npy .json; default: TREE-refined.tree here")
    ] = None,
    items: Items = None,
    items_column: ItemsColumn = None,
    column: VectorColumn = None,
    random_state: Annotated[int, typer.Option("--random-state", "--seed", help="For trees that are not binary.")] = 0,
    n_jobs: Annotated[int, typer.Option("--n-jobs", "-j", help="Threads; -1 is all cores.")] = -1,
    branches: Annotated[int, typer.Option(help="Branches of the printed outline; 0 for none.")] = 12,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Improve a tree under an objective by moving its subtrees to better places; never makes it worse.

    Example: [bold]cladify refine names.tree embeddings.npy --objective mw --budget-seconds 60[/bold]
    """
    import cladify
    from cladify.io import check_writable, write_tree
    from cladify.tree._files import check_tree_name

    out = out or Path(f"{tree_file.stem}-refined.tree")
    check_tree_name(out)
    check_writable(out)
    tree = read_tree_file(tree_file)
    vectors = read_points_of(tree, tree_file, x, columns(column))
    names = read_named_items(items, items_column, tree.n_leaves, f"leaves in {tree_file}")
    names = names if names is not None else tree.info.get("names")
    chosen = objective or _objective_for(metric or _metric_of(tree))
    # A metric that the tree was built with, but that the objective does not take, is no reason to stop.
    metric = metric or (_metric_of(tree) if objective is None else None)
    start = perf_counter()
    better = cladify.refine(
        tree,
        vectors,
        metric,
        chosen,
        budget_seconds=budget_seconds,
        random_state=random_state,
        n_jobs=n_jobs,
        progress=show_progress(quiet or as_json),
    )
    duration = perf_counter() - start
    gain = better.info["refine"] if better is not tree else None
    write_tree(better, out, names)
    if as_json:
        print_json(
            {"file": str(out), "objective": chosen, "improved": gain is not None, **(gain or {}), "seconds": duration}
        )
    elif not quiet:
        change = f"{gain['before']:.6g} → {gain['after']:.6g}" if gain else "no move helps"
        print(f"{chosen} ({metric or 'default metric'}): {change}, {seconds(duration)}\n")
        print_outline(better, names, branches)
        print(f"\ntree: {out}")


def _metric_of(tree: Tree) -> str | None:
    """The metric that a tree says it was built with, if it is one by name."""
    metric = tree.info.get("metric")
    return metric if isinstance(metric, str) and not metric.startswith("precomputed") else None


def _objective_for(metric: str | None) -> str:
    from cladify.data.similarity import get_similarity

    return "mw" if metric is None or get_similarity(metric).kind == "similarity" else "ckmm"
