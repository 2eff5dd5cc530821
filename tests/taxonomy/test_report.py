"""Reports on taxonomies, against plain counting."""

import json
from contextlib import nullcontext
from itertools import pairwise

import numpy as np
import pytest
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score

import cladify
from cladify.errors import InvalidInput
from cladify.taxonomy._report.measures import (
    Neighbors,
    coherence,
    duplicates,
    neighbors_inside,
    ranked_agreement,
    spread_rows,
)
from cladify.text._terms import count_terms


def blobs(n: int = 240, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows in two levels: three groups of two."""
    random = np.random.default_rng(seed)
    y = np.arange(n) % 6
    centres = 10 * np.repeat(random.normal(size=(3, 5)), 2, axis=0) + 3 * random.normal(size=(6, 5))
    return (centres[y] + 0.5 * random.normal(size=(n, 5))).astype(np.float32), y


@pytest.fixture(scope="module")
def made() -> tuple[cladify.Taxonomy, np.ndarray]:
    X, y = blobs()
    items = [f"kind{k} thing{i % 7}" for i, k in enumerate(y)]
    return cladify.Taxonomy.fit(X, items, metric="sqeuclidean", min_size=10), y


def test_neighbours_are_those_of_brute_force(made):
    taxonomy, _ = made
    tree, X = taxonomy.tree, blobs()[0]
    found = Neighbors(X, spread_rows(tree, 1000), tree, "sqeuclidean")
    distance = ((X[:, None] - X) ** 2).sum(axis=2)
    np.fill_diagonal(distance, np.inf)
    for i in range(0, 240, 17):
        assert set(found.near[i]) == set(np.argsort(distance[i])[:10])
    inside, beside, rival = neighbors_inside(tree, found)
    for v in range(240, tree.root):
        rows = tree.members(v)
        near = found.near[rows]
        assert inside[v - 240] == pytest.approx(np.isin(near, rows).mean())
        groups = [int(u) for u in tree.children(tree.parent[v]) if u >= 240 and u != v]
        shares = {u: np.isin(near, tree.members(u)).mean() for u in groups}
        assert beside[v - 240] == pytest.approx(sum(shares.values()))
        if sum(shares.values()):
            assert shares[int(rival[v - 240])] == max(shares.values())


@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine"])
def test_the_share_of_a_group_among_as_many_nearest_items(made, metric):
    tree, X = made[0].tree, blobs()[0]
    random = np.random.default_rng(0)
    labels = random.integers(-1, 4, 240)
    U = X / np.linalg.norm(X, axis=1, keepdims=True) if metric == "cosine" else X
    distance = ((U[:, None].astype(float) - U) ** 2).sum(axis=2)
    np.fill_diagonal(distance, np.inf)
    expected = []
    for i in np.flatnonzero(labels >= 0):
        others = (labels == labels[i]).sum() - 1
        hits = (labels[np.argsort(distance[i])[:others]] == labels[i]).mean()
        expected.append((hits - others / 239) / (1 - others / 239))
    found = ranked_agreement(X, tree, metric, [labels, blobs()[1] // 2, np.zeros(240, int)])
    assert found[0] == pytest.approx(np.mean(expected), abs=2e-3)
    assert found[1] > 0.5 > found[0] and np.isnan(found[2])


def test_duplicates_are_counted_in_each_group(made):
    taxonomy, _ = made
    tree = taxonomy.tree
    code = np.random.default_rng(1).integers(0, 60, 240)
    found = duplicates(tree, code)
    for v in range(240, tree.n_nodes):
        rows = tree.members(v)
        assert found[v - 240] == pytest.approx(1 - len(set(code[rows].tolist())) / len(rows))


def test_coherence_is_npmi():
    terms = count_terms(["oak elm", "oak elm", "oak ash", "pine fir", "pine fir", "ash fir"], min_texts=1)
    always, never, one = coherence(terms, [["pine", "fir"], ["oak", "pine"], ["oak"]])
    both, pine, fir = 2 / 6, 2 / 6, 3 / 6
    assert always == pytest.approx(np.log(both / (pine * fir)) / -np.log(both))
    assert never == -1.0 and np.isnan(one)


def test_shuffled_items_score_lower(made):
    taxonomy, _ = made
    X, tree = blobs()[0], taxonomy.tree
    random = np.random.default_rng(0)
    scores = []
    for share in (0.0, 0.05, 0.1, 0.2):
        moved = random.choice(240, int(240 * share), replace=False)
        parent = tree.parent.copy()
        parent[moved] = parent[random.permutation(moved)]
        shuffled = cladify.Taxonomy(cladify.Tree(parent, tree.height), X=X, metric="sqeuclidean")
        scores.append(shuffled.report(resamples=0).overall["score"])
    assert all(a > b for a, b in pairwise(scores))


def test_groups_that_are_real_are_found_again(made):
    taxonomy, _ = made
    report = taxonomy.report()
    top = report.arrow_groups.to_pylist()[1]
    assert top["stability"] > 0.9 and report.overall["stability"] > 0.6
    assert report.overall["n_measured"] == report.overall["n_items"] == 240


def test_agreement_with_labels(made):
    taxonomy, y = made
    report = taxonomy.report(labels=[None if i < 10 else int(k) for i, k in enumerate(y)], resamples=0)
    level = taxonomy.levels[-1]
    labels = taxonomy.table([level], form="arrow").column("label_1").to_numpy()[10:]
    got = report.agreement.levels[-1]
    assert report.agreement.n_labelled == 230
    assert got.ari == pytest.approx(adjusted_rand_score(y[10:], labels))
    assert got.ami == pytest.approx(adjusted_mutual_info_score(y[10:], labels))
    assert got.purity == pytest.approx(sum(np.bincount(y[10:][labels == c]).max() for c in set(labels)) / 230)
    assert sum(map(sum, report.agreement.crosstab)) == 230


def test_bad_labels_are_refused(made):
    with pytest.raises(InvalidInput, match="there are 3 labels for 240 rows"):
        made[0].report(labels=[1, 2, 3])
    with pytest.raises(InvalidInput, match="no item has a label"):
        made[0].report(labels=[-1] * 240)


def test_the_page_shows_hostile_items_as_text(tmp_path):
    bad = "<script>alert(1)</script>"
    texts = [f"{bad} apple {i}" for i in range(12)] + [f'engine "><img src=x> {i}' for i in range(12)]
    taxonomy = cladify.Taxonomy.from_texts(texts, min_size=4)
    taxonomy.rename(taxonomy.levels[0].nodes[0], bad)
    report = taxonomy.report(labels=[bad] * 12 + ["<b>"] * 12, resamples=0)
    report.save_html(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "<script" not in page and "<img" not in page and "<b>" not in page and "&lt;script&gt;" in page
    assert json.loads(report.to_json())["overall"]["n_items"] == 24


def test_without_vectors_the_confidence_counts(tmp_path, made):
    made[0].save(tmp_path / "a.taxonomy")
    report = cladify.Taxonomy.load(tmp_path / "a.taxonomy").report()
    assert 0 < report.overall["score"] <= 1 and report.overall["neighbors"] is None


@pytest.mark.parametrize("texts", [["one"], ["", "", ""], ["a\x00b\x1b[31m red", "東京 oak Дуб"] * 10])
def test_texts_that_say_little(texts):
    if not any(texts):
        with pytest.raises(InvalidInput, match="has a word to go by"):
            cladify.Taxonomy.from_texts(texts)
        return
    with pytest.warns(cladify.CladifyWarning, match="one text") if len(texts) == 1 else nullcontext():
        taxonomy = cladify.Taxonomy.from_texts(texts)
    assert "\x1b" not in taxonomy.summary() and taxonomy.report(resamples=0).summary()


def test_empty_texts_are_a_group_of_their_own_name():
    from cladify.taxonomy._names.plain import NO_TEXT, mostly_empty

    tree = cladify.Tree([6, 6, 6, 7, 7, 7, 8, 8, -1])
    assert mostly_empty(tree, np.array([1, 1, 0, 0, 0, 1], bool), ["a", "b", "all"]) == [NO_TEXT, "b", "all"]


def test_labels_as_names(made):
    X, y = blobs()
    taxonomy = cladify.Taxonomy.fit(X, metric="sqeuclidean", min_size=10)
    taxonomy.name(labels=[f"kind {k}" for k in y])
    named = [name for name in taxonomy.names.values() if name.startswith("kind ")]
    assert len(named) >= 4 and any("100%" in name for name in named)


def test_levels_are_a_choice():
    random = np.random.default_rng(0)
    X = random.normal(size=(600, 4)) + 4 * random.normal(size=(30, 4))[np.arange(600) % 30]
    counts = [level.n_clusters for level in cladify.Taxonomy.fit(X, metric="sqeuclidean").levels]
    assert all(b >= 1.8 * a for a, b in pairwise(counts))


def test_vectors_of_texts_are_made_again_for_a_file(tmp_path):
    words = ["oak", "elm", "pine", "ash", "car", "bus", "train", "boat"]
    random = np.random.default_rng(0)
    texts = [" ".join(random.choice(words[:4] if i % 2 else words[4:], 3)) + f" {i}" for i in range(120)]
    made = cladify.Taxonomy.from_texts(texts, min_size=8)
    before = made.report(resamples=1).to_dict()
    made.save(tmp_path / "t.taxonomy")
    after = cladify.Taxonomy.load(tmp_path / "t.taxonomy").report(resamples=1).to_dict()
    assert after["overall"]["score"] == pytest.approx(before["overall"]["score"], abs=0.02)
    for name in ("neighbors", "confusion", "stability"):
        assert after["overall"][name] == pytest.approx(before["overall"][name], abs=0.05)
    named = cladify.Taxonomy.from_texts(texts, items=[f"item {i}" for i in range(120)], min_size=8)
    named.save(tmp_path / "named.taxonomy")
    loaded = cladify.Taxonomy.load(tmp_path / "named.taxonomy")
    assert loaded.report(resamples=0).overall["neighbors"] is None  # what the items said is not in the file
    assert loaded.report(resamples=0, texts=texts).overall["neighbors"] is not None
