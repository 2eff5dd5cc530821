import shutil

import numpy as np
import pytest

import cladify

HOSTILE = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"


@pytest.fixture(scope="session")
def texts():
    rng = np.random.default_rng(0)
    subjects = {
        "bread": ["oven", "flour", "yeast", "crust", "dough"],
        "bridge": ["steel", "river", "cable", "arch", "span"],
        "violin": ["bow", "string", "concert", "melody", "tune"],
        "planet": ["orbit", "moon", "ring", "comet", "star"],
    }
    made = []
    for subject, words in subjects.items():
        for i in range(30):
            some = rng.choice(words, 3, replace=False)
            made.append(f"{subject} {some[0]} {subject} {some[1]} {some[2]} number {i}")
    made[7] = f"bread {HOSTILE} flour"
    made[40] = "bridge =1+1 steel\x1b[31m span"
    return made


@pytest.fixture(scope="session")
def taxonomy(texts):
    return cladify.Taxonomy.from_texts(texts, min_size=4)


@pytest.fixture(scope="session")
def prepared(taxonomy, texts, tmp_path_factory):
    """The file of a document and the options to open it with; made once, and copied by every test."""
    file = tmp_path_factory.mktemp("prepared") / "things.taxonomy"
    taxonomy.save(file)
    vectors = np.random.default_rng(1).normal(size=(len(texts), 5)).astype(np.float32)
    labels = [text.split()[0] for text in texts]
    other = cladify.fit(vectors, "hac")
    return file, {"labels": labels, "vectors": vectors, "points": vectors[:, :2], "compare": other, "title": "things"}


@pytest.fixture
def document(prepared, tmp_path):
    from cladify.explore import open_document

    file, options = prepared
    return open_document(shutil.copy(file, tmp_path / "things.taxonomy"), **options)


@pytest.fixture(scope="session")
def tree_folder(tmp_path_factory):
    """A tree of 90 items in a folder, and its groups: 40 items of three kinds and 50 more."""
    pytest.importorskip("pyarrow")
    from cladify.distributed import TreeFolder

    rng = np.random.default_rng(2)
    X = np.repeat(np.eye(4) * 20, [13, 13, 14, 50], axis=0) + rng.normal(size=(90, 4))
    return TreeFolder.write(cladify.fit(X, "hac"), tmp_path_factory.mktemp("folder") / "big", n_groups=5)
