"""``cladify fit`` and ``cladify methods``: trees from vectors."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer

from cladify._kit.system import peak_memory
from cladify.cli._common import (
    AsJson,
    ExcelSafe,
    Items,
    ItemsColumn,
    Params,
    Quiet,
    VectorColumn,
    VectorFile,
    columns,
    count,
    parse_params,
    print_json,
    print_outline,
    read_named_items,
    seconds,
    show_progress,
)


def fit(
    x: VectorFile,
    method: Annotated[str, typer.Option("--method", "-m", help="How to build the tree; see: cladify methods")] = "auto",
    metric: Annotated[str | None, typer.Option(help="sqeuclidean, cosine, dot, ...")] = None,
    linkage: Annotated[str | None, typer.Option(help="average, ward, single, complete, ...")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Where the tree goes: .tree .nwk .npy .json (.dag for llama; or a folder, with dask); default: X.tree",
        ),
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
    excel_safe: ExcelSafe = False,
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
    embed: Annotated[
        str | None, typer.Option(help="First train an embedding of the vectors: vade, vae or pca.", metavar="NAME")
    ] = None,
    embed_param: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE", help="Any parameter of the embedding, such as n_components=20; may be given again."
        ),
    ] = None,
    embed_out: Annotated[Path | None, typer.Option(help="Where the embedded vectors go: .npy")] = None,
    random_state: Annotated[int | None, typer.Option("--random-state", "--seed", help="For methods that draw.")] = None,
    n_jobs: Annotated[int, typer.Option("--n-jobs", "-j", help="Threads; -1 is all cores.")] = -1,
    engine: Annotated[str, typer.Option(help="local, or dask: in parts, X may be a folder of shards.")] = "local",
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="A Dask scheduler; by default workers start here.")
    ] = None,
    workers: Annotated[int | None, typer.Option(help="How many Dask workers start here.")] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="A folder that all Dask workers see, to go on from after a failure.")
    ] = None,
    branches: Annotated[int, typer.Option(help="Branches of the printed outline; 0 for none.")] = 12,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Build the tree of the vectors in a file, or in a folder of shards with --engine dask.

    Example: [bold]cladify fit embeddings.npy --metric cosine --items names.txt --out names.tree[/bold]
    """
    from cladify._fit import fit_model
    from cladify._kit.atomic import atomic_write
    from cladify.io import check_writable, read_vectors, write_labels, write_tree
    from cladify.methods import find_method
    from cladify.tree._files import check_tree_name

    if labels_out is not None and n_clusters is None and height is None:
        raise typer.BadParameter("--labels-out needs --n-clusters or --height, which say where to cut.")
    if n_clusters is not None and height is not None:
        raise typer.BadParameter("give --n-clusters or --height, not both.")
    if embed is None and (embed_param or embed_out):
        raise typer.BadParameter("--embed-param and --embed-out belong to --embed, which names the embedding.")
    parts = engine == "dask"
    if parts and embed is not None:
        raise typer.BadParameter("--embed works in one process; embed the vectors first, then use --engine dask.")
    if embed_out is not None and embed_out.suffix.lower() != ".npy":
        raise typer.BadParameter(f"--embed-out writes .npy files, got {embed_out}.")
    overlaps = method != "auto" and find_method(method).result == "dag"
    if overlaps and (n_clusters is not None or height is not None):
        raise typer.BadParameter(
            f"method {method} gives overlapping clusters, which --n-clusters and --height cannot cut."
        )
    folder = parts and out is not None and not out.suffix
    if folder and not n_clusters is height is items is None:
        raise typer.BadParameter("a tree in a folder is cut afterwards: cladify cut FOLDER --out labels.parquet.")
    out = out or Path(x.with_suffix(".dag" if overlaps else ".tree").name)
    if not overlaps and not folder:
        check_tree_name(out)
    elif overlaps and out.suffix.lower() != ".dag":
        raise typer.BadParameter(f"overlapping clusters are no tree: give --out a name that ends in .dag, got {out}.")
    for target in (None if folder else out, labels_out, embed_out):
        if target is not None:
            check_writable(target)

    start = perf_counter()
    vectors: Any = x if parts else read_vectors(x, column=columns(column))
    shape = None if parts else vectors.shape
    names = None if shape is None else read_named_items(items, items_column, shape[0], f"vectors in {x}")
    params = {"random_state": random_state, "n_jobs": n_jobs, **parse_params(param)}
    params |= {name: value for name, value in (("metric", metric), ("linkage", linkage)) if value is not None}
    read = perf_counter()
    goal = False if refine is None else True if refine == "auto" else refine
    show = show_progress(quiet or as_json)
    if embed is not None:
        import numpy as np

        from cladify.embed._named import embed as embedded

        trained = parse_params(embed_param)
        settings = {"random_state": random_state, "n_jobs": n_jobs, **trained, "progress": show}
        vectors, _ = embedded(vectors, embed, **settings)
        if embed_out is not None:
            with atomic_write(embed_out) as file:
                np.save(file, vectors, allow_pickle=False)
    options: dict[str, Any] = {"objective": objective, "budget_seconds": budget, "refine": goal, "progress": show}
    options |= {"engine": engine, "client": scheduler, "n_workers": workers, "checkpoint": checkpoint}
    if parts:
        params["column"] = columns(column)
    if folder:
        options["out"] = out
    tree, model = fit_model(vectors, method, **options, **params)
    if folder:
        _tell_folder(tree, x, method, perf_counter() - read, branches, as_json, quiet)
        return
    if shape is None:
        shape = tree.n_leaves, tree.info["d"]
        names = read_named_items(items, items_column, shape[0], f"vectors in {x}")
    n, d = shape
    if embed is not None:
        tree.info["embedding"] = {"name": embed, **trained}
    built = perf_counter()
    labels = None
    if n_clusters is not None or height is not None:
        labels = (tree.cut if model is None else model.labels_for)(n_clusters, height=height)
    if overlaps:
        tree.save(out)
    else:
        write_tree(tree, out, names)
    if labels is not None and labels_out is not None:
        write_labels(labels_out, labels, names, excel_safe=excel_safe)

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
        print(f"\n{'clusters' if overlaps else 'tree'}: {out}")
        if labels is not None:
            where = f"labels: {labels_out}, " if labels_out is not None else "cut: "
            print(f"{where}{count(int(labels.max()) + 1, 'cluster')}")


