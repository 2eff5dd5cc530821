"""From raw runs to medians, spreads and ratios; as a Markdown table and as JSON."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any

PACKAGES = [
    "cladify",
    "numpy",
    "scipy",
    "scikit-learn",
    "fastcluster",
    "faiss-cpu",
    "hnswlib",
    "usearch",
    "pynndescent",
    "higra",
    "genieclust",
    "hdbscan",
    "fast-hdbscan",
    "torch",
]


def summarise(outcome: dict[str, Any]) -> dict[str, Any]:
    """Add median, spread, peak memory and ratios (to the first contestant, round by round) to each contestant."""
    records = outcome["contestants"]
    ours = next(iter(records.values()), {"runs": []})
    for record in records.values():
        runs = record["runs"]
        if not runs:
            continue
        seconds = [run["seconds"] for run in runs]
        record["median_seconds"] = median(seconds)
        record["min_seconds"], record["max_seconds"] = min(seconds), max(seconds)
        record["cores"] = median(run["cpu_seconds"] / max(run["seconds"], 1e-9) for run in runs)
        record["peak_bytes"] = median(run["peak_bytes"] for run in runs)
        if ours["runs"]:
            pairs = list(zip(runs, ours["runs"], strict=False))
            record["time_ratio"] = median(theirs["seconds"] / max(own["seconds"], 1e-9) for theirs, own in pairs)
            record["memory_ratio"] = record["peak_bytes"] / max(ours["peak_bytes"], 1)
    return outcome


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "load_before": round(os.getloadavg()[0], 2),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
        "commit": _commit(),
        "versions": versions,
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as lines:
            return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _commit() -> str:
    git = ["git", "-C", str(Path(__file__).resolve().parent)]
    try:
        commit = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
        changed = subprocess.run([*git, "status", "--porcelain", "-uno"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return commit.stdout.strip() + ("+changes" if changed.stdout.strip() else "")


def markdown(outcome: dict[str, Any], host: dict[str, Any]) -> str:
    """The table of one case."""
    sizes = ", ".join(f"{name} = {_thousands(value)}" for name, value in outcome["sizes"].items())
    lines = [f"## {outcome['case']}", "", outcome["about"] + (f" ({sizes})" if sizes else ""), ""]
    if "skipped" in outcome:
        return "\n".join([*lines, f"Skipped: {outcome['skipped']}", ""])
    records = outcome["contestants"]
    first = next(iter(records))
    qualities = list(dict.fromkeys(name for record in records.values() for name in record.get("quality", {})))
    head = [
        "contestant",
        "median s",
        "min–max s",
        "cores",
        f"time ÷ {first}",
        "peak MB",
        f"memory ÷ {first}",
        *qualities,
    ]
    rows = [head, ["---", *["---:"] * (len(head) - 1)]]
    notes = []
    for name, record in records.items():
        if record.get("missing") or record.get("error"):
            notes.append(f"- {name}: {record.get('missing') or record['error']}")
        if record.get("warm_up_seconds"):
            notes.append(f"- {name}: {record['warm_up_seconds']:.1f} s of warm-up not counted")
        if not record["runs"]:
            rows.append([name, *["–"] * (len(head) - 1)])
            continue
        rows.append(
            [
                name,
                _digits(record["median_seconds"]),
                f"{_digits(record['min_seconds'])}–{_digits(record['max_seconds'])}",
                f"{record['cores']:.1f}",
                _digits(record["time_ratio"]) if "time_ratio" in record else "–",
                f"{record['peak_bytes'] / 1e6:.0f}",
                _digits(record["memory_ratio"]) if "memory_ratio" in record else "–",
                *(_digits(record["quality"][q]) if q in record["quality"] else "–" for q in qualities),
            ]
        )
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    lines += [*([""] if notes else []), *notes, "", _host_line(host), ""]
    return "\n".join(lines)


def _host_line(host: dict[str, Any]) -> str:
    memory = f"{host['memory_bytes'] / 1e9:.0f} GB"
    return (
        f"{host['processor']}, {host['cores']} cores, {memory}, load {host['load_before']} before; "
        f"Python {host['python']}, commit {host['commit']}, {host['when']}"
    )


def _digits(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def _thousands(value: Any) -> str:
    return f"{value:,}".replace(",", " ") if isinstance(value, int) else str(value)
