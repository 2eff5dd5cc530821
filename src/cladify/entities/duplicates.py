"""Which rows of a table name the same thing, without labels: :func:`dedupe`."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit

from cladify._kit.params import check_float, check_int
from cladify._kit.progress import Progress, ProgressLike, reporting
from cladify.agglomerate.hac import HAC
from cladify.data.graph import NeighborGraph
from cladify.entities._agreement import Agreement
from cladify.entities._forms import Forms, distinct_forms, folded
from cladify.entities._grams import Column, column_rows
from cladify.entities._odds import learned_weights, log_odds, prior_shift, starting_weights
from cladify.entities._pairs import Records, distinct_pairs, with_groups
from cladify.entities._telling import telling
from cladify.errors import CladifyWarning, InvalidInput

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Deduplicated", "dedupe"]

#: From this chance on, two records are in one group whose pairs are all compared.
_LINKED = 0.2
#: Groups of so many records have all their pairs compared.
_GROUP = 200
_BOUND = 30.0


@dataclass(frozen=True)
class Deduplicated:
    """Rows and the entities they belong to.

    Attributes
    ----------
    entity : int64 array of shape (n,)
        Numbered in the order of their first rows. A row without any text is an entity of its own.
    name : list of str
        Of each row's entity: the form of the most rows, then the one most like the others.
    confidence : float64 array of shape (n,)
        The mean chance that the row is the same as the others of its entity; for a row alone, that it is the same as
        none. 1 for rows that are equal.
    pairs : int64 array of shape (m, 2)
        Pairs of rows that were compared, one for equal rows.
    chance : float64 array of shape (m,)
        That the rows of a pair are the same.
    ignored : tuple of str
        Columns that were left out, as they say nothing of which rows are the same.
    """

    entity: np.ndarray
    name: list[str]
    confidence: np.ndarray
    pairs: np.ndarray
    chance: np.ndarray
    columns: Mapping[str, Sequence[Any]]
    ignored: tuple[str, ...] = ()

    @property
    def n_entities(self) -> int:
        """Distinct entities."""
        return int(self.entity.max(initial=-1)) + 1

    def table(self) -> pa.Table:
        """One row a row: ``entity``, ``canonical_name`` and ``confidence``, as an Arrow table."""
        import pyarrow as pa

        return pa.table({"entity": self.entity, "canonical_name": self.name, "confidence": self.confidence.round(4)})

    def doubtful(self, n_pairs: int = 50) -> np.ndarray:
        """Positions in ``pairs`` that are worth an answer: spread over all chances from 0.1 on, the least clear first.

        Only the least clear would all be answered alike now and then, which teaches no more than that.
        """
        n_pairs = check_int("n_pairs", n_pairs, low=1)
        unclear = np.abs(self.chance - 0.5)
        at = np.flatnonzero(self.chance >= 0.1)
        at = at[np.argsort(unclear[at], kind="stable")]
        tenth = np.minimum((10 * self.chance[at]).astype(np.int64), 9)
        turn = np.empty(len(at), np.int64)
        for part in range(10):
            turn[tenth == part] = np.arange((tenth == part).sum())
        chosen = at[np.lexsort((unclear[at], turn))][:n_pairs]
        return np.asarray(chosen[np.argsort(unclear[chosen], kind="stable")])

    def review(self, n_pairs: int = 50) -> pa.Table:
        """The :meth:`doubtful` pairs as an Arrow table, for a person to say yes or no to in column ``same``.

        Parameters
        ----------
        n_pairs : int
            At most so many, the least clear first.
        """
        import pyarrow as pa

        order = self.doubtful(n_pairs)
        a, b = self.pairs[order].T
        cells: dict[str, Any] = {"same": pa.array([""] * len(order)), "chance": self.chance[order].round(3)}
        for name, values in self.columns.items():
            cells[f"{name}_a"] = [_text(values[i]) for i in a.tolist()]
            cells[f"{name}_b"] = [_text(values[i]) for i in b.tolist()]
        return pa.table(cells)


def dedupe(
    columns: Mapping[str, Sequence[Any]] | Sequence[Any],
    *,
    weights: Mapping[str, float] | None = None,
    same_as: Iterable[tuple[Any, Any, bool]] = (),
    threshold: float = 0.5,
    random_state: int = 0,
    n_jobs: int | None = -1,
    progress: ProgressLike = None,
) -> Deduplicated:
    r"""Find the rows that name the same thing: companies, people, products, as people write them.

    Cells are compared in one case, without accents and punctuation, by their groups of two and three letters, the rarer
    the heavier: a legal form that many have hardly counts, the order of words not at all. Every record is compared with
    its nearest ones; what speaks for a pair is how alike its letters are, and how much more alike than the crowd around
    both; what speaks against it are different numbers in the first column. The chance of a pair comes from weights
    learned on other tables and from how common duplicates are in this one, which needs no labels. Several columns also
    count one by one, each likeness by how seldom any two rows of the table have it (Fellegi and Sunter). A column that
    is not more alike where the others are, such as a number of the row, is left out, and so is a copy. Average linkage
    over the chances makes groups, cut at ``threshold``.

    Time and memory are about linear in the distinct records, but for the search of neighbours, which is about
    :math:`n^{1.5}`.

    Parameters
    ----------
    columns : mapping of str to sequence, or sequence
        Columns by name, the one with the names first; or the names alone. A cell may be empty.
    weights : mapping of str to float, optional
        How much a column counts; 1 where nothing is said. A column with another weight is never left out.
    same_as : iterable of (a, b, bool)
        Answers for pairs of rows: their numbers, or tuples with the cells of their columns. They move the weights, and
        pairs that were answered "yes" end up together, those answered "no" apart where they are alone.
    threshold : float
        The mean chance from which on groups are joined. More gives fewer wrong pairs and misses more.
    random_state : int
        Of the projection that candidates are searched with.
    n_jobs, progress
        As in :func:`cladify.neighbors`.

    Examples
    --------
    >>> from cladify.entities import dedupe
    >>> found = dedupe(["Nordsee AG", "Müller Motors GmbH", "MULLER MOTORS G.m.b.H.", "Motors Muler", "Muller Motors"])
    >>> found.entity.tolist(), found.name[3]
    ([0, 1, 1, 1, 1], 'Müller Motors GmbH')
    """
    named = dict(columns) if isinstance(columns, Mapping) else {"name": columns}
    factors = _checked(named, weights)
    threshold = check_float("threshold", threshold, low=0.0, high=1.0, open_low=True)
    forms = distinct_forms(list(named.values()))
    pairs, chance, labels = np.empty((0, 2), np.int64), np.empty(0), np.zeros(len(forms), np.int64)
    used = list(range(len(named)))
    if len(forms) > 1:
        with reporting(progress) as report:
            columns = _letters(forms, factors, report)
            if len(used) > 1 and len(forms) > 2:
                told = telling(columns, forms.columns, random_state)
                used = [at for at in used if at in told or factors[at] != 1.0]
            if len(used) < len(named):
                forms = distinct_forms([cells for at, cells in enumerate(named.values()) if at in used])
                factors = [factors[at] for at in used]
                columns, labels = _letters(forms, factors, report), np.zeros(len(forms), np.int64)
            if len(forms) > 1:
                answers = _answers(same_as, used, forms)
                pairs, chance = _compared(columns, factors, answers, random_state, n_jobs, report)
                labels = _groups(len(forms), pairs, chance, threshold, n_jobs)
    ignored = tuple(name for at, name in enumerate(named) if at not in used)
    return _result(named, forms, pairs, chance, labels, ignored)


def _letters(forms: Forms, factors: Sequence[float], report: Progress) -> list[Column]:
    columns = []
    with report.stage("letters", total=len(factors)) as advance:
        for cells, factor in zip(forms.columns, factors, strict=True):
            columns.append(column_rows(cells, factor))
            advance()
    return columns


def _checked(columns: Mapping[str, Sequence[Any]], weights: Mapping[str, float] | None) -> list[float]:
    """The factor of each column, whose cells have to be as many as in the others."""
    sizes = {name: len(cells) for name, cells in columns.items()}
    if not sizes or not all(sizes.values()):
        raise InvalidInput("there are no rows to compare; give at least one name.")
    if len(set(sizes.values())) > 1:
        raise InvalidInput(f"columns must be of one length, got {sizes}.")
    weights = dict(weights or {})
    if unknown := sorted(set(weights) - set(sizes)):
        raise InvalidInput(f"weights has {unknown[0]!r}, which is no column. Known: {', '.join(sizes)}.")
    return [check_float(f"weights[{name!r}]", weights.get(name, 1.0), low=0.0, open_low=True) for name in sizes]


def _answers(same_as: Iterable[Any], used: Sequence[int], forms: Forms) -> dict[tuple[int, int], bool]:
    """Answers by pairs of distinct records; what is about equal or empty records says nothing.

    Tuples have a cell for every column that was given, also for those that are not ``used``.
    """
    found: dict[tuple[int, int], bool] = {}
    of_cells: dict[tuple[str, ...], int] = {}
    n = len(forms.of_row)
    for a, b, same in same_as:
        ends = []
        for end in (a, b):
            if isinstance(end, tuple):
                if not of_cells:
                    of_cells = {cells: i for i, cells in enumerate(zip(*forms.columns, strict=True))}
                ends.append(of_cells.get(tuple(folded(end[at]) for at in used), -1))
            else:
                ends.append(int(forms.of_row[check_int("a row in same_as", end, low=0, high=n - 1)]))
        if min(ends) >= 0 and ends[0] != ends[1]:
            found[min(ends), max(ends)] = bool(same)
    return found


def _compared(
    columns: Sequence[Column],
    factors: Sequence[float],
    answers: Mapping[tuple[int, int], bool],
    random_state: int,
    n_jobs: int | None,
    report: Progress,
) -> tuple[np.ndarray, np.ndarray]:
    """Pairs that are compared, and how likely each is the same.

    Where the first column is a name, records are near each other by it or by all columns, and all that letters say is
    said by it; the others only count one by one. Where it is not, as a given name, all columns together are the name.
    """
    records = Records(columns)
    near = records.near(random_state, n_jobs, report)
    agreement = Agreement(records, factors, random_state) if len(factors) > 1 else None
    if agreement is not None and agreement.is_named:
        records = Records(columns[:1])
        a, b = np.concatenate([near, records.near(random_state, n_jobs, report)]).T
        near = distinct_pairs(a, b, records.n)
    return _chances(records, near, agreement, answers)


def _chances(
    records: Records, near: np.ndarray, agreement: Agreement | None, answers: Mapping[tuple[int, int], bool]
) -> tuple[np.ndarray, np.ndarray]:
    """Pairs that are compared, those of whole groups too, and how likely each is the same."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    weights = starting_weights()

    def odds_of(pairs: np.ndarray) -> np.ndarray:
        odds = log_odds(records.features(pairs), weights)
        return odds if agreement is None else 0.5 * (odds + agreement.log_odds(pairs))

    odds = log_odds(records.features(near), weights)
    shift = prior_shift(odds)
    weights[0] += shift if agreement is None else agreement.fit(near, odds, shift)
    asked = np.array(list(answers), dtype=np.int64).reshape(-1, 2)
    same = np.array(list(answers.values()), dtype=bool)
    if len(asked):
        beside = None if agreement is None else agreement.log_odds(asked)
        weights = learned_weights(records.features(asked), same, weights, beside)
    linked = np.concatenate([near[expit(odds_of(near)) >= _LINKED], asked])
    graph = coo_array((np.ones(len(linked)), (linked[:, 0], linked[:, 1])), shape=(records.n, records.n))
    group = connected_components(graph, directed=False)[1]
    pairs = with_groups(np.concatenate([near, asked]), group, _GROUP)
    odds = odds_of(pairs)
    at = np.searchsorted(pairs[:, 0] * records.n + pairs[:, 1], asked[:, 0] * records.n + asked[:, 1])
    odds[at] = np.where(same, _BOUND, -_BOUND)
    return pairs, expit(odds)


