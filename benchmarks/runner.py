"""Runs a case: data made once, every contestant in a process of its own, the repeats interleaved.

Interleaving (round 1 of everybody, then round 2, …) makes a slow spell of the machine hit all contestants alike, so
that ratios stay honest on a busy one.
"""

from __future__ import annotations

import json
import select
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.case import Case, Contestant

ROOT = Path(__file__).resolve().parent.parent
STARTUP_SECONDS = 600.0


class Worker:
    """A child process that answers one command at a time."""

    def __init__(self, role: str, case: Case, folder: Path, rest: str) -> None:
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115 (closed with the worker)
        command = [sys.executable, "-m", "benchmarks.worker", role, case.name, str(folder), rest]
        self._child = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, text=True
        )

    def ask(self, command: str | None, timeout: float) -> dict[str, Any]:
        """Send a command (None: only listen) and wait for its answer."""
        child = self._child
        assert child.stdin is not None and child.stdout is not None
        try:
            if command is not None:
                child.stdin.write(command + "\n")
                child.stdin.flush()
            if not select.select([child.stdout], [], [], timeout)[0]:
                self.close()
                return {"error": f"took over {timeout:g} s"}
            line = child.stdout.readline()
        except BrokenPipeError:
            line = ""
        return json.loads(line) if line else {"error": self._last_words()}

    def _last_words(self) -> str:
        code = self._child.wait()
        self._log.seek(0)
        lines = [line.strip() for line in self._log.read().splitlines() if line.strip()]
        return f"process ended with code {code}" + (f": {lines[-1]}" if lines else "")

    def close(self) -> None:
        self._child.kill()
        self._child.wait()
        for stream in (self._child.stdin, self._child.stdout, self._log):
            if stream is not None:
                stream.close()


@contextmanager
def _worker(role: str, case: Case, folder: Path, rest: str) -> Iterator[Worker]:
    worker = Worker(role, case, folder, rest)
    try:
        yield worker
    finally:
        worker.close()


def run_case(
    case: Case, *, long: bool = False, repeat: int | None = None, say: Callable[[str], Any] = print
) -> dict[str, Any]:
    """All figures of one case, as plain data for the report."""
    sizes = case.sizes(long)
    outcome: dict[str, Any] = {"case": case.name, "about": case.about, "sizes": sizes, "contestants": {}}
    with tempfile.TemporaryDirectory(prefix="cladify-bench-") as name:
        folder = Path(name)
        say(f"{case.name}: preparing data")
        with _worker("prepare", case, folder, json.dumps(sizes)) as worker:
            ready = worker.ask(None, STARTUP_SECONDS)
        if "ready" not in ready:
            outcome["skipped"] = ready.get("missing") or ready["error"]
            return outcome
        kept: dict[str, Worker] = {}
        try:
            for turn in range(repeat or case.repeat):
                for contestant in case.contestants.values():
                    record = outcome["contestants"].setdefault(contestant.name, {"runs": []})
                    if "error" in record or "missing" in record:
                        continue
                    say(f"{case.name}: {contestant.name}, run {turn + 1}")
                    _one_run(case, contestant, folder, turn, sizes, kept, record)
        finally:
            for worker in kept.values():
                worker.close()
    return outcome


def _one_run(
    case: Case,
    contestant: Contestant,
    folder: Path,
    turn: int,
    sizes: dict[str, Any],
    kept: dict[str, Worker],
    record: dict[str, Any],
) -> None:
    if contestant.max_n is not None and sizes.get("n", 0) > contestant.max_n:
        record["missing"] = f"not run above n = {contestant.max_n}"
        return
    worker = kept.get(contestant.name)
    if worker is None:
        worker = Worker("contest", case, folder, contestant.name)
        answer = worker.ask(None, STARTUP_SECONDS)
        if "ready" in answer and contestant.warm_up:
            kept[contestant.name] = worker
            answer = worker.ask("warm_up", STARTUP_SECONDS)
            record["warm_up_seconds"] = answer.get("warm_up_seconds")
        if "missing" in answer or "error" in answer:
            record.update(answer)
            worker.close()
            return
    answer = worker.ask("run" if turn else "run_with_quality", case.timeout)
    if "missing" in answer or "error" in answer:
        record.update(answer)
    else:
        record["quality"] = answer.pop("quality", None) or record.get("quality", {})
        record["runs"].append(answer)
    if contestant.name not in kept:
        worker.close()
