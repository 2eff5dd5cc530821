"""One method of ``cladify compare`` in its own process: ``python -m cladify.cli._contest`` with a request on stdin.

The clock and the memory count the method alone. Modules are imported and code is warm before, from a fit of a few rows;
the memory is what the fit takes beyond the vectors and the interpreter.
"""

from __future__ import annotations

import contextlib
import gc
import json
import sys
from time import perf_counter
from typing import Any

from cladify._kit.system import peak_memory
from cladify.errors import CladifyError

_WARM_UP = 64  # rows


def contest(request: dict[str, Any]) -> dict[str, Any]:
    """Fit what is asked for, write the tree, and tell seconds and bytes; ``{"error": line}`` where that fails."""
    from cladify._fit import fit_model
    from cladify.errors import InvalidInput
    from cladify.io import read_vectors, write_tree
    from cladify.methods import find_method

    method, options = request["method"], request["options"]
    try:
        if method != "auto" and find_method(method).result == "dag":
            raise InvalidInput(f"{method} gives clusters that overlap, which are no tree to compare.")
        vectors = read_vectors(request["file"], column=request["column"])
        with contextlib.suppress(CladifyError):  # what is wrong will be said about all rows
            fit_model(vectors[:_WARM_UP], method, **options)
        gc.collect()
        _forget_peak()
        before, start = _peak(), perf_counter()
        tree, _ = fit_model(vectors, method, **options)
        found = {"seconds": perf_counter() - start, "bytes": max(0, _peak() - before)}
        write_tree(tree, request["out"], None)
        return found
    except (CladifyError, MemoryError) as error:
        return {"error": " ".join(str(error).split()) or "out of memory"}


def _forget_peak() -> None:
    """Linux can begin to count the highest use of memory anew; elsewhere the reading of the file counts, too."""
    with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def _peak() -> int:
    """The most memory since :func:`_forget_peak`, in bytes."""
    try:
        with open("/proc/self/status") as lines:
            return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        return peak_memory()


if __name__ == "__main__":
    print(json.dumps(contest(json.load(sys.stdin))))
