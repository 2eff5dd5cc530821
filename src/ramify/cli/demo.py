"""``ramify demo``: the documentation of NumPy, SciPy and scikit-learn as a tree, with a scoreboard of the methods."""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ramify.cli._common import AsJson, count, print_json, seconds

if TYPE_CHECKING:
    from ramify.datasets import Docstrings
    from ramify.tree import Tree


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the tree, the vectors and the items.")] = Path(
        "out"
    ),
    branches: Annotated[int, typer.Option(help="Branches of the printed outline.", min=1)] = 40,
    method: Annotated[
        list[str] | None, typer.Option("--method", "-m", help="Only these methods; may be given again.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Cluster the documentation of NumPy, SciPy and scikit-learn as found on this machine.

    Every public function and class is a leaf; its docstring, as TF-IDF and SVD, is its vector; the path of its module
    is the hierarchy it truly belongs to, so that trees can be scored.
    """
    from rich.console import Console

    import ramify
    from ramify.auto import METHODS
    from ramify.datasets import load_docstrings
    from ramify.errors import FileError, MissingExtra
    from ramify.io import check_writable
    from ramify.validate import check_choice

    methods = [check_choice("method", name, list(METHODS)) for name in method or METHODS]
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
    trees, times = {}, {}
    for name in methods:
        try:
            trees[name], times[name] = _timed(name, corpus)
        except MissingExtra as error:
            _say(f"{name}: left out. {error}")
            continue
        _say(f"{name}: {seconds(times[name])}")
        if name == "hac":
            begin = perf_counter()
            trees["hac, refined"] = ramify.refine(trees["hac"], corpus.X, "cosine", "mw")
            times["hac, refined"] = times["hac"] + perf_counter() - begin
            _say(f"hac, refined: {seconds(times['hac, refined'])}")
    # Modules are the classes. The bounds of the objectives are sampled: exact ones take longer than all trees here.
    board = ramify.scoreboard(
        trees, corpus.X, corpus.module, objectives=["mw", "ckmm"], bound="sampled", columns={"seconds": times}
    )
    purity = board.columns["dendrogram purity"]
    best = max(trees, key=lambda name: purity[name])
    _save(out, trees[best], corpus)
    if as_json:
        files = sorted(str(file) for file in out.glob("docstrings.*"))
        print_json({"n": n, "d": d, "scoreboard": board.to_dict(), "best": best, "files": files})
        return
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 160)
    console.print()
    console.print(board)
    print(f"\nThe tree of {best}, with the words that set each branch apart and the module most of it comes from:\n")
    console.print(_outline(trees[best], corpus, branches))
    print(f"\nSaved in {out}: docstrings.tree, .npy (vectors) and .csv (items). Try:")
    print(f"  ramify info {out}/docstrings.tree --items {out}/docstrings.csv")
    print(f"  ramify cut {out}/docstrings.tree --n-clusters 50 --items {out}/docstrings.csv --out clusters.csv")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _timed(name: str, corpus: Docstrings) -> tuple[Tree, float]:
    import inspect

    import ramify
    from ramify.auto import METHODS

    takes_metric = "metric" in inspect.signature(getattr(ramify, METHODS[name])).parameters
    params: dict[str, Any] = {"metric": "cosine"} if takes_metric else {}
    start = perf_counter()
    tree = ramify.fit(corpus.X, name, random_state=0, **params)
    return tree, perf_counter() - start


def _save(out: Path, tree: Tree, corpus: Docstrings) -> None:
    import numpy as np
    import pyarrow as pa
    from pyarrow import csv

    from ramify.io import atomic_path, atomic_write

    tree.save(out / "docstrings.tree")
    with atomic_write(out / "docstrings.npy") as file:
        np.save(file, corpus.X, allow_pickle=False)
    columns = {"name": corpus.names, "summary": corpus.summaries, "module": corpus.module, "package": corpus.package}
    with atomic_path(out / "docstrings.csv") as draft:
        csv.write_csv(pa.table(columns), draft)


def _outline(tree: Tree, corpus: Docstrings, branches: int) -> Any:
    """Two levels of the tree, as deep as a person reads: groups, and the branches in them."""
    from rich.text import Text
    from rich.tree import Tree as Outline

    from ramify.datasets.describe import describe_groups

    def line(group: Any) -> Text:
        text = Text(", ".join(group.terms), style="bold" if group.parts else "")
        text.append(f"  {count(group.size, 'docstring')}, {group.home} {group.share:.0%}", style="cyan")
        if not group.parts:
            text.append(f"\n{' · '.join(group.examples)}", style="dim")
        return text

    outline = Outline(Text(count(tree.n_leaves, "docstring"), style="bold"))
    groups, beside = describe_groups(tree, corpus, n_groups=max(1, branches // 4), n_branches=branches)
    for group in groups:
        node = outline.add(line(group))
        for part in group.parts:
            node.add(line(part))
    if beside:
        node = outline.add(
            Text(f"{count(len(beside), 'smaller branch', 'smaller branches')} beside them", style="bold")
        )
        for group in beside[:branches]:
            node.add(line(group))
    return outline
