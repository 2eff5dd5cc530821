"""Small taxonomies that several test files look at."""

import sys
from pathlib import Path

import pytest

import cladify

sys.path.insert(0, str(Path(__file__).parent))
from taxonomy_texts import make_texts


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