def _tell_folder(tree: Any, x: Path, method: str, took: float, branches: int, as_json: bool, quiet: bool) -> None:
    if as_json:
        figures = {"file": str(tree.folder), "n_leaves": tree.n_leaves, "n_groups": tree.top.n_leaves}
        print_json({"vectors": {"file": str(x)}, "tree": figures, "info": tree.info, "seconds": {"fit": took}})
    elif not quiet:
        print(f"{_how(tree.info, method)} in {seconds(took)}: {count(tree.n_leaves, 'leaf', 'leaves')}\n")
        top, groups = tree.view()
        print_outline(top, groups, branches)
        print(f"\ntree: {tree.folder}, {count(tree.top.n_leaves, 'group')} below its top")


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

    from cladify.methods import METHODS, find_method

    chosen = list(METHODS.values()) if name is None else [find_method(name)]
    table: dict[str, dict[str, Any]] = {}
    for method in chosen:
        parameters = {p.name: p.default for p in inspect.signature(method.load()).parameters.values()}
        entry = {key: value for key, value in method._asdict().items() if key not in ("name", "seconds", "bytes")}
        table[method.name] = {**entry, "parameters": parameters}
    if as_json:
        print_json(table)
    elif name is None:
        width = max(map(len, table), default=0)
        for method in chosen:
            print(f"{method.name:{width}}  {method.advice}")
    else:
        entry = table[name]
        print(f"{name} (cladify.{entry['estimator']}, {entry['family']}): {entry['advice']}")
        print(f"takes {', '.join(entry['inputs'])}; {'counts' if entry['weights'] else 'takes no'} sample_weight")
        print()
        for parameter, default in entry["parameters"].items():
            print(f"  {parameter} = {default!r}")
