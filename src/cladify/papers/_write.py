"""The figures as Markdown, and as one page with the pictures drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from html import escape
from io import StringIO
from itertools import groupby

from cladify.papers._row import PAPERS, Figure, Picture, Row, verdict

__all__ = ["markdown", "page", "share", "summary"]

_HEAD = """\
# The papers' figures

*Measured with `cladify papers {tier}`, {minutes:.0f} minutes of processor time.*

Every figure below is printed in one of the five papers. "Setting" is `paper` where the algorithm is the printed one,
`default` where it is cladify's own, and `stand-in` where other data stand in for the paper's; ± is the standard
deviation over our seeds. *Reproduced*: within the rounding of the printed figure and two standard errors of the
difference, or what other copies of the data and other samples make; of a claim in words, that it holds. *Differs*: a
property of the data that does not come out. Of the figures that were measured, {share:.0f} % are reproduced or better.
"""
_PART = """\
**Not a whole run**: {known} of the {all} rows whose data are here were measured ({papers}). The share above says
nothing of the others.
"""
_ABSENT = """\
## What has no row

- Monath, table 3.3: PERCH-BC, BIRCH that builds its tree anew, and HAC, which takes a matrix of all of ALOI. OCC, the
  distributed form of serial DP-means (figure 4.4). Tables 3.4, 3.6 and 3.7 need Rexa, ECB+ and WN18RR. Tables 4.8 to
  4.10 and figures 4.8, 4.11 to 4.18 (but 4.16) are examples from data that are not public.
- Seconds (Monath, tables 3.1, 4.3, 5.7; Charikar, table 2) were measured on other machines; those that are compared
  here are left out of `--check`.
- CovType, Speaker, ImageNet, ILSVRC, Twitter, Wikipedia, SST-2, NaBirds, EURLex, MediaMill, Wiki10, Reuters, CIFAR:
  the data are not here; `cladify papers data` says which files would be read.
"""
GOOD = ("reproduced", "better")


def share(rows: list[Row], found: dict[str, Figure]) -> float:
    """Per cent reproduced or better, of the rows that were run; those that failed count, too."""
    told = [verdict(row, found[row.key]) for row in rows]
    known = [one for one in told if one not in ("data missing", "not run", "stand-in")]
    return 100.0 * sum(one in GOOD for one in known) / max(len(known), 1)


def summary(rows: list[Row], found: dict[str, Figure]) -> Iterator[str]:
    """One line a paper."""
    for letter, title in PAPERS.items():
        count = Counter(verdict(row, found[row.key]) for row in rows if row.paper == letter)
        if count:
            told = ", ".join(f"{n} {name}" for name, n in count.most_common())
            yield f"{title.partition(':')[0]}: {told}"


def markdown(rows: list[Row], found: dict[str, Figure], tier: str) -> str:
    """A summary, then a table for each paper with the causes of what differs, then the theorems."""
    minutes = sum(found[row.key].seconds for row in rows) / 60
    parts = [
        _HEAD.format(tier=tier, share=share(rows, found), minutes=minutes),
        *_part(rows, found),
        *(f"- {line}" for line in summary(rows, found)),
        "",
    ]
    for letter, title in PAPERS.items():
        own = [row for row in rows if row.paper == letter and row.table != "theorems"]
        if not own:
            continue
        parts += [
            f"## {title}",
            "",
            "| where | figure | setting | printed | here | verdict | call |",
            "| --- " * 7 + "|",
        ]
        parts += [_line(row, found[row.key]) for row in own]
        causes = list(_causes(own, found))
        if causes:
            parts += ["", "Why some differ:", "", *causes]
        parts.append("")
    proved = [row for row in rows if row.table == "theorems"]
    if proved:
        parts += ["## Theorems", "", "| paper | statement | failures | instances of |", "| --- " * 4 + "|"]
        parts += [
            f"| {PAPERS[row.paper].partition(':')[0]} | {row.what.partition('; failures')[0]} "
            f"| {found[row.key].mean:g} of {row.what.rpartition(' ')[2]} | `{_cell(row.call)}` |"
            for row in proved
        ]
        parts.append("")
    return "\n".join([*parts, _ABSENT])


def _part(rows: list[Row], found: dict[str, Figure]) -> Iterator[str]:
    """How much was run, in all and by paper, where that is not everything."""
    told = [(row.paper, verdict(row, found[row.key])) for row in rows]
    every = Counter(paper for paper, one in told if one != "data missing")
    known = Counter(paper for paper, one in told if one not in ("data missing", "not run"))
    if known != every:
        papers = ", ".join(f"{PAPERS[p].partition(':')[0].partition(',')[0]} {known[p]} of {every[p]}" for p in every)
        yield _PART.format(known=known.total(), all=every.total(), papers=papers)


def _causes(rows: list[Row], found: dict[str, Figure]) -> Iterator[str]:
    """One line a cause, with the rows that it explains."""
    told = [
        (row, row.deviation or row.cause)
        for row in rows
        if verdict(row, found[row.key]) not in ("reproduced", "data missing", "not run", "failed", "stand-in")
    ]
    explained = sorted(((cause, row) for row, cause in told if cause), key=lambda pair: pair[0])
    for cause, group in groupby(explained, key=lambda pair: pair[0]):
        members = [row for _, row in group]
        where = ", ".join(dict.fromkeys(row.table for row in members))
        names = list(dict.fromkeys(row.what.partition(",")[0] for row in members))
        shown = ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
        yield f"- {where} ({shown}): {cause}."
    silent = [row for row, cause in told if not cause and verdict(row, found[row.key]) in ("worse", "differs")]
    if silent:
        yield "- No cause found yet: " + "; ".join(f"{row.what} ({row.table})" for row in silent) + "."


def _line(row: Row, figure: Figure) -> str:
    printed, here = _values(row, figure)
    told = verdict(row, figure)
    return f"| {row.table} | {row.what} | {row.setting} | {printed} | {_cell(here)} | {told} | `{_cell(row.call)}` |"


def _values(row: Row, figure: Figure) -> tuple[str, str]:
    """What is printed, and ours, with what was counted beside them."""
    sign = {"value": "", "at least": "≥ ", "at most": "≤ "}[row.claim]
    printed = f"{sign}{row.published:g}" + (f" ± {row.spread:g}" if row.spread else "")
    here = figure.missing or figure.failed or "–"
    if figure.values:
        spread = figure.sd if figure.sd > 1e-5 * max(1.0, abs(figure.mean)) else 0.0  # less is rounding
        here = f"{figure.mean:.4g}" + (f" ± {spread:.2g}" if row.seeds > 1 else "")
    if row.printed_counts:
        printed += f" ({_counts(row.printed_counts)})"
        here += f" ({_counts(figure.counts)})" if figure.counts else ""
    return printed, here


def _counts(counts: tuple[float, ...]) -> str:
    return " / ".join(f"{count:.0f}" for count in counts)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:1100px;margin:2em auto;padding:0 1em;color:#222;background:#fff}
table{border-collapse:collapse;font-size:13px;width:100%}
td,th{border-bottom:1px solid #ddd;padding:3px 8px;text-align:left}
.figures{display:flex;flex-wrap:wrap;gap:1em}figure{margin:0}figcaption{font-size:13px;max-width:480px}
.reproduced,.better{color:#17603b}.worse,.differs,.failed{color:#a02020}.data,.not,.algorithm,.stand-in{color:#666}
"""


