"""Draw ``docs/scalability.png``: time against the number of points, from runs on this machine.

``python docs/make_scalability.py [LARGEST]`` needs the extra ``plot``, a quiet machine and, up to a million points,
some ten minutes.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import cladify
from benchmarks.data import clustered

SIZES = [10_000, 30_000, 100_000, 300_000, 1_000_000]
#: Method -> its largest size: exact linkage grows with n².
METHODS = {
    "random-cut": 1_000_000,
    "kmeans": 1_000_000,
    "bisect": 1_000_000,
    "scc": 1_000_000,
    "affinity": 1_000_000,
    "hac": 100_000,
}


def measure(largest: int) -> dict[str, list[tuple[int, float]]]:
    X = clustered(min(largest, SIZES[-1]), 100)
    times: dict[str, list[tuple[int, float]]] = {}
    for method in METHODS:
        cladify.fit(X[:1000], method)  # imports and threads are no part of it
    for n in (n for n in SIZES if n <= largest):
        for method, most in METHODS.items():
            if n <= most:
                times.setdefault(method, []).append((n, seconds(X[:n], method)))
                print(f"{method:12} {n:9} {times[method][-1][1]:8.3f} s", flush=True)
    return times


def seconds(X: np.ndarray, method: str) -> float:
    """The median of five runs, or of as many as take a second."""
    runs: list[float] = []
    while len(runs) < 5 and sum(runs) < 1.0:
        start = time.perf_counter()
        cladify.fit(X, method, random_state=0)
        runs.append(time.perf_counter() - start)
    return float(np.median(runs))


def draw(times: dict[str, list[tuple[int, float]]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7.2, 4.4), layout="constrained")
    above = np.inf
    for method, points in sorted(times.items(), key=lambda item: -item[1][-1][1]):
        n, took = np.array(points).T
        slope = np.polyfit(np.log(n), np.log(took), 1)[0]
        (line,) = axes.loglog(n, took, marker="o", markersize=4, linewidth=1.6)
        above = min(took[-1], above / 1.5)  # labels keep apart
        axes.annotate(
            f"{method}  n^{slope:.2f}",
            (n[-1], above),
            (6, 0),
            textcoords="offset points",
            va="center",
            color=line.get_color(),
            fontsize=9,
        )
    axes.set(xlabel="points (100 dimensions, two levels of clusters)", ylabel="seconds, two cores")
    axes.set_xlim(8000, 5e6)
    axes.grid(True, which="major", color="0.9")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    draw(measure(int(sys.argv[1]) if len(sys.argv) > 1 else SIZES[-1]), Path(__file__).with_name("scalability.png"))
