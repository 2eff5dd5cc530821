"""The process that does the work: one contestant, alone, so that its memory is its own.

``python -m benchmarks.worker prepare|contest CASE FOLDER ...`` reads commands from stdin, one a line, and answers each
with a line of JSON. Whatever libraries print goes to stderr, out of the way of the answers.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.case import Case, Contestant, call, load_cases
from benchmarks.data import DataMissing


def save(folder: Path, values: dict[str, Any]) -> None:
    from scipy.sparse import issparse, save_npz

    numbers = {}
    for name, value in values.items():
        if issparse(value):
            save_npz(folder / f"{name}.npz", value, compressed=False)
        elif isinstance(value, np.ndarray):
            np.save(folder / f"{name}.npy", value, allow_pickle=False)
        else:
            numbers[name] = value
    (folder / "numbers.json").write_text(json.dumps(numbers))


def load(folder: Path) -> dict[str, Any]:
    values = json.loads((folder / "numbers.json").read_text())
    for path in sorted(folder.iterdir()):
        if path.suffix == ".npy":
            values[path.stem] = np.load(path, allow_pickle=False)
        elif path.suffix == ".npz":
            from scipy.sparse import load_npz

            values[path.stem] = load_npz(path)
    return values


def peak_memory() -> int:
    """High-water mark of this process's resident memory, in bytes.

    Linux's VmHWM can be reset; ``ru_maxrss`` cannot, and starts at what the *parent* had, so it is only the fallback.
    """
    try:
        with open("/proc/self/status") as lines:
            return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        unit = 1 if sys.platform == "darwin" else 1024
        return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def reset_peak_memory() -> None:
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        pass


def measure(case: Case, contestant: Contestant, data: dict[str, Any], with_quality: bool) -> dict[str, Any]:
    gc.collect()
    reset_peak_memory()
    before = peak_memory()
    start, cpu = time.perf_counter(), time.process_time()
    result = call(contestant.run, **data)
    answer: dict[str, Any] = {
        "seconds": time.perf_counter() - start,
        "cpu_seconds": time.process_time() - cpu,
    }
    answer["peak_bytes"] = max(0, peak_memory() - before)
    if with_quality:
        answer["quality"] = {name: float(call(f, result=result, **data)) for name, f in case.qualities.items()}
    return answer


def contest(case: Case, contestant: Contestant, folder: Path) -> Callable[[str], dict[str, Any]]:
    for module in contestant.needs:
        import_module(module)
    data = load(folder)

    def answer(command: str) -> dict[str, Any]:
        if command == "warm_up":
            start = time.perf_counter()
            call(contestant.run, **data)
            return {"warm_up_seconds": time.perf_counter() - start}
        return measure(case, contestant, data, with_quality=command == "run_with_quality")

    return answer


def main(role: str, name: str, folder: str, rest: str) -> None:
    """``rest`` is the sizes as JSON for ``prepare`` and the contestant's name for ``contest``."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def say(answer: dict[str, Any]) -> None:
        print(json.dumps(answer), file=answers, flush=True)

    case = load_cases()[name]
    try:
        if role == "prepare":
            sizes = json.loads(rest)
            save(Path(folder), {**sizes, **call(case.make, **sizes)})
            return say({"ready": True})
        answer = contest(case, case.contestants[rest], Path(folder))
        say({"ready": True})
        for line in sys.stdin:
            say(answer(line.strip()))
    except (ImportError, DataMissing) as error:
        say({"missing": f"{error}"})
    except Exception as error:
        say({"error": f"{type(error).__name__}: {error}".splitlines()[0]})


if __name__ == "__main__":
    main(*sys.argv[1:])