def page(rows: list[Row], found: dict[str, Figure], pictures: list[Picture], drawn: dict[str, Figure]) -> str:
    """One HTML page without anything to fetch: the summary, the figures drawn, and every row."""
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>The papers\' figures</title>',
        f"<style>{_STYLE}</style></head><body><h1>The papers' figures</h1><ul>",
        *(f"<li>{escape(line)}</li>" for line in summary(rows, found)),
        "</ul>",
        *(f"<p>{escape(line.replace('**', ''))}</p>" for line in _part(rows, found)),
    ]
    for letter, title in PAPERS.items():
        own = [row for row in rows if row.paper == letter]
        if not own:
            continue
        parts.append(f"<h2>{escape(title)}</h2><div class='figures'>")
        parts += [_figure(picture, drawn[picture.key]) for picture in pictures if picture.paper == letter]
        parts.append("</div><table><tr><th>where<th>figure<th>setting<th>printed<th>here<th>verdict<th>call</tr>")
        for row in own:
            told = verdict(row, found[row.key])
            printed, here = _values(row, found[row.key])
            inner = "".join(f"<td>{escape(cell)}</td>" for cell in (row.table, row.what, row.setting, printed, here))
            call = f"<td><code>{escape(row.call)}</code></td>"
            parts.append(f"<tr>{inner}<td class='{told.partition(' ')[0]}'>{told}</td>{call}</tr>")
        parts.append("</table>")
    return "\n".join([*parts, "</body></html>"])


def _figure(picture: Picture, figure: Figure) -> str:
    if not figure.lines:
        return ""
    caption = f"{picture.table.capitalize()}. {picture.title}."
    return f"<figure>{draw(picture, figure.lines)}<figcaption>{escape(caption)}</figcaption></figure>"


def draw(picture: Picture, lines: dict[str, list[tuple[float, float]]]) -> str:
    """A figure as inline SVG."""
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(4.8, 3.2), layout="constrained")
    axes = canvas.subplots()
    for name, line in lines.items():
        x, y = [point[0] for point in line], [point[1] for point in line]
        axes.plot(x, y, "o" if picture.points else "o-", markersize=3, linewidth=1.2, label=name)
    if picture.log:
        axes.set_xscale("log")
    axes.set_xlabel(picture.across)
    axes.set_ylabel(picture.up)
    axes.grid(alpha=0.25)
    if len(lines) > 1:
        axes.legend(fontsize=7)
    text = StringIO()
    canvas.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue().partition("<svg")[1] + text.getvalue().partition("<svg")[2]
