"""``cladify demo``: the documentation of NumPy, SciPy and scikit-learn as a taxonomy and a map of it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cladify.cli._common import AsJson, count, print_json, seconds

if TYPE_CHECKING:
    from cladify.datasets import Docstrings
    from cladify.taxonomy import Taxonomy
    from cladify.tree import Tree


def demo(
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder for the taxonomy, the tree, the vectors and the items.")
    ] = Path("out"),
    branches: Annotated[int, typer.Option(help="About how many groups the outline shows at most.", min=1)] = 40,
    scoreboard: Annotated[
        bool, typer.Option("--scoreboard", help="Also build trees by all quick methods, and score them.")
    ] = False,
    method: Annotated[
        list[str] | None,
        typer.Option("--method", "-m", help="A scoreboard of these methods only; may be given again."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Cluster the documentation of NumPy, SciPy and scikit-learn as found on this machine.

    Every public function and class is a leaf; its docstring, as TF-IDF and SVD, is its vector; the path of its module
    is the hierarchy it truly belongs to, so that trees can be scored.
    """
    from rich.console import Console

    import cladify
    from cladify._kit.params import check_choice
    from cladify.datasets import load_docstrings
    from cladify.errors import FileError
    from cladify.io import check_writable
    from cladify.methods import METHODS

    trees_only = [name for name, known in METHODS.items() if known.result == "tree"]
    wanted = method or (_quick(trees_only) if scoreboard else [])
    methods = [check_choice("method", name, trees_only) for name in wanted]
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot make the folder {out}: {error.strerror}; choose another with --out.") from None
    check_writable(out / "docstrings.tree")

    start = perf_counter()
    _say("Reading the documentation of NumPy, SciPy and scikit-learn ...")
    corpus = load_docstrings()
    n, d = corpus.X.shape
    _say(f"{count(n, 'docstring')} as vectors of {d} dimensions in {seconds(perf_counter() - start)}.")
    taxonomy = cladify.Taxonomy.fit(
        corpus.X, corpus.names, texts=corpus.described, vectors_at=(out / "docstrings.npy").resolve()
    )
    board, best = _scores(methods, corpus) if methods else (None, None)
    _save(out, taxonomy.full if best is None else best[1], taxonomy, corpus)
    if as_json:
        files = sorted(str(file) for file in out.glob("docstrings.*"))
        scored = {} if board is None or best is None else {"scoreboard": board.to_dict(), "best": best[0]}
        print_json({"n": n, "d": d, **scored, "files": files})
        return
    print("\nTheir taxonomy, with the words that set each group apart from its neighbours:\n")
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    print(taxonomy.summary(depth=2, max_children=max(2, branches // 5), width=width))
    if board is not None:
        console = Console(highlight=False, width=None if sys.stdout.isatty() else 160)
        console.print()
        console.print(board)
    name = "the tree of the taxonomy" if best is None else best[0]
    print(f"\nSaved in {out}: docstrings.taxonomy, .tree ({name}), .npy (vectors), .csv (items) and .html. Try:")
    print(f"  cladify table {out}/docstrings.taxonomy --out labels.csv")
    print(f"  cladify info {out}/docstrings.tree --items {out}/docstrings.csv")
    print(f"  cladify cut {out}/docstrings.tree --n-clusters 50 --items {out}/docstrings.csv --out clusters.csv")
    print(f"  cladify plot {out}/docstrings.taxonomy --out map.png")
    _offer(out)


def _scores(methods: list[str], corpus: Docstrings) -> tuple[Any, tuple[str, Tree]]:
    """The scoreboard of the methods, and the best of them with its tree."""
    import cladify
    from cladify.errors import MissingExtra

    trees: dict[str, Tree] = {}
    times: dict[str, float] = {}
    for name in methods:
        try:
            trees[name], times[name] = _timed(name, corpus)
        except MissingExtra as error:
            _say(f"{name}: left out. {error}")
            continue
        _say(f"{name}: {seconds(times[name])}")
        if name == "hac":
            begin = perf_counter()
            trees["hac, refined"] = cladify.refine(trees["hac"], corpus.X, "cosine", "mw")
            times["hac, refined"] = times["hac"] + perf_counter() - begin
            _say(f"hac, refined: {seconds(times['hac, refined'])}")
    # Modules are the classes. The bounds of the objectives are sampled: exact ones take longer than all trees here.
    board = cladify.scoreboard(
        trees, corpus.X, corpus.module, objectives=["mw", "ckmm"], bound="sampled", columns={"seconds": times}
    )
    purity = board.columns["dendrogram purity"]
    best = max(trees, key=lambda name: purity[name])
    return board, (best, trees[best])


def _offer(out: Path) -> None:
    """The explorer: a file that opens by itself, the command, and on a terminal the question whether to start it."""
    command = f"cladify explore {out}/docstrings.taxonomy --vectors {out}/docstrings.npy"
    print(f"\nLook at the map: open {out}/docstrings.html in a browser, or explore all of it with\n  {command}")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return
    if input("Explore it now? [y/N] ").strip().lower() not in ("y", "yes"):
        return
    from cladify.cli._explore import explore

    explore(out / "docstrings.taxonomy", vectors=out / "docstrings.npy", title="NumPy, SciPy and scikit-learn")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _quick(methods: Iterable[str]) -> list[str]:
    """Those that take seconds; gradient descent takes minutes, and online methods are for streams."""
    from cladify.methods import METHODS

    return [name for name in methods if METHODS[name].family != "gradient" and not METHODS[name].online]


def _timed(name: str, corpus: Docstrings) -> tuple[Tree, float]:
    import inspect

    import cladify
    from cladify.methods import METHODS

    takes_metric = "metric" in inspect.signature(METHODS[name].load()).parameters
    params: dict[str, Any] = {"metric": "cosine"} if takes_metric else {}
    start = perf_counter()
    tree = cladify.fit(corpus.X, name, random_state=0, **params)
    return tree, perf_counter() - start


def _save(out: Path, tree: Tree, taxonomy: Taxonomy, corpus: Docstrings) -> None:
    import numpy as np
    import pyarrow as pa

    from cladify.explore import write_page
    from cladify.io import atomic_write
    from cladify.io._write import write_table

    tree.save(out / "docstrings.tree")
    taxonomy.save(out / "docstrings.taxonomy")
    write_page(taxonomy, out / "docstrings.html", title="NumPy, SciPy and scikit-learn")
    with atomic_write(out / "docstrings.npy") as file:
        np.save(file, corpus.X, allow_pickle=False)
    columns = {"name": corpus.names, "summary": corpus.summaries, "module": corpus.module, "package": corpus.package}
    write_table(out / "docstrings.csv", pa.table(columns))
