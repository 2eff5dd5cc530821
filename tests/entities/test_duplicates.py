"""Duplicates without labels: which rows are one, what is kept, and how answers count."""

import random
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cladify.entities import dedupe
from cladify.entities._agreement import Agreement
from cladify.entities._forms import folded
from cladify.entities._grams import column_rows
from cladify.entities._odds import log_odds, prior_shift, starting_weights
from cladify.entities._pairs import Records, with_groups
from cladify.entities.duplicates import _groups
from cladify.errors import InvalidInput
from cladify.metrics import pairwise_f1

TRADES = ["Logistics", "Dairy", "Optics", "Robotics", "Shipping", "Textiles", "Insurance"]


def some_names(seed=0):
    """Names with one misspelt or reordered copy each."""
    rng = random.Random(seed)
    stems = [
        "".join(rng.choice(["fal", "os", "qui", "mir", "del", "hav", "tor", "yam"]) for _ in range(4))
        for _ in range(40)
    ]
    names, truth = [], []
    for entity, (stem, trade) in enumerate((s.title(), rng.choice(TRADES)) for s in dict.fromkeys(stems)):
        at = rng.randrange(1, len(stem) - 1)
        copy = stem[:at] + stem[at + 1 :]
        names += [f"{stem} {trade} Ltd.", rng.choice([f"{trade.upper()} {stem.upper()}", f"{copy} {trade} limited"])]
        truth += [entity, entity]
    return names, np.array(truth)


def test_case_accents_order_legal_forms_and_typos_are_one():
    names = [
        "Crédit Générale S.A.",
        "CREDIT GENERALE SA",
        "Generale, Credit",
        "Nordic Tools Oy",
        "Credit Generalle S.A.",
    ]
    assert dedupe(names).entity.tolist() == [0, 0, 0, 1, 0]


def test_numbers_in_the_name_must_not_differ():
    names = [
        "Stako Phone 5 black",
        "Stako Phone 6 black",
        "STAKO phone 5, Black",
        "stako phone 6 black",
        "Stako Phone 16",
    ]
    assert dedupe(names).entity.tolist() == [0, 1, 0, 1, 2]


@pytest.mark.parametrize(
    ("names", "entity"),
    [
        (["トヨタ自動車株式会社", "トヨタ自動車 株式会社", "ソニーグループ"], [0, 0, 1]),
        (["Газпром нефть", "ГАЗПРОМ НЕФТЬ", "Лукойл"], [0, 0, 1]),
        (["شركة النور للتجارة", "شركة  النور للتجارة", "بنك مصر"], [0, 0, 1]),
    ],
)
def test_other_scripts(names, entity):
    assert dedupe(names).entity.tolist() == entity


def test_most_pairs_of_made_names_are_found():
    names, truth = some_names()
    assert pairwise_f1(dedupe(names).entity, truth) > 0.8


def test_marks_are_accents_in_some_scripts_and_vowels_in_others():
    assert folded("Škoda") == "skoda"
    assert folded("किताब") == "किताब"
    assert folded("ﬁne Ａ１") == "fine a1"
    assert folded("A.B.C. Corp.") == "abc corp"


def test_empty_cells_are_entities_of_their_own():
    found = dedupe(["Acme", None, "", float("nan"), "ACME", "--"])
    assert found.entity.tolist() == [0, 1, 2, 3, 0, 4]
    assert found.name == ["Acme", "", "", "", "Acme", ""]
    assert dedupe([None, ""]).entity.tolist() == [0, 1]


def test_equal_rows_are_one_and_sure():
    found = dedupe(["Acme"] * 5)
    assert found.entity.tolist() == [0] * 5
    assert found.confidence.tolist() == [1.0] * 5
    assert len(found.review()) == 0


def test_the_name_is_the_spelling_of_most_rows():
    found = dedupe(["Falkenberg Dairy", "Falkenberg Dairy Ltd", "Falkenberg Dairy Ltd", "FALKENBERG DAIRY LTD"])
    assert set(found.name) == {"Falkenberg Dairy Ltd"}


