"""What a new user does wrong: each is refused in a line or two that say what is wrong, and what to do."""

import numpy as np
import pytest

ROWS = [
    f"T{i},{team},{i % 7},{text} number {i}"
    for i, (team, text) in enumerate(
        [("billing", "invoice wrong"), ("billing", "charged twice on card"), ("app", "app crashes on start")] * 10
    )
]
HEAD = "ticket,team,minutes,message"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with one file of each kind."""
    from cladify.taxonomy import Taxonomy

    folder = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4)).astype(np.float32)
    np.save(folder / "x.npy", X)
    np.save(folder / "objects.npy", np.array([1, "a", None], dtype=object), allow_pickle=True)
    np.save(folder / "words.npy", np.array(["a", "b"]))
    X[3, 2] = np.nan
    np.save(folder / "nan.npy", X)
    for name, text in {
        "t.csv": "\n".join([HEAD, *ROWS]),
        "twice.csv": "\n".join([HEAD, *ROWS, ROWS[0]]),
        "semicolons.csv": "\n".join([HEAD.replace(",", ";"), *ROWS]),
        "header.csv": HEAD + "\n",
        "empty.csv": "",
        "few.txt": "one\ntwo\n",
        "list.json": '["a"]',
        "unknown.json": '{"Billing": ["zyxwv"]}',
        "number.json": '{"Billing": [7.5]}',
    }.items():
        (folder / name).write_text(text)
    (folder / "nothing").mkdir()
    (folder / "nothing" / "a.xyz").write_text("x")
    Taxonomy.fit(np.nan_to_num(X), [f"item {i}" for i in range(30)], n_jobs=1).save(folder / "a.taxonomy")
    return folder


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("taxonomy t.csv --text mesage", "no column 'mesage'. Did you mean 'message'?"),
        ("taxonomy t.csv --id tiket", "Did you mean 'ticket'?"),
        ("taxonomy t.csv --label teem", "no column 'teem'"),
        ("taxonomy t.csv --vectors message", "30 cells that are no number"),
        ("taxonomy t.cvs", "t.cvs does not exist. Did you mean t.csv?"),
        ("taxonomy semicolons.csv", "line 2: expected"),
        ("taxonomy empty.csv", "empty.csv is empty."),
        ("taxonomy header.csv", "has no rows, only the header"),
        ("taxonomy nothing", "has no tables, no images and no files"),
        ("taxonomy twice.csv --id ticket", "ids must be different: 'T0' is the id of rows 0 and 30"),
        ("taxonomy t.csv --levels 20,5", "levels must grow"),
        ("taxonomy t.csv --levels 5,x", "takes numbers of clusters, such as 10,50; got '5,x'"),
        ("taxonomy t.csv --levels 5,500", "levels must be"),
        ("taxonomy t.csv --seeds list.json", "names with lists of examples"),
        ("taxonomy t.csv --seeds number.json", "7.5, which is neither a text nor the id of one"),
        ("taxonomy t.csv --seeds-column temas", "no column 'temas'"),
        ("taxonomy a.taxonomy --out b.taxonomy", "looks like a taxonomy"),
        ("taxonomy x.npy --items few.txt", "there are 2 items in few.txt for 30 vectors in x.npy"),
        ("taxonomy x.npy --text message", "name columns of a table"),
        ("taxonomy nan.npy", "NaN in 1 row (first: 3)"),
        ("taxonomy words.npy", "not numbers. Embed texts"),
        ("taxonomy objects.npy", "holds Python objects"),
        ("fit few.txt", "few.txt: '.txt' files cannot be read as vectors"),
        ("info t.csv", "looks like a table, which 'cladify taxonomy' takes"),
        ("explore t.csv", "looks like a table, which 'cladify taxonomy' takes"),
        ("cut x.npy -k 5", "x.npy is not a tree"),
        ("table t.csv", "which Taxonomy.save(path) writes. It looks like a table, which 'cladify taxonomy' takes"),
        ("place x.npy t.csv", "It looks like vectors"),
        ("place a.taxonomy t.csv", "vectors"),
        ("table a.taxonomy --join none.csv", "none.csv does not exist"),
        ("trend a.taxonomy --by when", "there is no column 'when'"),
        ("dedupe t.csv --text nmae", "no column 'nmae'"),
        ("dedupe x.npy --text a", "looks like vectors"),
        ("report t.csv", "looks like a table"),
        ("update t.csv t.csv", "looks like a table"),
    ],
)
def test_it_is_refused_and_says_what_to_do(cladify, monkeypatch, made, line, said):
    monkeypatch.chdir(made)
    before = sorted(path.name for path in made.iterdir())
    done = cladify(*line.split())
    assert done.code in (1, 2) and said in " ".join(done.err.split()), done.err
    assert "Traceback" not in done.err and len(done.err) < 600
    assert sorted(path.name for path in made.iterdir()) == before


def test_a_seed_that_no_text_has_a_word_of_is_said(cladify, monkeypatch, made):
    monkeypatch.chdir(made)
    done = cladify("taxonomy", "t.csv", "--seeds", "unknown.json", "--out", made.parent / "seeded.taxonomy")
    assert done.code == 0 and "'zyxwv', of which no text has a word" in " ".join(done.err.split())


def test_seeds_by_ids_that_are_texts(cladify, monkeypatch, made):
    monkeypatch.chdir(made)
    (made / "ids.json").write_text('{"Crash": ["T2", "T5", "T8"]}')
    done = cladify("taxonomy", "t.csv", "--id", "ticket", "--seeds", "ids.json", "--out", made.parent / "ids.taxonomy")
    assert done.code == 0 and "no text has a word" not in done.err and "Crash" in done.out
