"""``cladify compare``: several methods on one data set, in one table and one chart."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cladify.cli._common import (
    AsJson,
    Quiet,
    VectorColumn,
    VectorFile,
    columns,
    print_json,
    seconds,
    show_progress,
)

if TYPE_CHECKING:
    from cladify.objectives import Scoreboard

DEFAULT = ("auto", "hac", "reciprocal", "scc", "bisect", "kmeans")


def compare(
    x: VectorFile,
    method: Annotated[
        list[str] | None,
        typer.Option("--method", "-m", help="May be given again; default: the most useful ones. See: cladify methods"),
    ] = None,
    metric: Annotated[str, typer.Option(help="For the trees and the scores: cosine, sqeuclidean, ...")] = "cosine",
    objective: Annotated[
        list[str] | None, typer.Option(help="dasgupta, mw or ckmm; may be given again. Default: what the metric fits.")
    ] = None,
    labels: Annotated[Path | None, typer.Option(help="True classes of the rows, for purity and ARI.")] = None,
    labels_column: Annotated[str | None, typer.Option(help="Column or key with the classes.")] = None,
    column: VectorColumn = None,
    timeout: Annotated[float, typer.Option(metavar="SECONDS", help="Give a method at most this long.")] = 600.0,
    random_state: Annotated[int, typer.Option("--random-state", "--seed", help="For methods that draw.")] = 0,
    n_jobs: Annotated[int, typer.Option("--n-jobs", "-j", help="Threads; -1 is all cores.")] = -1,
    chart: Annotated[Path | None, typer.Option(help="Also draw quality against time: .png .svg .pdf")] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Build the trees of several methods and compare them: time, memory, objectives, purity, ARI, balance.

    Every method runs in a process of its own, so that its memory can be told and its failure harms no other. Time and
    memory are those of the method: without imports, and beyond the vectors.

    Example: [bold]cladify compare embeddings.npy -m hac -m scc --labels classes.csv --chart compare.png[/bold]
    """
    import cladify
    from cladify.errors import InvalidInput
    from cladify.io import atomic_path, check_items, check_writable, read_labels, read_tree, read_vectors

    if chart is not None:
        check_writable(chart)
    vectors = read_vectors(x, column=columns(column))
    y = None if labels is None else read_labels(labels, labels_column)
    if y is not None:
        check_items(y, vectors.shape[0], what=f"labels in {labels}", rows=f"vectors in {x}")
    trees, times, memory = {}, {}, {}
    with TemporaryDirectory(prefix="cladify-") as folder:
        for name in dict.fromkeys(method or DEFAULT):
            file = Path(folder) / "result.tree"
            if not quiet:
                _say(f"{name} ...")
            options = {"metric": metric, "random_state": random_state, "n_jobs": n_jobs}
            request = {"method": name, "file": str(x), "column": columns(column), "options": options, "out": str(file)}
            made = _run(request, timeout)
            if "error" in made:
                _say(f"{name}: left out. {made['error']}")
                continue
            trees[name] = read_tree(file)
            times[name], memory[name] = made["seconds"], made["bytes"] / 1e6
            if not quiet:
                _say(f"{name}: {seconds(times[name])}, {memory[name]:.0f} MB")
    if not trees:
        raise InvalidInput("No method gave a tree; the lines above say why.")
    more: dict[str, dict[str, float]] = {} if y is None else {"ARI": _rand(trees, y)}
    n = vectors.shape[0]
    more["largest of 30"] = {name: _largest(tree, min(30, n)) for name, tree in trees.items()}
    board = cladify.scoreboard(
        trees,
        vectors,
        None if y is None else y,
        objectives=objective,
        metrics=metric,
        bound="sampled" if n > 300 else "auto",
        columns={**more, "seconds": times, "MB": memory},
        n_jobs=n_jobs,
        progress=show_progress(quiet or as_json),
    )
    if chart is not None:
        from cladify.plot import scores

        figure: Any = scores(board, times).figure
        with atomic_path(chart) as draft:
            figure.savefig(draft, dpi=150, format=chart.suffix[1:].lower() or "png")
    if as_json:
        print_json({"file": str(x), "methods": board.to_dict(), "chart": None if chart is None else str(chart)})
        return
    _show(board, times)
    if chart is not None:
        print(f"\nchart: {chart}")


def _run(request: dict[str, Any], timeout: float) -> dict[str, Any]:
    """What :mod:`cladify.cli._contest` says in a process of its own, or ``{"error": line}``."""
    command = [sys.executable, "-m", "cladify.cli._contest"]
    given = json.dumps(request)
    try:
        done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        return {"error": f"It took longer than {seconds(timeout)}; give it more with --timeout."}
    if done.returncode == 130:
        raise KeyboardInterrupt
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        return {"error": lines[-1] if lines else f"It ended with {done.returncode}."}
    return json.loads(done.stdout)


def _rand(trees: dict[str, Any], y: Any) -> dict[str, float]:
    """Adjusted Rand index at the number of classes, of the rows that have one."""
    import numpy as np
    from sklearn.metrics import adjusted_rand_score

    from cladify._kit.params import check_labels

    codes = check_labels(np.asarray(y), len(y))
    known = codes >= 0
    k = len(np.unique(codes[known]))
    return {
        name: float(adjusted_rand_score(codes[known], tree.cut(n_clusters=min(k, tree.n_leaves))[known]))
        for name, tree in trees.items()
    }


def _largest(tree: Any, k: int) -> float:
    """The share of the largest of k clusters: near 1 where a tree peels off outliers."""
    import numpy as np

    return float(np.bincount(tree.cut(n_clusters=k)).max() / tree.n_leaves)


def _show(board: Scoreboard, times: dict[str, float]) -> None:
    from rich.console import Console

    console = Console(highlight=False, width=None if sys.stdout.isatty() else 160)
    console.print(board)
    longest, width = max(times.values()), 40
    print()
    for name, duration in times.items():
        bar = "█" * max(1, round(width * duration / longest))
        console.print(f"{name:>14}  {bar} {seconds(duration)}", markup=False)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
