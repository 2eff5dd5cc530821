"""What the explorer's page is told, against the tree itself."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cladify
from cladify.errors import InvalidInput
from cladify.explore._text import Items, Texts, one_line
from cladify.explore._view import MOST_CHILDREN, View
from cladify.taxonomy._items import as_items


def random_tree(n, seed):
    return cladify.fit(np.random.default_rng(seed).normal(size=(n, 3)), "hac")


@given(st.integers(2, 60), st.integers(0, 20), st.integers(1, 60))
@settings(max_examples=60, deadline=None)
def test_cut_by_count_is_the_trees_own(n, seed, k):
    tree = random_tree(n, seed)
    view = View(tree)
    k = min(k, n)
    labels = view.labels(view.cut_nodes(n=k))
    expected = tree.cut(n_clusters=k)
    assert len(np.unique(np.column_stack([labels, expected]), axis=0)) == k == labels.max() + 1


@given(st.integers(2, 40), st.integers(0, 20), st.floats(0, 1))
@settings(max_examples=60, deadline=None)
def test_cut_by_height_is_the_trees_own(n, seed, share):
    tree = random_tree(n, seed)
    height = float(share * tree.height[tree.root])
    labels = View(tree).labels(View(tree).cut_nodes(height=height))
    expected = tree.cut(height=height)
    assert len(np.unique(np.column_stack([labels, expected]), axis=0)) == expected.max() + 1 == labels.max() + 1


def test_children_fill_their_parent(taxonomy):
    view = View(taxonomy.tree, items=taxonomy.items, names=taxonomy.names)
    stack = [taxonomy.tree.root]
    while stack:
        v = stack.pop()
        records = view.children(v)
        if records:
            assert sum(record["size"] for record in records) == view.record(v)["size"]
            assert [r["id"] for r in records] == sorted((r["id"] for r in records), key=lambda u: view.tree.first[u])
        stack += [record["id"] for record in records if record["kids"]]


def test_many_children_are_counted():
    n = 2 * MOST_CHILDREN
    view = View(cladify.Tree([n] * n + [-1]))
    records = view.children(n)
    assert len(records) == MOST_CHILDREN
    assert records[-1]["more"]
    assert sum(record["size"] for record in records) == n


def test_names_come_from_items_where_there_are_none():
    tree = cladify.Tree([3, 3, 4, 4, -1])
    assert View(tree, items=["a", "b", "c"]).name(4) == "c · a · b"
    assert View(tree).name(4) == "cluster 4"
    assert View(tree, names={4: "all"}).name(4) == "all"


def test_items_are_paged_and_sorted(taxonomy):
    view = View(taxonomy.tree, items=taxonomy.items)
    root, n = taxonomy.tree.root, taxonomy.n_items
    rows = [item["row"] for offset in range(0, n, 50) for item in view.items_of(root, offset, 50)["items"]]
    assert rows == taxonomy.tree.leaf_order.tolist()
    by_text = [item["text"].lower() for item in view.items_of(root, 0, n, "text")["items"]]
    assert by_text == sorted(by_text)
    assert view.items_of(root, n + 5)["items"] == []


def test_search_ranks_names_before_items():
    items = Items(as_items(["Oak tree", "an oak", "pine", "OAK"]))
    index = Texts(items, items.index(), {9: "Oaks and elms"}, np.ones(10))
    nodes, rows, total = index.find("oak", 10)
    assert nodes == [9]
    assert rows == [3, 0, 1]
    assert total == 4
    assert index.find("oak tree", 10)[1] == [0]
    assert index.find("  ", 10) == ([], [], 0)


def test_search_ranks_all_that_it_finds():
    """Whole words, then beginnings, then short ones: also where the best of 20 000 come last."""
    rng = np.random.default_rng(0)
    words = np.array(["oak", "Oakum", "cork oak", "soak", "élan", "中文"])
    texts = [" ".join(rng.choice(words, rng.integers(1, 6))) for _ in range(20_000)]
    texts[-3:] = ["an oak", "oak", "oak x"]
    items = Items(as_items(texts))
    index = Texts(items, items.index(), {}, np.ones(1))
    for query in ("oak", "oaku", "o", "éla", "中", "oak soak", "an"):
        wanted = query.split()

        def rank(row, wanted=wanted):
            text = texts[row].lower()
            whole = all(word in text.split() for word in wanted)
            return not whole, not text.startswith(wanted[0]), len(text.encode()), row

        _, rows, total = index.find(query, 30)
        found = [
            row
            for row, text in enumerate(texts)
            if all(any(w.startswith(q) if len(q) == 1 else q in w for w in text.lower().split()) for q in wanted)
        ]
        assert total == len(found)
        assert rows == sorted(found, key=rank)[:30]
    assert index.find("oak", 3)[1][0] == texts.index("oak")


def test_search_puts_whole_words_of_names_first():
    names = {7: "oakum rope", 8: "cork, oak", 9: "soaked"}
    items = Items(as_items(["pine"]))
    size = np.arange(10)
    assert Texts(items, items.index(), names, size).find("oak", 10)[0] == [8, 7, 9]


def test_more_like_this_is_the_nearest_by_cosine():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 8)).astype(np.float32)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    expected = [i for i in np.argsort(-(unit @ unit[17]))[:11].tolist() if i != 17][:10]
    view = View(cladify.fit(X, "hac"), vectors=X)
    assert [hit["row"] for hit in view.like(17, 10)["results"]] == expected


def test_one_leaf():
    view = View(cladify.Tree([-1]), items=["alone"])
    assert view.cut(n=1)["nodes"] == [0]
    assert view.card(0)["name"] == "alone"
    assert view.meta()["n"] == 1


def test_wrong_number_of_items():
    with pytest.raises(InvalidInput, match=r"items must have one entry a leaf \(3\), got 2"):
        View(cladify.Tree([3, 3, 4, 4, -1]), items=["a", "b"])


@pytest.mark.parametrize("text", ["a\x00b", "two\nlines", "x" * 1000, "\u202eright to left", "emoji 🌳"])
def test_one_line_is_one_printable_line(text):
    shown = one_line(text, 50)
    assert len(shown) <= 50
    assert shown.isprintable()
