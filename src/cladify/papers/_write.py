"""The figures as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from cladify.papers._row import PAPERS, Figure, Row, verdict

__all__ = ["markdown", "summary"]

_HEAD = """\
# The papers' figures

Every figure below is printed in one of the five papers, and comes out of one command: `cladify papers {tier}`.
"Setting" is `paper` where the algorithm is the printed one and `default` where it is cladify's own; ± is the standard
deviation over the seeds. *Reproduced*: within half a unit of the last digit printed, the printed ±, our ±, or what
other copies of the data and other samples make. *Differs*: a property of the data that does not come out.
"""


def summary(rows: list[Row], found: dict[str, Figure]) -> Iterator[str]:
    """One line a paper."""
    for letter, title in PAPERS.items():
        count = Counter(verdict(row, found[row.key]) for row in rows if row.paper == letter)
        if count:
            told = ", ".join(f"{n} {name}" for name, n in count.most_common())
            yield f"{title.partition(':')[0]}: {told}"


def markdown(rows: list[Row], found: dict[str, Figure], tier: str) -> str:
    """The page: a summary, then a table for each paper, then the causes of what is worse."""
    parts = [_HEAD.format(tier=tier), *(f"- {line}" for line in summary(rows, found)), ""]
    for letter, title in PAPERS.items():
        own = [row for row in rows if row.paper == letter]
        if not own:
            continue
        parts += [
            f"## {title}",
            "",
            "| where | figure | setting | printed | here | verdict | call |",
            "| --- " * 7 + "|",
        ]
        parts += [_line(row, found[row.key]) for row in own]
        causes = dict.fromkeys(
            f"- {row.what.partition(',')[0]} ({row.table}): {row.cause}."
            for row in own
            if row.cause and verdict(row, found[row.key]) in ("worse", "differs", "better")
        )
        if causes:
            parts += ["", "Why some differ:", "", *causes]
        parts.append("")
    return "\n".join(parts)


def _line(row: Row, figure: Figure) -> str:
    printed = f"{row.published:g}" + (f" ± {row.spread:g}" if row.spread else "")
    here = figure.missing or f"{figure.mean:.4g}" + (f" ± {figure.sd:.2g}" if row.seeds > 1 else "")
    call = row.call.replace("|", "\\|")
    return f"| {row.table} | {row.what} | {row.setting} | {printed} | {here} | {verdict(row, figure)} | `{call}` |"
