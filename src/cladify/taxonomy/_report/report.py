"""`Report`: how good a taxonomy is, group by group and in all."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cladify._kit.atomic import atomic_write
from cladify.taxonomy._names.names import ITEM_MARK
from cladify.taxonomy._names.words import as_strings
from cladify.taxonomy._read.levels import labels_of
from cladify.taxonomy._read.snapshot import Snapshot
from cladify.taxonomy._read.table import as_form
from cladify.taxonomy._report.labels import Agreement, agreement
from cladify.taxonomy._report.measures import (
    EmbeddedRows,
    Neighbors,
    coherence,
    duplicates,
    name_to_items,
    neighbors_inside,
    ranked_agreement,
    spread_rows,
    stability,
)
from cladify.taxonomy._report.page import html_page
from cladify.text._terms import count_terms

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["LookFirst", "Report", "make_report"]

#: Items that are measured at most, rows of a tree that is built again, and groups to look at first.
_MOST = 5000
_RESAMPLED = 1500
_N_FIRST = 10
_N_KEYWORDS = 5
#: A group is too large with this share of the group around it.
_LARGE = 0.6


class LookFirst(NamedTuple):
    """A group to look at, with the reasons, the weightiest first."""

    node: int
    name: str
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Report:
    """How good a taxonomy is; made by :meth:`cladify.Taxonomy.report`.

    Attributes
    ----------
    overall : dict
        ``score`` (0 to 1, the figure to compare taxonomies of the same items by) and the means of the columns of
        :attr:`groups` over groups, by their sizes; ``n_items``, ``n_groups``, ``n_measured``.
    look_first : list of LookFirst
        Up to ten groups that most need a person.
    agreement : Agreement or None
        With labels: purity, ARI and AMI of each level, and a crosstab.
    arrow_groups : pyarrow.Table
        One row a group; :attr:`groups` as a pandas frame where pandas is installed.
    """

    overall: dict[str, float | int | None]
    look_first: list[LookFirst]
    agreement: Agreement | None
    arrow_groups: pa.Table = field(repr=False)

    @property
    def groups(self) -> Any:
        """One row a group, the largest first: node, name, size and its measures; missing where one cannot be told."""
        return as_form(self.arrow_groups, "auto")

    def to_dict(self) -> dict[str, Any]:
        """In plain values."""
        return {
            "overall": self.overall,
            "look_first": [{**look._asdict(), "reasons": list(look.reasons)} for look in self.look_first],
            "labels": None if self.agreement is None else self.agreement.to_dict(),
            "groups": self.arrow_groups.to_pylist(),
        }

    def to_json(self) -> str:
        """As JSON text."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    def save_html(self, path: str | os.PathLike[str]) -> None:
        """Write one self-contained page with plots."""
        with atomic_write(path, "w", encoding="utf-8") as file:
            file.write(html_page(self))

    def summary(self) -> str:
        """The figures and the groups to look at first, as text."""
        figures = [f"{key:14} {_shown(value)}" for key, value in self.overall.items()]
        looks = [f"  {look.name} ({look.node}): {'; '.join(look.reasons)}" for look in self.look_first]
        found = [] if self.agreement is None else ["", *self.agreement.lines()]
        return "\n".join([*figures, *found, *(["", "look first:", *looks] if looks else [])])


def _shown(value: float | int | None) -> str:
    return "-" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)


def make_report(
    now: Snapshot,
    X: np.ndarray | EmbeddedRows | None,
    metric: str,
    *,
    texts: list[str] | None,
    labels: Sequence[Any] | None,
    resamples: int,
) -> Report:
    """The report on a state of a taxonomy; ``X`` may be missing."""
    import pyarrow as pa

    tree, n = now.tree, now.n_items
    nodes = np.arange(n, tree.n_nodes)
    names = now.names
    rows = spread_rows(tree, _MOST)
    sample = (
        [texts[i] for i in rows] if texts is not None else as_strings(now.facts.items.take(pa.array(rows))).to_pylist()
    )
    unknown = np.full(len(nodes), np.nan)
    inside, beside, rival, stable = unknown, unknown, np.full(len(nodes), -1), unknown
    if X is not None and n > 2:
        inside, beside, rival = neighbors_inside(tree, Neighbors(X, rows, tree, metric))
        if resamples and n >= 20:
            stable = stability(tree, X, metric, resamples=resamples, most=_RESAMPLED)
    has_texts = texts is not None or now.facts.has_items
    measures = {
        "cohesion": np.array([_number(now.cohesion(int(v))) for v in nodes]),
        "neighbors": inside,
        "confusion": beside,
        "stability": stable,
        "coherence": unknown,
        "name_items": unknown,
        "duplicates": unknown,
    }
    if has_texts and n > 1:
        words = [[keyword.term for keyword in now.keyword_table(int(v))[:_N_KEYWORDS]] for v in nodes]
        measures["coherence"] = coherence(count_terms(sample), words)
        measures["name_items"] = name_to_items(tree, names, rows, sample)
        measures["duplicates"] = duplicates(tree, _codes(now, texts))
    # The share that would be there by chance is taken off, so that large groups are not better for their size.
    chance = tree.size[n:] / n
    apart = np.where(chance < 1, (inside - chance) / np.maximum(1 - chance, 1e-9), np.nan)
    shape = [_shape(now, int(v)) for v in nodes]
    below = nodes != tree.root
    overall: dict[str, float | int | None] = {"score": _score(now, apart, X, metric)}
    for name, values in measures.items():
        overall[name] = _mean(values[below], tree.size[n:][below])
    flagged = sum(bool(flags) for flags in shape)
    overall |= {"n_items": n, "n_groups": len(nodes) - 1, "n_flagged": flagged, "n_measured": len(rows)}
    table = {
        "node": nodes,
        "name": [names[int(v)] for v in nodes],
        "size": tree.size[n:],
        "depth": tree.node_depth[n:],
        **{name: pa.array(values, from_pandas=True) for name, values in measures.items()},
        "rival": [names[int(u)] if u >= n else None for u in rival],
        "flags": [", ".join(flags) for flags in shape],
    }
    order = np.argsort(-tree.size[n:], kind="stable")
    found = [_reasons(v - n, measures, shape, rival, names, now) for v in nodes[:-1].tolist()]
    weight = [sum(w for w, _ in reasons) * np.log(2 + tree.size[n + i]) for i, reasons in enumerate(found)]
    worst = [i for i in np.argsort(-np.array(weight), kind="stable")[:_N_FIRST].tolist() if found[i]]
    looks = [LookFirst(n + i, names[n + i], tuple(text for _, text in sorted(found[i], reverse=True))) for i in worst]
    with_labels = None if labels is None else agreement(now, labels)
    return Report(overall, looks, with_labels, pa.table(table).take(pa.array(order)))


