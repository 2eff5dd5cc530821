"""``cladify add``, ``cladify remove`` and ``cladify watch``."""

import json
from pathlib import Path

import numpy as np

from cladify.io import read_tree


def test_add_and_remove(cladify, points: np.ndarray, tmp_path: Path) -> None:
    np.save(tmp_path / "more.npy", points + 0.01)
    done = cladify("add", "kept", "x.npy", "--method", "grinch", "-p", "metric=sqeuclidean")
    assert done.code == 0 and f"kept holds {len(points)} items" in done.out
    names = [f"later {i}" for i in range(len(points))]
    (tmp_path / "names2.txt").write_text("\n".join(names))
    done = cladify("add", "kept", "more.npy", "--ids", "names2.txt", "--json", "--tree", "now.tree")
    assert json.loads(done.out)["items"] == 2 * len(points)
    assert read_tree(tmp_path / "now.tree").n_leaves == 2 * len(points)
    done = cladify("remove", "kept", "0", "later 1")
    assert done.code == 0 and f"kept holds {2 * len(points) - 2} items" in done.out
    done = cladify("remove", "kept", "nobody")
    assert done.code == 1 and "nothing was changed" in done.err
    done = cladify("remove", "kept")
    assert done.code == 1 and "Say which items go" in done.err
    done = cladify("add", "kept2", "x.npy", "--method", "grimch")
    assert done.code == 1 and "grinch" in done.err and not (tmp_path / "kept2").exists()


def test_replace_and_what_the_folder_was_begun_with(cladify, points: np.ndarray, tmp_path: Path) -> None:
    np.save(tmp_path / "more.npy", points[:4] + 0.01)
    (tmp_path / "names.txt").write_text("0\n1\nnew\nnewer")
    assert cladify("add", "kept", "x.npy", "--method", "perch", "-p", "max_leaves=9").code == 0
    done = cladify("add", "kept", "more.npy", "--ids", "names.txt", "--replace", "--json")
    assert json.loads(done.out)["items"] == len(points) + 2  # 0 and 1 were counted, and are there
    done = cladify("add", "kept", "more.npy", "--ids", "names.txt")
    assert done.code == 1 and "id 'new' is in the tree already" in done.err
    done = cladify("add", "kept", "more.npy", "--replace")
    assert done.code == 1 and "needs --ids" in done.err
    for options, told in [(["--method", "grinch"], "method='grinch'"), (["-p", "max_leaves=8"], "max_leaves=8")]:
        done = cladify("add", "kept", "more.npy", *options)
        assert done.code == 1 and "begun with method 'perch'" in done.err and told in done.err
    assert cladify("add", "kept", "more.npy", "--method", "perch", "-p", "max_leaves=9").code == 0


def test_watch_takes_what_appears(cladify, points: np.ndarray, tmp_path: Path) -> None:
    inbox = tmp_path / "kept" / "inbox"
    inbox.mkdir(parents=True)
    np.save(inbox / "a.npy", points)
    (inbox / "b.npy").write_bytes(b"nonsense")
    np.save(inbox / ".hidden.npy", points)
    done = cladify("watch", "kept", "--once", "--method", "greedy", "-p", "metric=sqeuclidean")
    assert done.code == 0 and "a.npy: added" in done.out and "b.npy" in done.err
    assert (inbox / "done" / "a.npy").exists() and (inbox / "failed" / "b.npy").exists()
    np.save(inbox / "c.npy", points + 0.5)
    np.save(inbox / "a.npy", points)  # added before, as if the move had not happened
    done = cladify("watch", "kept", "--once", "--quiet")
    assert done.code == 0
    done = cladify("remove", "kept", "a:0", "c:1", "--json")
    assert json.loads(done.out)["items"] == 2 * len(points) - 2
