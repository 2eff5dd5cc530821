"""The runner of the papers' figures, and the figures that are known to the last digit."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cladify.errors import CladifyError, FileError, InvalidInput
from cladify.metrics import dendrogram_purity
from cladify.papers import (
    PAPERS,
    Figure,
    Picture,
    Row,
    all_pictures,
    all_rows,
    known_figures,
    load_figures,
    make_data,
    markdown,
    needed,
    page,
    run_pictures,
    run_rows,
    share,
    summary,
    verdict,
    worse_than,
)
from cladify.papers._data import DataMissing, raw, unit_scores
from cladify.papers._median import median_linkage
from cladify.papers._row import CLAIMS, SETTINGS
from cladify.papers._theorems import failures


def row(value: float = 1.0, *, published: float = 1.0, what: str = "made", **options: object) -> Row:
    calls: list[int] = []

    def run(seed: int) -> float:
        calls.append(seed)
        return value + seed

    made = Row("C", "table 0", what, published, run, "made()", "none", within=0.01, **options)  # type: ignore[arg-type]
    object.__setattr__(made, "calls", calls)
    return made


def test_every_row_has_a_name_of_its_own_and_a_known_paper() -> None:
    rows = all_rows("all")
    assert len({r.key for r in rows}) == len(rows) > 150
    assert {r.paper for r in rows} == set(PAPERS)
    assert {r.setting for r in rows} == set(SETTINGS) and {r.claim for r in rows} == set(CLAIMS)


def test_tiers_hold_those_before() -> None:
    quick, normal, every = ({r.key for r in all_rows(tier)} for tier in ("quick", "normal", "all"))
    assert quick < normal < every
    with pytest.raises(InvalidInput, match="tier"):
        all_rows("nightly")


@pytest.mark.parametrize(
    ("value", "lower", "expected"),
    [(1.005, False, "reproduced"), (1.2, False, "better"), (0.8, False, "worse"), (1.2, True, "worse")],
)
def test_verdict(value: float, lower: bool, expected: str) -> None:
    assert verdict(row(lower=lower), Figure((value,))) == expected


def test_a_bound_is_neither_better_nor_worse() -> None:
    assert verdict(row(is_bound=True), Figure((2.0,))) == "differs"
    assert verdict(row(), Figure(missing="no file")) == "data missing"
    assert verdict(row(), Figure()) == "not run"


def test_two_standard_errors_count_as_the_same() -> None:
    assert verdict(row(spread=0.5), Figure((1.4,))) == "reproduced"
    assert verdict(row(), Figure((0.9, 1.5))) == "reproduced"
    assert verdict(row(published=0.0), Figure((-0.05, -0.01, -0.06, 0.03, -0.04))) == "reproduced"
    assert verdict(row(), Figure((0.9, 0.91, 0.9, 0.91))) == "worse"
    assert verdict(row(deviation="another start"), Figure((0.9,))) == "algorithm differs"
    assert verdict(row(setting="stand-in"), Figure((0.9,))) == "stand-in"


@pytest.mark.parametrize(("claim", "value", "holds"), [("at least", 3.0, True), ("at least", 0.5, False)])
def test_a_claim_holds_or_not(claim, value, holds) -> None:
    assert (verdict(row(claim=claim), Figure((value,))) == "reproduced") == holds
    assert (verdict(row(claim="at most", published=2.0 * value), Figure((value,))) == "reproduced") is True


def test_a_run_goes_on_where_it_was(tmp_path) -> None:
    path = tmp_path / "papers.json"
    first, second = row(what="a"), row(2.0, what="b", seeds=3)
    run_rows([first], path)
    found = run_rows([first, second], path)
    assert first.calls == [0] and second.calls == [0, 1, 2]
    assert found[second.key].values == (2.0, 3.0, 4.0)
    run_rows([first], path, again=True)
    assert first.calls == [0, 0]
    assert load_figures(path)[second.key] == found[second.key]


def test_another_call_is_computed_again_and_not_reported(tmp_path) -> None:
    path, before = tmp_path / "papers.json", row(1.0)
    run_rows([before], path)
    for changed in (replace(before, call="made(2)"), replace(before, seeds=2), replace(before, data="iris")):
        assert known_figures([changed], path)[changed.key] == Figure()
    changed = row(3.0, deviation="said since")  # words alone change nothing
    assert run_rows([changed], path)[changed.key].values == (1.0,)
    changed = replace(row(3.0), call="made(2)")
    assert run_rows([changed], path)[changed.key].values == (3.0,)
    assert known_figures([changed], path)[changed.key].values == (3.0,)


def test_missing_data_are_named_and_tried_again(tmp_path) -> None:
    def run(seed: int) -> float:
        raise DataMissing("zoo.npz is not here")

    lost = Row("H", "table 1", "lost", 1.0, run, "f()", "zoo")
    found = run_rows([lost], tmp_path / "papers.json")
    assert verdict(lost, found[lost.key]) == "data missing"
    assert "zoo.npz is not here" in markdown([lost], found, "quick")


def test_a_row_that_fails_does_not_stop_the_others(tmp_path, monkeypatch, capsys) -> None:
    import cladify.papers._run as module
    from cladify.cli import run

    def breaks(seed: int) -> float:
        raise ValueError("no tree\nat all")

    broken = Row("C", "table 0", "broken", 1.0, breaks, "f()", "none")
    monkeypatch.setattr(module, "_SOURCES", [lambda: iter([broken, row(what="after")])])
    monkeypatch.setattr(module, "_PICTURES", [])
    assert run(["papers", "--out", str(tmp_path)]) == 1
    assert "1 rows failed, 'C table 0 · broken · paper' first" in capsys.readouterr().err
    kept = load_figures(tmp_path / "papers.json")
    assert verdict(broken, kept[broken.key]) == "failed" and kept[row(what="after").key].values == (1.0,)
    text = (tmp_path / "papers.md").read_text()
    assert "| 1 | ValueError: no tree at all | failed |" in text and "| 1 | 1 | reproduced |" in text
    mended = row(what="broken")
    assert run_rows([mended], tmp_path / "papers.json")[mended.key].values == (1.0,)  # tried again


def test_runs_that_share_a_folder_make_one_page(tmp_path, monkeypatch) -> None:
    import cladify.papers._run as module
    from cladify.cli import run

    rows = [row(what=name) for name in ("a", "b", "c")]
    path = tmp_path / "papers.json"

    def beside(seed: int) -> float:
        run_rows([rows[0]], path)  # what another process finds meanwhile stays
        return 1.0

    object.__setattr__(rows[1], "run", beside)
    run_rows([rows[1]], path)
    monkeypatch.setattr(module, "_SOURCES", [lambda: iter(rows)])
    monkeypatch.setattr(module, "_PICTURES", [])
    assert run(["papers", "--report", "--out", str(tmp_path)]) == 0
    assert rows[2].calls == []
    text = (tmp_path / "papers.md").read_text()
    assert "2 of the 3 rows whose data are here were measured (Charikar 2 of 3)" in text
    assert "| 1 | – | not run |" in text and text.count("| 1 | 1 | reproduced |") == 2


def test_pictures_are_kept_and_drawn_without_anything_to_fetch(tmp_path) -> None:
    path, asked = tmp_path / "papers.json", []

    def lines() -> dict[str, list[tuple[float, float]]]:
        asked.append(1)
        return {"ours": [(1.0, 2.0), (2.0, 3.0)], "<b>theirs": [(1.0, 1.0)]}

    picture = Picture("C", "figure 0", "Drawn & kept", "n", "y", lines, "made")
    assert run_pictures([picture], path) == run_pictures([picture], path) and len(asked) == 1
    r = row(0.1, what="<script>", printed_counts=(3, 4), count=lambda seed: (1, 2))
    shown = page([r], run_rows([r], path), [picture], run_pictures([picture], path))
    assert shown.count("<svg") == 1 and "Drawn &amp; kept" in shown and "1 (3 / 4)" in shown and "0.1 (1 / 2)" in shown
    assert "<script" not in shown and "src=" not in shown and "@import" not in shown
    assert len({p.key for p in all_pictures("all")}) == len(all_pictures("all"))


def test_data_that_can_be_made_are(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("CLADIFY_DATA", str(tmp_path))
    assert [path.name for path in make_data(tmp_path)] == ["iris.npz", "wine.npz"] and make_data(tmp_path) == []
    here = {name for name, (_, found) in needed().items() if found}
    assert here == {"iris", "wine"}


def test_a_damaged_file_is_refused_in_one_line(tmp_path) -> None:
    path = tmp_path / "papers.json"
    for content in ("", "[]", '{"figures": {"a": 3}}', json.dumps({"figures": {"a": {"values": ["x"]}}})):
        path.write_text(content)
        with pytest.raises(FileError, match="no figures"):
            load_figures(path)


def test_figures_to_check_by_that_are_not_there_are_named(tmp_path) -> None:
    with pytest.raises(FileError, match=r"before\.json does not exist"):
        load_figures(tmp_path / "before.json")


@pytest.mark.parametrize(("arrays", "told"), [(None, "not an .npz file"), ({"A": [1.0]}, "needs arrays X .* has A")])
def test_a_damaged_set_is_named(tmp_path, monkeypatch, arrays, told: str) -> None:
    monkeypatch.setenv("CLADIFY_DATA", str(tmp_path))
    if arrays is None:
        (tmp_path / "damaged.npz").write_text("x")
    else:
        np.savez(tmp_path / "damaged.npz", **arrays)
    with pytest.raises(FileError, match=told):
        raw("damaged")


def test_worse_verdicts_are_found() -> None:
    a, b = row(what="a"), row(what="b")
    before = {a.key: Figure((1.0,)), b.key: Figure((1.0,))}
    now = {a.key: Figure((0.5,)), b.key: Figure((1.5,))}
    assert [line.partition(":")[0] for line in worse_than([a, b], now, before)] == [a.key.partition(":")[0]]


def test_the_page_has_a_line_a_row_and_the_causes() -> None:
    rows = [row(what="good"), row(0.1, what="bad | odd", cause="the data differ")]
    found = {r.key: Figure((r.run(0),)) for r in rows}
    text = markdown(rows, found, "quick")
    assert text.count("| table 0 |") == 2 and "the data differ." in text
    assert share(rows, found) == 50.0
    assert list(summary(rows, found)) == ["Charikar, Chatziafratis, Niazadeh, Yaroslavtsev: 1 reproduced, 1 worse"]


def test_linkages_give_the_printed_digits_of_zoo_and_glass() -> None:
    try:
        unit_scores("zoo"), unit_scores("glass")
    except DataMissing as error:
        pytest.skip(str(error))
    linkages = ("single", "average", "complete", "ward")
    exact = [
        r
        for r in all_rows("quick", "H")
        if r.table == "table 1" and r.data in ("zoo", "glass") and r.what.startswith(linkages)
    ]
    assert len(exact) == 8
    for r in exact:
        assert abs(r.run(0) - r.published) <= 0.0006, r.key


def test_what_a_table_tells_of_the_settings_gives_its_figures() -> None:
    """One tree of raw rows in both tables, gHHC on rows less their mean: other readings are .5 and more away."""
    try:
        raw("spambase"), raw("glass")
    except DataMissing as error:
        pytest.skip(str(error))
    told = {"k-means, spambase, MW", "random cut, spambase, MW", "GHHC, k-ary, glass, CKMM", "GHHC, k-ary, glass, MW"}
    rows = [r for r in all_rows("normal", "N") if r.what in told]
    assert len(rows) == len(told)
    for r in rows:
        assert verdict(r, Figure((r.run(0),))) == "reproduced", r.key


def test_trees_under_one_metric_are_called_by_it() -> None:
    for r in all_rows("all", "N"):
        if "Perch(" in r.call or "Grinch(" in r.call:
            assert "metric='sqeuclidean'" in r.call or r.table == "table 8", r.key


def test_iris_is_the_copy_of_the_paper() -> None:
    X = unit_scores("iris")
    assert np.allclose(X[[34, 37]], X[9], atol=1e-6)  # UCI has three rows of 4.9, 3.1, 1.5, 0.1


def test_median_linkage_holds_separated_blobs_together() -> None:
    random = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 20)
    X = random.normal(size=(60, 2)) + 50.0 * y[:, None]
    X[0] += 10.0  # an outlier of its blob
    tree = median_linkage(X, 0.02)
    tree.validate()
    assert dendrogram_purity(tree, y) == 1.0


def test_command(tmp_path, monkeypatch) -> None:
    import cladify.papers._run as module
    from cladify.cli import run

    monkeypatch.setattr(module, "_SOURCES", [lambda: iter([row(0.5), row(what="omitted")])])
    monkeypatch.setenv("CLADIFY_DATA", str(tmp_path / "data"))
    arguments = ["papers", "quick", "--paper", "C", "--only", "made", "--out", str(tmp_path)]
    assert run(arguments) == 0
    text = (tmp_path / "papers.md").read_text()
    assert "worse" in text and "omitted" not in text and "<h2>" in (tmp_path / "papers.html").read_text()
    good = tmp_path / "before.json"
    good.write_text(json.dumps({"figures": {row().key: {"values": [1.0], "seconds": 0, "missing": ""}}}))
    assert run([*arguments, "--check", str(good)]) == 1
    assert run(["papers", "data"]) == 0
    assert issubclass(DataMissing, CladifyError)


def test_theorems_hold_on_a_few_instances() -> None:
    proved = [r for r in all_rows("quick") if r.table == "theorems"]
    assert {r.paper for r in proved} == set(PAPERS)
    for r in proved:
        holds, _ = r.run.args
        assert failures(holds, 2, 0) == 0.0, r.what


def test_a_theorem_that_fails_is_counted() -> None:
    assert failures(lambda seed: seed % 3 > 0, 9, 0) == 3.0


def test_a_spread_of_rounding_is_none() -> None:
    r = row(seeds=2)
    shown = {sd: markdown([r], {r.key: Figure((0.5 - sd, 0.5 + sd))}, "quick") for sd in (1e-9, 0.01)}
    assert "| 0.5 ± 0 |" in shown[1e-9] and "| 0.5 ± 0.014 |" in shown[0.01]


def test_the_page_says_what_was_not_run() -> None:
    done, left = row(what="done"), row(what="left")
    shown = page([done, left], {done.key: Figure((1.0,)), left.key: Figure()}, [], {})
    assert "<p>Not a whole run: 1 of the 2 rows" in shown
    assert "Not a whole run" not in page([done], {done.key: Figure((1.0,))}, [], {})


@pytest.mark.parametrize("letter", list(PAPERS))
def test_quick_rows_are_as_good_as_recorded(tmp_path, letter: str) -> None:
    """``cladify papers quick --check docs/papers.json`` without its slowest rows."""
    page = Path(__file__).parents[2] / "docs" / "papers.json"
    if not page.exists():
        pytest.skip("no recorded figures beside an installed package")
    recorded = load_figures(page)
    quick = [r for r in all_rows("quick", letter) if r.key in recorded and recorded[r.key].seconds < 0.1]
    assert len(quick) > 3
    found = run_rows(quick, tmp_path / "papers.json")
    assert [key for key, figure in found.items() if figure.failed] == []
    moved = [r for r in quick if abs(found[r.key].mean - recorded[r.key].mean) > r.within]  # not the last digit's
    assert worse_than(moved, found, recorded) == []