def _number(value: float | None) -> float:
    return np.nan if value is None else value


def _mean(values: np.ndarray, weights: np.ndarray) -> float | None:
    known = np.isfinite(values)
    return float(np.average(values[known], weights=weights[known])) if known.any() else None


def _score(now: Snapshot, apart: np.ndarray, X: np.ndarray | EmbeddedRows | None, metric: str) -> float | None:
    """Mean over the levels of how many near items share an item's group, beyond chance; else the mean confidence.

    Near are the ten nearest, and as many as the group has: the first tell whether borders run where items are few,
    the second whether a group is all of what is near.
    """
    tree, n = now.tree, now.n_items
    levels = [level for level in now.levels if any(v >= n for v in level.nodes)]
    labels = [labels_of(tree, level.nodes) for level in levels]
    ranked = [np.nan] * len(levels) if X is None or n <= 2 else ranked_agreement(X, tree, metric, labels)
    scores = []
    for level, own, by_rank in zip(levels, labels, ranked, strict=True):
        nodes = np.array([v for v in level.nodes if v >= n])
        value = _mean(apart[nodes - n], tree.size[nodes])
        if value is not None:
            scores.append(value if np.isnan(by_rank) else (value + by_rank) / 2)
        elif (own >= 0).all():
            confidence = now.confidence(np.array(level.nodes)[own])
            scores += [float(confidence.mean())] if np.isfinite(confidence).all() else []
    return float(np.mean(scores)) if scores else None


def _codes(now: Snapshot, texts: list[str] | None) -> np.ndarray:
    """A number for each item, the same for equal ones."""
    items = as_strings(now.facts.items if texts is None else texts)
    return items.dictionary_encode().indices.to_numpy().astype(np.int64)


def _shape(now: Snapshot, v: int) -> list[str]:
    tree, n = now.tree, now.n_items
    if v == tree.root:
        return []
    flags = []
    parent = int(tree.parent[v])
    siblings = tree.children(parent)
    if tree.size[v] > _LARGE * tree.size[parent] and (siblings >= n).sum() > 2:
        flags.append("too large")
    if tree.size[v] < max(2, round(n**0.5 / 12)):
        flags.append("too small")
    if (siblings >= n).sum() == 1:
        flags.append("single child")
    return flags


def _reasons(
    g: int,
    measures: dict[str, np.ndarray],
    shape: list[list[str]],
    rival: np.ndarray,
    names: dict[int, str],
    now: Snapshot,
) -> list[tuple[float, str]]:
    """What speaks against group n + g, each with a weight."""
    n, size, parent = now.n_items, int(now.tree.size[now.n_items + g]), int(now.tree.parent[now.n_items + g])
    found: list[tuple[float, str]] = []
    value = {name: float(values[g]) for name, values in measures.items()}
    if value["confusion"] > 0.3:
        other = f", most in {names[int(rival[g])]!r}" if rival[g] >= n else ""
        found.append((value["confusion"], f"{value['confusion']:.0%} of its items' neighbours are in siblings{other}"))
    if value["neighbors"] < 0.3:
        found.append((0.8 - value["neighbors"], f"only {value['neighbors']:.0%} of neighbours are inside"))
    if value["stability"] < 0.4:
        found.append((0.6 - value["stability"], f"not found again in halves of the items ({value['stability']:.2f})"))
    if value["cohesion"] < 0.0:
        found.append((0.5, "more spread out than all items together"))
    if value["name_items"] < 0.3:
        found.append((0.5 - value["name_items"], f"its name fits {value['name_items']:.0%} of its items best"))
    if ITEM_MARK in names[n + g]:
        found.append((0.3, "called by two items: no term sets it apart"))
    if value["duplicates"] > 0.5:
        found.append((value["duplicates"] / 2, f"{value['duplicates']:.0%} of its items are repeated"))
    if "too large" in shape[g]:
        share = size / int(now.tree.size[parent])
        found.append((share, f"holds {share:.0%} of the group around it"))
    found += [(0.2, flag) for flag in shape[g] if flag != "too large"]
    return found
