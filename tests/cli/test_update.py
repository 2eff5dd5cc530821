"""``cladify update`` and ``changes``."""

import os

import numpy as np
import pytest

from cladify.taxonomy import Taxonomy

SOME = [f"{a} {b}" for a in ("red", "green", "old", "new") for b in ("apple", "engine", "boat", "shoe", "lamp")]


def write(path, rows):
    path.write_text("id,text,year\n" + "".join(f"{i},{text},{2000 + i % 5}\n" for i, text in rows))
    return str(path)


def test_update_and_changes(cladify, tmp_path):
    first = write(tmp_path / "a.csv", enumerate(SOME))
    file = str(tmp_path / "a.taxonomy")
    cladify("taxonomy", first, "--out", file, "--min-size", "2", "-q")
    new = write(tmp_path / "b.csv", [(20, "tiny apple"), (3, "huge shoe")])
    (tmp_path / "gone.csv").write_text("id\n0\n1\n")
    found = cladify("update", file, new, "--remove", str(tmp_path / "gone.csv"))
    assert found.code == 0, found.err
    out = found.out
    assert "19 items" in out and "1 added, 1 replaced, 2 removed" in out
    made = Taxonomy.load(file)
    assert made.ids == [*range(2, 21)] and made.items[1] == "huge shoe" and made.items[-1] == "tiny apple"
    assert made.columns["year"].to_pylist()[-1] == 2000
    found = cladify("changes", file, "--json").json
    assert found["n_updates"] == 1 and (found["before"], found["after"]) == (20, 19)
    assert "update: 1 item added, 1 replaced, 2 removed" in cladify("changes", file).out
    assert "20 items" in cladify("update", file, "--undo").out
    assert Taxonomy.load(file).items == SOME
    assert "no update to undo" in cladify("update", file, "--undo").err
    assert cladify("update", file).code == 2


@pytest.mark.parametrize("shown", [[], ["--items-column", "colour"]])
def test_several_columns_of_texts(cladify, tmp_path, shown):
    def rows(name, colours, things):
        path = tmp_path / name
        lines = [f"{colour} {thing},{thing} shop,{colour}" for colour in colours for thing in things]
        path.write_text("title,body,colour\n" + "\n".join(lines) + "\n")
        return str(path)

    things = ["apple", "engine", "boat", "shoe", "lamp"]
    file = str(tmp_path / "a.taxonomy")
    first = rows("a.csv", ["red", "green", "old", "new"], things)
    cladify("taxonomy", first, "--text", "title:2,body", *shown, "--out", file, "--min-size", "2", "-q")
    found = cladify("update", file, rows("b.csv", ["tiny"], things), *shown)
    assert found.code == 0, found.err
    assert "texts: title:2 + body" in found.out and "5 added" in found.out
    made = Taxonomy.load(file)
    assert made.items[-5:] == (["tiny"] * 5 if shown else [f"tiny {thing}" for thing in things])
    assert made.columns["body"].to_pylist()[-5:] == [f"{thing} shop" for thing in things]
    # The live tree is that of the whole texts, the old ones and the new.
    old = [f"{c} {t}\n{c} {t}\n{t} shop" for c in ("red", "green", "old", "new", "tiny") for t in things]
    np.testing.assert_allclose(made._vectors(), made._embedder.transform(old), atol=1e-6)


def test_lacking_vectors_are_named_by_their_option(cladify, tmp_path):
    X = np.random.default_rng(0).normal(size=(24, 4)).astype(np.float32)
    source, moved, new, file = (str(tmp_path / name) for name in ("a.npy", "b.npy", "new.npy", "a.taxonomy"))
    np.save(source, X[:20])
    np.save(new, X[20:])
    cladify("taxonomy", source, "--out", file, "-q")
    os.rename(source, moved)
    assert "--old-vectors" in cladify("update", file, new).err
    assert "24 items" in cladify("update", file, new, "--old-vectors", moved).out
