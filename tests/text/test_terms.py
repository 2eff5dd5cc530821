"""Terms and names, against plain counting."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trees import random_tree

from cladify import Tree
from cladify.taxonomy._names.names import Keyword, choose_names, node_keywords, node_sums
from cladify.text._language import fold
from cladify.text._terms import count_terms, grams_of, near_duplicates

WORDS = st.sampled_from(
    ["oak", "Elm", "ash.", "the", "of", "a", "fir-tree", "game", "Games", "x11", "C++", "2024", "漢字", "...", ",", ";"]
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(WORDS, max_size=12).map(" ".join), min_size=1, max_size=12))
def test_counts_agree_with_counting_one_text_at_a_time(texts):
    terms = count_terms(texts, min_texts=1)
    times = terms.times.toarray()
    for i, text in enumerate(texts):
        expected = Counter(grams_of(text, terms.stop_words, terms.language))
        for j, words in enumerate(terms.words):
            assert times[i, j] == expected[" ".join(words)]


def test_single_words_are_all_counted():
    terms = count_terms(["b c", "c d", "c"], min_texts=1, stop_words=frozenset())
    assert len(terms) == 0  # letters are no words
    terms = count_terms(["bb cc", "cc dd", "cc"], min_texts=1, stop_words=frozenset())
    assert {"bb", "cc", "dd"} <= set(terms.shown)


def test_plurals_are_one_term_shown_as_mostly_written():
    terms = count_terms(["Libraries", "libraries of code", "the library", "libraries"])
    assert terms.shown == ["libraries"] and terms.times.sum() == 4


def test_a_phrase_does_not_cross_punctuation_or_stop_words():
    terms = count_terms(["big red. blue car", "big red; blue car", "red of blue", "xx yy"] * 2)
    assert "big red" in terms.shown and "blue car" in terms.shown
    assert not any("red blue" in text for text in terms.shown)


def test_scripts_without_spaces_have_terms():
    terms = count_terms(["東京都の天気", "東京都の地図", "京都の天気", "大阪の天気"])
    assert any("東京" in text for text in terms.shown)


def test_no_text_has_a_term():
    assert len(count_terms(["", "the", "123"])) == 0
    assert len(count_terms([])) == 0


def test_one_huge_text_is_cut():
    terms = count_terms(["word " * 3_000_000, "word"])
    assert terms.shown == ["word"] and terms.times.max() == 10_000


@pytest.mark.parametrize("word", ["class", "status", "bus", "his", "gas"])
def test_words_that_only_look_plural_stay(word):
    assert fold(word) in (word, word)


def test_near_duplicates():
    assert near_duplicates("program", "programming") and near_duplicates("colour", "color")
    assert near_duplicates("错误", "内部错误") and not near_duplicates("错误", "文件")
    assert not near_duplicates("port", "portable") and not near_duplicates("internet", "interface")


@pytest.mark.parametrize("seed", range(5))
def test_node_sums_are_sums_over_members(seed):
    from scipy.sparse import random_array

    tree = random_tree(40, seed, max_children=4) if seed else Tree([2, 2, -1])
    counts = random_array((tree.n_leaves, 17), density=0.2, rng=seed, dtype=np.float32).tocsr()
    sums = node_sums(tree, counts).toarray()
    dense = counts.toarray()
    for v in range(tree.n_leaves, tree.n_nodes):
        np.testing.assert_allclose(sums[v - tree.n_leaves], dense[tree.members(v)].sum(axis=0), rtol=1e-5)


def two_kinds() -> tuple[Tree, list[str]]:
    """Six leaves in two groups of three."""
    return Tree([6, 6, 6, 7, 7, 7, 8, 8, -1]), ["red rose", "white rose", "rose", "red car", "white car", "car"]


def test_a_part_of_the_groups_can_be_named_again():
    tree, texts = two_kinds()
    terms = count_terms(texts)
    every = node_keywords(tree, terms)
    some = node_keywords(tree, terms, groups=[7])
    assert some[1] == every[1] and not some[0]
    central = [["item"]] * 3
    assert choose_names(tree, every, central, terms, kept={6: "car"})[:2] != ["car", "car"]
    assert choose_names(tree, every, central, terms, kept={6: "Roses"})[:2] == ["Roses", "car"]


def test_the_words_of_a_group_are_not_those_that_all_have():
    tree, texts = two_kinds()
    keywords = node_keywords(tree, count_terms(texts))
    assert keywords[0][0].term == "rose" and keywords[1][0].term == "car"
    assert keywords[0][0].share == 1.0
    assert "red" in [keyword.term for keyword in keywords[2]]  # the root has what is common


def test_siblings_have_different_names():
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(["sun", "moon", "star", "cloud", "rain", "wind", "snow"], 3)) for _ in range(200)]
    tree = random_tree(200, 3, max_children=5)
    tree = Tree(tree.parent).condense(min_size=5)
    names = choose_names(tree, node_keywords(tree, count_terms(texts)), [["item"]] * (tree.n_nodes - 200))
    for v in range(200, tree.root):
        beside = [names[u - 200] for u in tree.children(tree.parent[v]) if u >= 200 and u != v]
        assert names[v - 200] not in beside and names[v - 200]


def test_words_of_names_above_give_way_to_others():
    """Groups of metals, nickel and iron, beside plants: the first is "metal", and those in it are not."""
    tree = Tree([12, 12, 12, 12, 13, 13, 13, 13, 14, 14, 14, 14, 15, 15, 16, 16, -1])
    texts = ["metal nickel"] * 4 + ["metal iron"] * 4 + ["green plant", "plant", "plant leaf", "plant"]
    terms = count_terms(texts)
    names = choose_names(tree, node_keywords(tree, terms), [[]] * 5, terms)
    assert names[3].split(", ")[0] == "metal" and names[0] == "nickel" and names[1] == "iron"


def test_a_name_reaches_many_texts_where_it_can():
    """Two significant rare terms do not make a name where a plain word is in most of the texts."""
    texts = [f"tale {word}" for word in ("vampire", "dragon", *"abcdefghijklmnopqr")] + ["song"] * 12 + ["tale"] * 3
    tree = Tree([35] * 20 + [36] * 15 + [37, 37, -1])
    terms = count_terms(texts)
    assert "tale" in choose_names(tree, node_keywords(tree, terms), [[]] * 3, terms)[0]


def test_a_fourth_term_where_three_reach_too_few():
    words = ["oak", "elm", "ash", "fir", "yew", "bay"]
    texts = [word for word in words for _ in range(2)] + [f"alone{chr(97 + i)}" for i in range(18)] + ["car"] * 30
    tree = Tree([60] * 30 + [61] * 30 + [62, 62, -1])
    terms = count_terms(texts)
    assert choose_names(tree, node_keywords(tree, terms), [[]] * 3, terms)[0].count(", ") == 3


def test_a_name_is_not_all_words_of_the_names_above():
    """Metals and plants are one group; the part with the metals needs more than the first of these words."""
    texts = [*["metal"] * 10, *["metal nickel"] * 2, *["plant"] * 12, *["song"] * 12]
    tree = Tree([36] * 12 + [37] * 12 + [39] * 12 + [38, 38, 40, 40, -1])
    terms = count_terms(texts)
    names = choose_names(tree, node_keywords(tree, terms), [[]] * 5, terms)
    assert "metal" in names[2] and names[0] == "metal, nickel"


def test_what_all_texts_have_is_no_name():
    texts = [f"world. {words}" for words in ["oak, elm"] * 6 + ["car, bus"] * 6]
    tree = Tree([12] * 6 + [13] * 6 + [14, 14, -1])
    terms = count_terms(texts)
    names = choose_names(tree, node_keywords(tree, terms), [[]] * 3, terms)
    assert "world" not in " ".join(names[:2])


def test_without_terms_a_group_is_called_by_its_items():
    tree, _ = two_kinds()
    names = choose_names(tree, [[], [], []], [["oak", "elm", "ash"], ["oak", "elm"], []])
    assert names == ["oak · elm", "oak · elm, oak", "all items"] or names[0] != names[1]
    assert choose_names(tree, [[Keyword("big", 50.0, 1.0, ("big",))], [], []], [[], [], []])[0] == "big"
