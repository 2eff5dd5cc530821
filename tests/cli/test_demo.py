"""``ramify demo``, on the documentation of NumPy alone to be quick."""

import json
from pathlib import Path

import numpy as np
import pytest

from ramify import datasets
from ramify.datasets.describe import describe_cluster, describe_groups
from ramify.io import read_items, read_labels, read_tree, read_vectors

METHODS = ["--method", "hac", "--method", "random"]


@pytest.fixture(scope="module")
def corpus():
    return datasets.load_docstrings(["numpy"], n_components=30)


@pytest.fixture(autouse=True)
def small(corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "load_docstrings", lambda: corpus)


def test_demo(ramify, corpus, tmp_path: Path) -> None:
    done = ramify("demo", *METHODS, "--out", "deep/er", "--branches", 12)
    assert done.code == 0, done.err
    assert "dendrogram purity" in done.out and "random" in done.out and "seconds" in done.out
    assert "The tree of hac" in done.out
    assert "├── " in done.out and "numpy.polynomial" in done.out
    assert "ramify info deep/er/docstrings.tree --items deep/er/docstrings.csv" in done.out
    folder = tmp_path / "deep" / "er"
    tree = read_tree(folder / "docstrings.tree")
    assert tree.n_leaves == len(corpus.names)
    np.testing.assert_array_equal(read_vectors(folder / "docstrings.npy"), corpus.X)
    assert read_items(folder / "docstrings.csv", "name") == corpus.names
    assert read_labels(folder / "docstrings.csv", "module").tolist() == corpus.module.tolist()
    # What the demo suggests to try, works.
    done = ramify("info", "deep/er/docstrings.tree", "--items", "deep/er/docstrings.csv")
    assert done.code == 0 and "numpy." in done.out


def test_demo_as_json(ramify, corpus) -> None:
    done = ramify("demo", *METHODS, "--json")
    data = json.loads(done.out)
    assert data["n"] == len(corpus.names) and data["best"].startswith("hac")
    purity = {row["tree"]: row["dendrogram purity"] for row in data["scoreboard"]}
    assert purity["hac"] > purity["random"] + 0.2
    mw = {row["tree"]: row["scores"][0]["value"] for row in data["scoreboard"]}
    assert mw["hac, refined"] > mw["hac"] > mw["random"]


def test_demo_needs_a_place_and_known_methods(ramify, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = ramify("demo", "--out", "file")
    assert done.code == 1 and "cannot make the folder file" in done.err
    done = ramify("demo", "--method", "hax")
    assert done.code == 1 and "Did you mean 'hac'?" in done.err


def test_groups_are_nested_and_disjoint(corpus) -> None:
    import ramify as package

    tree = package.fit(corpus.X, "hac", metric="cosine")
    groups, beside = describe_groups(tree, corpus, n_groups=5, n_branches=15)
    assert len(groups) == 5 and sum(len(group.parts) or 1 for group in groups) == 15
    everything = np.concatenate([group.members for group in [*groups, *beside]])
    assert len(set(everything)) == len(everything) > 0.9 * len(corpus.names)
    assert [group.size for group in groups] == sorted((group.size for group in groups), reverse=True)
    for group in groups:
        assert group.size == len(group.members) and 0 < group.share <= 1 and 1 <= len(group.terms) <= 3
        inside = [leaf for part in group.parts for leaf in part.members]
        assert len(set(inside)) == len(inside) and set(inside) <= set(group.members)
        for part in group.parts:
            assert not set(part.terms) & set(group.terms)


@pytest.mark.parametrize("shape", ["path", "star"])
def test_groups_of_odd_trees(corpus, shape: str) -> None:
    import ramify as package

    n = len(corpus.names)
    path = np.concatenate([[n], np.arange(n, 2 * n - 1), np.arange(n + 1, 2 * n - 1), [-1]])
    tree = package.Tree(path if shape == "path" else np.append(np.full(n, n), -1))
    groups, beside = describe_groups(tree, corpus, n_groups=3, n_branches=9)
    assert [group.size for group in groups] == [n] and not beside


def test_words_say_what_a_cluster_is_about(corpus) -> None:
    members = np.flatnonzero(corpus.module == "numpy.polynomial")
    words = describe_cluster(corpus, members)
    assert words.home == "numpy.polynomial" and words.share == 1
    assert "polynomial" in " ".join(words.terms) or "series" in words.terms
    assert all(name.startswith("numpy.polynomial.") for name in words.examples)
