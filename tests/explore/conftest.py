import numpy as np
import pytest

import ramify

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
    return ramify.Taxonomy.from_texts(texts, min_size=4)


@pytest.fixture
def document(taxonomy, texts, tmp_path):
    from ramify.explore import open_document

    file = tmp_path / "things.taxonomy"
    taxonomy.save(file)
    rng = np.random.default_rng(1)
    labels = [text.split()[0] for text in texts]
    vectors = rng.normal(size=(len(texts), 5)).astype(np.float32)
    other = ramify.fit(vectors, "hac")
    return open_document(file, labels=labels, vectors=vectors, points=vectors[:, :2], compare=other, title="things")
