"""The report as one page: tables and plots as inline SVG, nothing loaded from elsewhere, everything escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from cladify._kit.text import printable

if TYPE_CHECKING:
    from cladify.taxonomy._report.report import Report

__all__ = ["html_page"]

_MOST_ROWS = 500
_STYLE = (
    "body{font:15px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color:#1b2733}"
    "table{border-collapse:collapse;margin:.5rem 0 1.5rem}td,th{padding:.2rem .6rem;border-bottom:1px solid #dde3e8;"
    "text-align:left;vertical-align:top}td.n{text-align:right;font-variant-numeric:tabular-nums}"
    "td.n{white-space:nowrap}"
    "figure{display:inline-block;margin:0 1.5rem 1rem 0;vertical-align:bottom}figcaption{color:#51606e;font-size:13px}"
    "svg{max-width:100%}text{fill:currentColor}.all{overflow-x:auto}"
    "@media(prefers-color-scheme:dark){body{background:#14191f;color:#dfe6ec}td,th{border-color:#313b45}"
    "figcaption{color:#9fb0bf}}"
)
_TITLES = {
    "score": "score",
    "cohesion": "cohesion",
    "neighbors": "neighbours inside",
    "confusion": "neighbours in siblings",
    "stability": "found again",
    "coherence": "coherence of terms",
    "name_items": "name → items",
    "duplicates": "repeated items",
    "n_items": "items",
    "n_groups": "groups",
    "n_flagged": "groups of odd size",
    "n_measured": "items measured",
}
_MEANINGS = {
    "score": "to compare taxonomies of the same items by: near items that share a group, beyond chance; 1 is best",
    "cohesion": "how much closer items of a group are than all items; 0 is no closer",
    "neighbors": "share of an item's ten nearest that are in its group",
    "confusion": "share of them that are in groups beside it",
    "stability": "how well groups are found again in trees of random halves of the items",
    "coherence": "whether the terms of a group occur together (NPMI, -1 to 1)",
    "name_items": "share of items that are nearer to their group's name than to the names beside it",
    "duplicates": "share of a group's items that repeat another one of it",
    "n_flagged": "too large, too small, or the only group in the one above",
}


def html_page(report: Report) -> str:
    """The page of a report."""
    groups = report.arrow_groups.to_pylist()
    overall = [[_TITLES[key], value, _MEANINGS.get(key, "")] for key, value in report.overall.items()]
    parts = [
        "<!doctype html><html lang=en><head><meta charset=utf-8><title>Report on a taxonomy</title>"
        "<meta name=viewport content='width=device-width'>"
        "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<style>{_STYLE}</style></head><body><h1>Report on a taxonomy</h1>",
        _table(["", "all groups", "what it says"], overall),
    ]
    if report.overall["n_measured"] != report.overall["n_items"]:
        parts.append(f"<p>Measured on a sample of {report.overall['n_measured']} items.</p>")
    if report.look_first:
        rows = [[look.name, look.node, "; ".join(look.reasons)] for look in report.look_first]
        parts += ["<h2>Look at these first</h2>", _table(["group", "node", "why"], rows)]
    parts += ["<h2>Groups in pictures</h2>", _plots(groups)]
    found = report.agreement
    if found is not None:
        levels = [[a.n_clusters, a.purity, a.ari, a.ami] for a in found.levels]
        parts += ["<h2>Agreement with labels</h2>", _table(["clusters", "purity", "ARI", "AMI"], levels)]
        rows = [[name, *counts] for name, counts in zip(found.groups, found.crosstab, strict=True)]
        parts.append(_table(["group", *found.labels], rows))
    columns = ["name", "node", "size", *(key for key in _TITLES if key in groups[0]), "rival", "flags"]
    parts += [
        "<h2>All groups</h2>",
        f"<p>The largest {_MOST_ROWS} of {len(groups)}.</p>" if len(groups) > _MOST_ROWS else "",
        _table(
            [_TITLES.get(key, key) for key in columns],
            [[group[key] for key in columns] for group in groups[:_MOST_ROWS]],
        ),
        "</body></html>",
    ]
    return "\n".join(parts)


def _table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    head = "".join(f"<th scope=col>{_text(title)}</th>" for title in header)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f"<div class=all><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"<td class=n>{value:.3f}</td>"
    return f"<td class=n>{value}</td>" if isinstance(value, int) else f"<td>{_text(value)}</td>"


def _text(value: Any) -> str:
    return "" if value is None else escape(printable(value), quote=True)


def _plots(groups: list[dict[str, Any]]) -> str:
    below = [group for group in groups if group["depth"] > 0]
    top = [group for group in below if group["depth"] == 1][:20]
    figures = [_bars(top)] if top else []
    for key in ("neighbors", "stability", "name_items"):
        values = [group[key] for group in below if group[key] is not None]
        if values:
            figures.append(_histogram(values, _TITLES[key]))
    return "".join(figures)


def _bars(groups: list[dict[str, Any]]) -> str:
    """Sizes of the groups at the top."""
    largest = max(group["size"] for group in groups)
    rows = []
    for i, group in enumerate(groups):
        width = 260 * group["size"] / largest
        name = _text(group["name"][:40])
        rows.append(
            f"<rect x=0 y={18 * i} width={width:.1f} height=14 fill=#7aa6c2 />"
            f"<text x={width + 6:.1f} y={18 * i + 11} font-size=11>{name} · {group['size']}</text>"
        )
    height = 18 * len(groups)
    return _figure(f"<svg width=560 height={height} role=img>{''.join(rows)}</svg>", "items of the groups at the top")


def _histogram(values: list[float], title: str) -> str:
    counts, _ = np.histogram(np.clip(values, 0, 1), bins=10, range=(0, 1))
    largest = max(int(counts.max()), 1)
    bars = "".join(
        f"<rect x={22 * i} y={100 - 90 * count / largest:.1f} width=20 height={90 * count / largest:.1f} fill=#c28f7a>"
        f"<title>{i / 10:.1f} to {(i + 1) / 10:.1f}: {count}</title></rect>"
        for i, count in enumerate(counts.tolist())
    )
    axis = (
        "<text x=0 y=114 font-size=11>0</text><text x=212 y=114 font-size=11>1</text>"
        f"<text x={22 * int(counts.argmax()) + 10} y=8 font-size=10 text-anchor=middle>{largest}</text>"
    )
    return _figure(f"<svg width=222 height=118 role=img>{bars}{axis}</svg>", f"groups by {title}")


def _figure(svg: str, caption: str) -> str:
    return f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>"
