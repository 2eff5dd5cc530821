"""``ramify fit`` and ``ramify methods``: trees from vectors."""

from __future__ import annotations

import re
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer

from ramify.cli._common import (
    AsJson,
    Items,
    ItemsColumn,
    Params,
    Quiet,
    VectorColumn,
    VectorFile,
    columns,
    count,
    parse_params,
    peak_memory,
    print_json,
    print_outline,
    read_named_items,
    seconds,
    show_progress,
)


def fit(
    x: VectorFile,
    method: Annotated[str, typer.Option("--method", "-m", help="How to build the tree; see: ramify methods")] = "auto",
    metric: Annotated[str | None, typer.Option(help="sqeuclidean, cosine, dot, ...")] = None,
    linkage: Annotated[str | None, typer.Option(help="average, ward, single, complete, ...")] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Where the tree goes: .tree .nwk .npy .json; default: X.tree here"),
    ] = None,
    items: Items = None,
    items_column: ItemsColumn = None,
    column: VectorColumn = None,
    n_clusters: Annotated[
        int | None, typer.Option("--n-clusters", "-k", help="Also cut the tree to k clusters.")
    ] = None,
    height: Annotated[float | None, typer.Option(help="Also cut the tree at this height.")] = None,
    labels_out: Annotated[
        Path | None, typer.Option(help="Where the labels of the cut go: .csv .tsv .txt .npy .parquet")
    ] = None,
    objective: Annotated[
        str | None, typer.Option(help="The best tree for dasgupta, mw or ckmm, by whichever method.")
    ] = None,
    budget: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="About how long it may take; 600 if not given.")
    ] = None,
    refine: Annotated[
        str | None, typer.Option(metavar="OBJECTIVE", help="Then improve the tree: dasgupta, mw, ckmm, or auto.")
    ] = None,
    param: Params = None,
    random_state: Annotated[int | None, typer.Option("--random-state", "--seed", help="For methods that draw.")] = None,
    n_jobs: Annotated[int, typer.Option("--n-jobs", "-j", help="Threads; -1 is all cores.")] = -1,
    branches: Annotated[int, typer.Option(help="Branches of the printed outline; 0 for none.")] = 12,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Build the tree of the vectors in a file.

    Example: [bold]ramify fit embeddings.npy --metric cosine --items names.txt --out names.tree[/bold]
    """
    import ramify
    from ramify.io import check_writable, read_vectors, write_labels, write_tree
    from ramify.io.trees import check_tree_name

    if labels_out is not None and n_clusters is None and height is None:
        raise typer.BadParameter("--labels-out needs --n-clusters or --height, which say where to cut.")
    if n_clusters is not None and height is not None:
        raise typer.BadParameter("give --n-clusters or --height, not both.")
    out = out or Path(x.with_suffix(".tree").name)
    check_tree_name(out)
    for target in (out, labels_out):
        if target is not None:
            check_writable(target)

    start = perf_counter()
    vectors = read_vectors(x, column=columns(column))
    n, d = vectors.shape
    names = read_named_items(items, items_column, n, f"vectors in {x}")
    params = {"random_state": random_state, "n_jobs": n_jobs, **parse_params(param)}
    params |= {name: value for name, value in (("metric", metric), ("linkage", linkage)) if value is not None}
    read = perf_counter()
    goal = False if refine is None else True if refine == "auto" else refine
    show = show_progress(quiet or as_json)
    tree = ramify.fit(vectors, method, objective=objective, budget_seconds=budget, refine=goal, progress=show, **params)
    built = perf_counter()
    labels = None if n_clusters is None and height is None else tree.cut(n_clusters, height=height)
    write_tree(tree, out, names)
    if labels is not None and labels_out is not None:
        write_labels(labels_out, labels, names)

    if as_json:
        print_json(
            {
                "vectors": {"file": str(x), "rows": n, "dimensions": d},
                "tree": {"file": str(out), **tree.describe()},
                "info": tree.info,
                "clusters": None if labels is None else {"file": _name(labels_out), "count": int(labels.max()) + 1},
                "seconds": {"read": read - start, "fit": built - read, "write": perf_counter() - built},
                "peak_bytes": peak_memory(),
            }
        )
    elif not quiet:
        print(f"{x}: {count(n, 'vector')} of {count(d, 'dimension')}")
        print(f"{_how(tree.info, method)} in {seconds(built - read)}, {peak_memory() / 1e6:.0f} MB of memory at most")
        if "auto" in tree.info:
            print(f"why {tree.info['auto']}")
        print()
        print_outline(tree, names, branches)
        print(f"\ntree: {out}")
        if labels is not None:
            where = f"labels: {labels_out}, " if labels_out is not None else "cut: "
            print(f"{where}{count(int(labels.max()) + 1, 'cluster')}")


def _name(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _how(info: dict[str, Any], method: str) -> str:
    known = [str(info[key]) for key in ("linkage", "metric") if key in info]
    return str(info.get("method", method)) + (f" ({', '.join(known)})" if known else "")


def methods(
    name: Annotated[str | None, typer.Argument(help="Show the parameters of this method.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the methods, or the parameters of one."""
    import inspect

    import ramify
    from ramify.auto import METHODS
    from ramify.validate import check_choice

    chosen = METHODS if name is None else {name: METHODS[check_choice("method", name, list(METHODS))]}
    table: dict[str, dict[str, Any]] = {}
    for method, estimator in chosen.items():
        cls = getattr(ramify, estimator)
        about = _plain(" ".join((inspect.getdoc(cls) or "").split("\n\n")[0].split()))
        parameters = {p.name: p.default for p in inspect.signature(cls).parameters.values()}
        table[method] = {"estimator": estimator, "about": about, "parameters": parameters}
    if as_json:
        print_json(table)
    elif name is None:
        width = max(map(len, table), default=0)
        for method, entry in table.items():
            print(f"{method:{width}}  {entry['about']}")
    else:
        print(f"{name} (ramify.{table[name]['estimator']}): {table[name]['about']}\n")
        for parameter, default in table[name]["parameters"].items():
            print(f"  {parameter} = {default!r}")


def _plain(text: str) -> str:
    """Without the marks that only documentation has a use for: references and code."""
    return re.sub(r" \([^()]*\[\d+\]_[^()]*\)| \[\d+\]_|``", "", text)
