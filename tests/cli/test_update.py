"""``cladify update`` and ``changes``."""

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
    assert "update: 1 items added, 1 replaced, 2 removed" in cladify("changes", file).out
    assert "20 items" in cladify("update", file, "--undo").out
    assert Taxonomy.load(file).items == SOME
    assert "no update to undo" in cladify("update", file, "--undo").err
    assert cladify("update", file).code == 2