@settings(max_examples=25, deadline=None)
@given(st.lists(st.text(max_size=12), min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_any_texts_in_any_order(names, rng):
    found = dedupe(names)
    assert len(found.entity) == len(names) == len(found.name)
    assert sorted(set(found.entity.tolist())) == list(range(found.n_entities))
    assert ((found.confidence >= 0) & (found.confidence <= 1)).all()
    by_form = {}
    for name, entity in zip(names, found.entity.tolist(), strict=True):
        if folded(name):
            assert by_form.setdefault(folded(name), entity) == entity
    assert dedupe(names).entity.tolist() == found.entity.tolist()


def test_answers_decide_and_teach():
    names, truth = some_names(3)
    plain = dedupe(names)
    asked = plain.pairs[plain.doubtful(40)].tolist()
    told = dedupe(names, same_as=[(a, b, truth[a] == truth[b]) for a, b in asked])
    assert pairwise_f1(told.entity, truth) >= pairwise_f1(plain.entity, truth)
    # Two records that have nothing in common are one if somebody says so.
    assert dedupe(["IBM", "Big Blue", "Acme"], same_as=[(0, 1, True)]).entity.tolist() == [0, 0, 1]
    names = ["Thorsen Dairy", "Thorsen Dairy Ltd", "Havlicek"]
    assert dedupe(names).entity.tolist() == [0, 0, 1]
    assert dedupe(names, same_as=[(("Thorsen Dairy",), ("thorsen dairy LTD",), False)]).entity.tolist() == [0, 1, 2]


def test_doubtful_pairs_are_of_all_chances():
    found = dedupe(some_names()[0])
    chance = found.chance[found.doubtful(20)]
    assert chance.min() < 0.4
    assert chance.max() > 0.9
    assert np.abs(chance - 0.5).tolist() == sorted(np.abs(chance - 0.5).tolist())


def test_a_second_column_parts_equal_names_and_its_weight_counts():
    names = ["Anna Berg", "Anna Berg", "Anna Berg", "Otto Falk", "Ida Holm", "Jan Vik"]
    streets = ["12 Quarry Lane", "12 Quary Lane", "9 Harbour Square", "1 Mill Road", "2 Hill Road", "3 Church Road"]
    found = dedupe({"name": names, "street": streets})
    assert found.entity[0] == found.entity[1]
    light = dedupe({"name": names, "street": streets}, weights={"street": 0.01})
    assert light.entity[:3].tolist() == [0, 0, 0]
    heavy = dedupe({"name": names, "street": streets}, weights={"street": 10.0})
    assert heavy.entity[0] == heavy.entity[1] != heavy.entity[2]


def people(n=400, n_twice=20, seed=0):
    """People of few names with a birthday in three columns; some are there twice, with one letter missing."""
    rng = random.Random(seed)
    first = ["anna", "peter", "ursula", "klaus", "monika", "jürgen", "renate", "werner", "sabine", "dieter"]
    last = ["müller", "schmidt", "schneider", "fischer", "weber", "meyer", "wagner", "becker", "schulz", "hoffmann"]
    born = [(str(rng.randint(1940, 1999)), str(rng.randint(1, 12)), str(rng.randint(1, 28))) for _ in range(n)]
    rows = [[rng.choice(first), rng.choice(last), *date] for date in born]
    twice = rng.sample(range(n), n_twice)
    for person in twice:
        copy, at = list(rows[person]), rng.randrange(2)
        gap = rng.randrange(1, len(copy[at]))
        copy[at] = copy[at][:gap] + copy[at][gap + 1 :]
        rows.append(copy)
    names = ("first", "last", "year", "month", "day")
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)), np.array([*range(n), *twice])


def test_people_who_share_common_names_and_parts_of_a_birthday_stay_apart():
    columns, truth = people()
    assert pairwise_f1(dedupe(columns).entity, truth) > 0.9