def _groups(n: int, pairs: np.ndarray, chance: np.ndarray, threshold: float, n_jobs: int | None) -> np.ndarray:
    """Average linkage over the chances; pairs that were not compared have none."""
    from scipy.sparse import coo_array

    kept = chance > 1e-3
    if not kept.any():
        return np.arange(n)
    # Heights count from the largest chance down: two more records, surely the same, make that 1.
    a, b = np.concatenate([pairs[kept], [[n, n + 1]]]).T
    known = np.concatenate([chance[kept], [1.0]])
    both = np.concatenate([known, known])
    graph = coo_array((both, (np.concatenate([a, b]), np.concatenate([b, a]))), shape=(n + 2, n + 2)).tocsr()
    model = HAC(linkage="average", metric="precomputed-similarity", n_jobs=n_jobs)
    with warnings.catch_warnings():  # parts without a link are what is wanted here
        warnings.simplefilter("ignore", CladifyWarning)
        tree = model.fit(NeighborGraph.from_scipy(graph)).tree_
    return np.asarray(tree.cut(height=1.0 - threshold))[:n]


def _result(
    columns: Mapping[str, Sequence[Any]],
    forms: Forms,
    pairs: np.ndarray,
    chance: np.ndarray,
    labels: np.ndarray,
    ignored: tuple[str, ...],
) -> Deduplicated:
    """Entities of rows from groups of distinct records."""
    n, m = len(forms.of_row), len(forms)
    alone = forms.of_row < 0
    group = np.where(alone, m + np.arange(n), labels[forms.of_row] if m else 0)
    _, first, of_row = np.unique(group, return_index=True, return_inverse=True)
    place = np.empty(len(first), np.int64)
    place[np.argsort(first, kind="stable")] = np.arange(len(first))
    entity = place[of_row]

    a, b = pairs.T
    together = labels[a] == labels[b]
    inside, outside = np.zeros(m), np.zeros(m)
    for end, other in ((a, b), (b, a)):
        np.add.at(inside, end[together], chance[together] * forms.count[other[together]])
        np.maximum.at(outside, end[~together], chance[~together])
    size = np.bincount(labels, weights=forms.count, minlength=1)[labels] if m else np.zeros(0)
    others = size - 1.0
    sure = (inside + forms.count - 1.0) / np.maximum(others, 1.0)
    confidence = np.ones(n)
    confidence[~alone] = np.where(others > 0, np.minimum(sure, 1.0), 1.0 - outside)[forms.of_row[~alone]]

    rows = np.flatnonzero(~alone)
    first_row = np.full(m, n)
    np.minimum.at(first_row, forms.of_row[rows], rows)
    # Best first: most rows, most like the others, longest, first in the table.
    length = np.array([len(cell) for cell in forms.columns[0]], dtype=np.int64)
    order = np.lexsort((first_row, -length, -inside, -forms.count, labels)) if m else np.zeros(0, np.int64)
    named, at = np.unique(labels[order], return_index=True)
    best = dict(zip(named.tolist(), _spelled(columns, forms, order[at]), strict=True))
    name = ["" if record < 0 else best[int(labels[record])] for record in forms.of_row.tolist()]
    return Deduplicated(entity, name, confidence, first_row[pairs], chance, columns, ignored)


def _spelled(columns: Mapping[str, Sequence[Any]], forms: Forms, records: np.ndarray) -> list[str]:
    """For each of these records the spelling of its name that most rows have."""
    cells = next(iter(columns.values()))
    wanted = set(records.tolist())
    seen: dict[int, Counter[str]] = {record: Counter() for record in wanted}
    for row, record in enumerate(forms.of_row.tolist()):
        if record in wanted:
            seen[record][_text(cells[row])] += 1
    return [seen[record].most_common(1)[0][0] for record in records.tolist()]


def _text(value: Any) -> str:
    return "" if value is None or value != value else " ".join(str(value).split())
