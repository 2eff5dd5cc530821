"""Small taxonomies that several test files look at."""

import pytest
from taxonomy_texts import make_texts

import cladify


@pytest.fixture(scope="session")
def _made() -> cladify.Taxonomy:
    texts, _ = make_texts()
    return cladify.Taxonomy.from_texts(texts)


@pytest.fixture
def taxonomy(_made: cladify.Taxonomy, tmp_path_factory: pytest.TempPathFactory) -> cladify.Taxonomy:
    """A taxonomy of 180 texts of three kinds, ours to edit."""
    path = tmp_path_factory.mktemp("made") / "made.taxonomy"
    _made.save(path)
    return cladify.Taxonomy.load(path)