def test_evidence_of_columns_is_that_of_counts():
    """With pairs known to be the same, a band counts for log(its share among them / among all pairs)."""
    columns, _ = people(60, 10)
    rows = [column_rows([folded(cell) for cell in cells], 1.0) for cells in columns.values()]
    records = Records(rows)
    agreement = Agreement(records, [1.0] * 5, 0)
    pairs = np.array(list(combinations(range(70), 2)))
    same = np.isin(pairs[:, 1], np.arange(60, 70)) & (records.alike(pairs)[:, 2:] > 0.99).all(axis=1)
    agreement.fit(pairs, np.where(same, 1000.0, -1000.0), 0.0)
    by_hand = np.zeros(len(pairs))
    usual = np.array([0.01, 0.03, 0.06, 0.12, 0.18, 0.6])
    for likeness in records.alike(pairs).T:
        band = np.digitize(likeness, [0.2, 0.4, 0.6, 0.8, 0.9999])
        m, u = (np.bincount(band[some], minlength=6) for some in (same, slice(None)))
        m = (m + (same.sum() + 5) * usual) / (2 * same.sum() + 5)
        by_hand += np.log(m / ((u + 0.5) / (len(pairs) + 3)))[band]
    by_hand += np.log(same.mean() / (1 - same.mean()))
    np.testing.assert_allclose(agreement.log_odds(pairs), by_hand, rtol=1e-9)


def test_empty_cells_say_nothing_about_a_pair():
    columns = {"name": ["anna berg", "otto falk", "ida holm"], "city": ["oslo", "", "oslo"]}
    records = Records([column_rows(cells, 1.0) for cells in columns.values()])
    alike = records.alike(np.array([[0, 1], [0, 2]]))
    assert np.isnan(alike[0, 1])
    assert alike[1, 1] == pytest.approx(1.0)


def test_groups_are_those_of_naive_average_linkage():
    rng = np.random.default_rng(0)
    n = 14
    pairs = np.array(list(combinations(range(n), 2)))
    chance = np.round(rng.random(len(pairs)) ** 2, 6) * 0.9  # the largest is not 1
    matrix = np.zeros((n, n))
    matrix[pairs[:, 0], pairs[:, 1]] = matrix[pairs[:, 1], pairs[:, 0]] = np.where(chance > 1e-3, chance, 0.0)
    parts = [[i] for i in range(n)]
    while len(parts) > 1:
        best, i, j = max(
            (matrix[np.ix_(parts[i], parts[j])].mean(), i, j) for i, j in combinations(range(len(parts)), 2)
        )
        if best < 0.5:
            break
        parts[i] += parts.pop(j)
    labels = _groups(n, pairs, chance, 0.5, 1)
    assert {frozenset(part) for part in parts} == {frozenset(np.flatnonzero(labels == k)) for k in np.unique(labels)}


def test_letters_are_the_cosine_of_weighed_groups_of_letters():
    cells = ["dairy", "dairy ltd", "optics ltd"]
    column = column_rows(cells, 1.0)
    records = Records([column])
    dense = column.grams.toarray().astype(float)
    pairs = np.array([[0, 1], [0, 2], [1, 2]])
    wanted = [a @ b / np.linalg.norm(a) / np.linalg.norm(b) for a, b in ((dense[i], dense[j]) for i, j in pairs)]
    assert records.features(pairs)[:, 0] == pytest.approx(wanted, rel=1e-5)


def test_pairs_of_small_groups_are_all_compared():
    pairs = with_groups(np.array([[0, 1], [3, 4]]), np.array([0, 0, 0, 1, 1, 2]), limit=3)
    assert pairs.tolist() == [[0, 1], [0, 2], [1, 2], [3, 4]]


