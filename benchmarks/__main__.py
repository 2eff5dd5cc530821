"""``python -m benchmarks [case ...]``: run cases and report."""

from __future__ import annotations

import argparse
import json
import sys
from fnmatch import fnmatch
from pathlib import Path

from benchmarks.case import load_cases
from benchmarks.report import machine, markdown, summarise
from benchmarks.runner import run_case


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("case", nargs="*", help="case names; * and ? match; default: all")
    parser.add_argument("--list", action="store_true", help="list the cases and stop")
    parser.add_argument("--repeat", type=int, help="rounds; default: the case's own, mostly 3")
    parser.add_argument("--long", action="store_true", help="the long sizes")
    parser.add_argument("--only", help="comma-separated contestants to run, ours first")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results", help="folder of the reports")
    options = parser.parse_args()
    cases = load_cases()
    wanted = options.case or list(cases)
    for pattern in wanted:
        if not any(fnmatch(name, pattern) for name in cases):
            parser.error(f"no case is called {pattern!r}; known: {', '.join(cases)}")
    chosen = [case for name, case in cases.items() if any(fnmatch(name, pattern) for pattern in wanted)]
    if options.list:
        for case in chosen:
            print(f"{case.name:28} {', '.join(case.contestants)}\n{'':28} {case.about}")
        return 0
    options.out.mkdir(parents=True, exist_ok=True)
    for case in chosen:
        if options.only:
            names = options.only.split(",")
            case.contestants = {name: case.contestants[name] for name in names if name in case.contestants}
        host = machine()
        outcome = summarise(
            run_case(case, long=options.long, repeat=options.repeat, say=lambda line: print(line, file=sys.stderr))
        )
        table = markdown(outcome, host)
        print(table, flush=True)
        stem = options.out / (case.name + ("-long" if options.long else ""))
        stem.with_suffix(".json").write_text(json.dumps({"machine": host, **outcome}, indent=1) + "\n")
        stem.with_suffix(".md").write_text(table)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
