"""Items that are one text but for their numbers, such as the files of a folder of pictures, name no group."""

import numpy as np
import pytest

import cladify


@pytest.mark.parametrize("pattern", ["number {}", "img_{:05d}.png", "/data/pictures/{}.jpg"])
def test_groups_of_numbered_items_have_numbers(pattern):
    y = np.repeat(np.arange(4), 30)
    X = 9 * np.eye(4)[y] + np.random.default_rng(0).normal(size=(120, 4))
    taxonomy = cladify.Taxonomy.fit(X, [pattern.format(i) for i in range(120)])
    names = [taxonomy.names[v] for v in taxonomy.levels[0].nodes]
    assert all(name.startswith("group ") for name in names), names


def test_numbers_that_are_classes_name_their_groups():
    y = np.repeat(np.arange(4), 30)
    X = 9 * np.eye(4)[y] + np.random.default_rng(0).normal(size=(120, 4))
    taxonomy = cladify.Taxonomy.fit(X, [f"class {g}" for g in y])
    assert any(name.startswith("class ") for name in taxonomy.names.values())


def test_captions_name_groups_of_numbered_pictures():
    y = np.repeat(np.arange(4), 30)
    X = 9 * np.eye(4)[y] + np.random.default_rng(0).normal(size=(120, 4))
    words = ["kitten", "puppy", "lorry", "sailboat"]
    taxonomy = cladify.Taxonomy.fit(X, [f"img_{i:05d}.png" for i in range(120)], texts=[f"a {words[c]}" for c in y])
    assert {taxonomy.names[v] for v in taxonomy.levels[0].nodes} == set(words)