def test_fewer_likely_pairs_lower_the_odds():
    odds = log_odds(np.zeros((1000, 6)), starting_weights())
    assert prior_shift(odds) < 0
    odds[:300] = 8.0
    assert prior_shift(odds) > 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: dedupe([]), "no rows to compare"),
        (lambda: dedupe({"a": ["x"], "b": ["x", "y"]}), "columns must be of one length"),
        (lambda: dedupe({"a": ["x", "y"]}, weights={"b": 1.0}), "'b', which is no column"),
        (lambda: dedupe(["x", "y"], threshold=2), "threshold must be"),
        (lambda: dedupe(["x", "y"], same_as=[(0, 7, True)]), "a row in same_as must be"),
    ],
)
def test_errors_say_what_to_do(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()


def firms(n=300, seed=3):
    """Names of firms, a third of them twice with a slip, and which firm each row is."""
    rng = random.Random(seed)
    starts = [
        a + b for a in ("nor", "al", "tes", "vi", "gra", "mo", "kel", "su") for b in ("dan", "pha", "ko", "lux", "rim")
    ]
    trades = ["motors", "dairy", "optics", "bakery", "shipping", "printing", "glass", "timber", "brewing", "tools"]
    chosen = rng.sample([f"{a} {b} {c}" for a in starts for b in starts for c in trades if a != b], n)
    names, truth = list(chosen), list(range(n))
    for firm in rng.sample(range(n), n // 3):
        at = rng.randrange(1, len(chosen[firm]) - 1)
        names.append(chosen[firm][:at] + chosen[firm][at + 1 :])
        truth.append(firm)
    return names, np.array(truth)


WORDS = [
    "river",
    "stone",
    "north",
    "valley",
    "green",
    "delta",
    "summit",
    "harbor",
    "bright",
    "silver",
    "maple",
    "ocean",
]
#: Columns that say nothing: from the row, the name and a source of random numbers.
USELESS = {
    "constant": lambda i, name, rng: "active",
    "noise": lambda i, name, rng: " ".join(rng.choice(WORDS) + rng.choice(WORDS) for _ in range(4)),
    "long": lambda i, name, rng: " ".join(rng.choice(WORDS) for _ in range(25)),
    "id": lambda i, name, rng: "".join(rng.choice("0123456789abcdef") for _ in range(10)),
    "number": lambda i, name, rng: str(10_000 + i),
    "category": lambda i, name, rng: rng.choice(WORDS[:8]),
    "flag": lambda i, name, rng: rng.choice(["yes", "no"]),
    "date": lambda i, name, rng: f"20{rng.randint(10, 24)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}",
    "half empty": lambda i, name, rng: rng.choice(WORDS) if rng.random() < 0.5 else "",
    "empty": lambda i, name, rng: None,
    "copy": lambda i, name, rng: name.upper().replace(" ", "  "),
    "initial": lambda i, name, rng: name[0],
}


@pytest.mark.parametrize("kind", USELESS)
def test_a_column_that_says_nothing_changes_nothing(kind):
    names, _ = firms()
    rng = random.Random(5)
    further = [USELESS[kind](i, name, rng) for i, name in enumerate(names)]
    found = dedupe({"name": names, kind: further})
    assert found.ignored == (kind,)
    assert found.entity.tolist() == dedupe(names).entity.tolist()
    assert found.review(3).column_names == ["same", "chance", "name_a", "name_b", f"{kind}_a", f"{kind}_b"]
    answered = dedupe({"name": names, kind: further}, same_as=[((names[0], further[0]), (names[1], further[1]), True)])
    assert answered.entity[0] == answered.entity[1]


def test_a_column_that_says_something_is_kept_and_helps():
    names, truth = firms()
    rng = random.Random(5)
    place = {firm: f"{rng.randint(1, 99)} {rng.choice(WORDS)} {rng.choice(WORDS)}" for firm in set(truth.tolist())}
    found = dedupe({"name": names, "noise": [rng.choice(WORDS) for _ in names], "street": [place[t] for t in truth]})
    assert found.ignored == ("noise",)
    assert pairwise_f1(found.entity, truth) > max(0.95, pairwise_f1(dedupe(names).entity, truth))


def test_a_column_with_a_weight_of_its_own_counts():
    names, _ = firms(60)
    assert dedupe({"name": names, "flag": ["yes", "no"] * 40}, weights={"flag": 0.9}).ignored == ()


def test_columns_that_name_a_row_only_together_are_kept():
    columns, truth = people()
    some = {name: columns[name] for name in ("first", "last")}
    assert dedupe(some).ignored == ()
    number = {"first": columns["first"], "number": list(range(100, 100 + len(truth)))}
    assert dedupe(number).ignored == ("number",)
