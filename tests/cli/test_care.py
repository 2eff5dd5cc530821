"""``cladify check``, ``backup`` and ``rescue``, closed outputs, and modules of the current folder."""

import subprocess
import sys

import numpy as np
import pytest

import cladify as package
from cladify.distributed import TreeFolder
from cladify.neighbors import neighbors


@pytest.fixture
def kept(tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 3))
    tree = package.fit(X, "hac")
    tree.save(tmp_path / "t.tree")
    tree.save(tmp_path / "t.nwk")
    TreeFolder.write(tree, tmp_path / "folder", n_groups=5)
    neighbors(X, 5).save(tmp_path / "g.npz")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "kind", "counts"),
    [
        ("t.tree", "tree", {"leaves": 40, "nodes": 79}),
        ("t.nwk", "tree", {"leaves": 40, "nodes": 79}),
        ("folder", "tree folder", {"leaves": 40, "groups": 5}),
        ("g.npz", "graph", None),
    ],
)
def test_check(cladify, kept, name, kind, counts) -> None:
    done = cladify("check", name, "--json")
    assert done.code == 0 and done.json["kind"] == kind and done.json["problems"] == [], done
    assert done.json["last_change"].startswith("20") and (counts is None or done.json["counts"] == counts)
    assert "whole" in cladify("check", name).out
    file = kept / name if name != "folder" else kept / "folder" / "top.tree"
    raw = bytearray(file.read_bytes())
    raw[len(raw) // 2] ^= 0x55
    file.write_bytes(bytes(raw[: -len(raw) // 8]))
    done = cladify("check", name, "--json")
    assert done.code == 1 and len(done.json["problems"]) == 1 and done.err == ""


def test_what_cannot_be_done_is_one_line(cladify, kept) -> None:
    for line, message in (
        ("check none.tree", "does not exist"),
        ("rescue t.tree t.nwk", "t.nwk exists"),
        ("rescue t.tree saved.tree", "nothing can be rescued"),
        ("backup folder folder", "would be overwritten"),
    ):
        done = cladify(*line.split())
        assert done.code == 1 and message in done.err and done.err.count("\n") == 1, (line, done)


def test_online_folders_and_taxonomies_have_their_own(cladify, kept, monkeypatch) -> None:
    from cladify import online, taxonomy

    (kept / "live").mkdir()
    (kept / "x.taxonomy").write_bytes(b"")
    found = {"kind": "x", "version": 2, "counts": {}, "last_change": "", "problems": []}
    for module in (online, taxonomy):
        monkeypatch.setattr(module, "check", lambda path: found, raising=False)
        monkeypatch.setattr(module, "rescue", lambda path, to: {"rescued": 3}, raising=False)
    monkeypatch.setattr(online, "backup", lambda folder, to: None, raising=False)
    for name in ("live", "x.taxonomy"):
        assert cladify("check", name, "--json").json["version"] == 2
        assert cladify("rescue", name, "saved", "--json").json["rescued"] == 3
    assert cladify("backup", "live", "copy").out == "live: copied to copy\n"


def shell(line: str, folder) -> subprocess.CompletedProcess[str]:
    script = line.replace("cladify", f"{sys.executable} -m cladify")
    return subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, text=True, timeout=100, check=False)


def test_a_closed_output_is_no_bug(tmp_path) -> None:
    (tmp_path / "t.nwk").write_text("(" + ",".join(map(str, range(60_000))) + ");")
    done = shell("cladify cut t.nwk --height 0 | head -n 1; echo ${PIPESTATUS[0]}", tmp_path)
    assert done.stdout == "0\n141\n" and done.stderr == ""
    done = shell("cladify methods >&-; echo $?", tmp_path)
    assert done.stdout == "0\n" and done.stderr == ""


def test_a_module_of_this_folder_takes_no_librarys_place(cladify, tmp_path, monkeypatch) -> None:
    from cladify.text._embed import load_callable

    (tmp_path / "own_embedder.py").write_text("import json, colorsys\ndef f(texts):\n    return texts\n")
    (tmp_path / "colorsys.py").write_text("raise SystemExit('a stray module runs')\n")
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry not in ("", str(tmp_path))])
    before = list(sys.path)
    assert load_callable("own_embedder:f", "embedder")([1]) == [1]
    assert sys.path == before


def test_a_table_for_spreadsheets(cladify, tmp_path) -> None:
    X = np.random.default_rng(0).normal(size=(30, 3))
    package.Taxonomy.fit(X, [f"={i}+1" for i in range(30)]).save("t.taxonomy")
    assert '"=3+1"' in cladify("table", "t.taxonomy").out
    assert '"\'=3+1"' in cladify("table", "t.taxonomy", "--excel-safe").out
    assert cladify("table", "t.taxonomy", "--excel-safe", "--out", "t.csv").code == 0
    assert '"\'=3+1"' in (tmp_path / "t.csv").read_text()
