import shutil

import numpy as np
import pytest

import cladify
from tests.explore.chromium import CHROMIUM, FLAGS, show, watched

KIND = np.random.default_rng(5).choice(["red", "green", "<b>blue</b>"], 400, p=[0.7, 0.2, 0.1])
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
def colored(texts):
    """A taxonomy with a map and three columns."""
    n = len(texts)
    X = np.repeat(np.eye(4) * 9, 30, axis=0) + np.random.default_rng(1).normal(size=(n, 4))
    days = np.datetime64("2024-01-01") + np.arange(n).astype("m8[D]")
    columns = {"size": np.arange(n) ** 2.0, "tone": KIND[:n].tolist(), "day": days}
    return cladify.Taxonomy.fit(X, texts, columns=columns, metric="sqeuclidean", min_size=4)


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


@pytest.fixture(scope="module")
def browser():
    """One a module: Playwright keeps an event loop running, in which other tests could not start one."""
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def explorer(document):
    from cladify.explore import Explorer

    explorer = Explorer(document, port=0).start()
    yield explorer
    explorer.stop()


@pytest.fixture(scope="module")
def shared_tab(browser):
    page = watched(browser.new_page())
    yield page
    page.close()


@pytest.fixture
def tab(shared_tab):
    """One tab for all tests, because a new one is a new process: empty, and without cookies and settings."""
    shared_tab.context.clear_cookies()
    shared_tab.set_viewport_size({"width": 1280, "height": 800})
    shared_tab.emulate_media(color_scheme="light")
    shared_tab.problems.clear()
    yield shared_tab
    if shared_tab.url.startswith("http"):
        shared_tab.evaluate("localStorage.clear()")
    shared_tab.goto("about:blank")
    shared_tab.pending.clear()


@pytest.fixture
def page(tab, explorer):
    """The page at its tree, which has a box for every group."""
    yield show(tab, f"{explorer.url}#view=tree")
    assert tab.problems == []


@pytest.fixture(scope="session")
def many():
    """A thousand items in 24 groups of 6, with names that are long, hostile or empty of meaning."""
    random = np.random.default_rng(3)
    y = np.repeat(np.arange(24), 42)
    X = 9 * random.normal(size=(6, 12))[y % 6] + 4 * random.normal(size=(24, 12))[y] + random.normal(size=(len(y), 12))
    items = [f"kind{g % 6} subject{g} <b>item</b> {'long' * (g % 4)} word{g}x{i % 5}" for i, g in enumerate(y.tolist())]
    return cladify.Taxonomy.fit(X, items, min_size=8)
