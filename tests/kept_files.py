"""Small files of every format that people keep, as the released versions wrote them: ``tests/kept/VERSION``.

``python tests/kept_files.py`` writes the folder of the present version: run it at a release, and commit what it made.
A folder is never written again once its version is out.
"""

import json
import shutil
import sqlite3
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np

import cladify

KEPT = Path(__file__).parent / "kept"
#: Three groups of points, one of them a pair.
X = np.array([[1, 1], [0, 1], [1, 0], [9, 9], [9, 8], [20, 1], [21, 1], [20, 0]], np.float32)
TEXTS = [f"{what} {word}" for what in ("ripe fruit", "loud engine") for word in ("red", "green", "old", "new", "small")]


def write(folder: Path) -> None:
    """Files of every format but models, which need PyTorch."""
    folder.mkdir(parents=True)
    tree = cladify.fit(X, method="hac", linkage="average")
    tree.save(folder / "tree.tree")
    cladify.io.write_tree(tree, folder / "tree.json")
    cladify.fit(X, method="scc", n_neighbors=3, n_rounds=5).save(folder / "rounds.tree")  # with levels
    cladify.Llama(n_neighbors=3, n_rounds=4).fit(X).dag_.save(folder / "clusters.dag")
    cladify.neighbors.neighbors(X, 3).save(folder / "graph.npz")
    taxonomy = cladify.Taxonomy.from_texts(TEXTS, ids=list("abcdefghij"), columns={"year": list(range(1999, 2009))})
    engines = int(taxonomy.path(7)[0])
    taxonomy.rename(engines, "Machines")
    taxonomy.save(folder / "texts.taxonomy")
    taxonomy.note(engines, "loud ones")
    taxonomy.save_edits(folder / "texts.taxonomy")
    with cladify.LiveTree(n_neighbors=3).partial_fit(X[:6], ids=list("abcdef")).save(folder / "online") as online:
        online.partial_fit(X[6:], ids=["g", "h"])  # after the snapshot: a record of its own
        online.remove(["b"])
    for path in (folder / "online").iterdir():  # the lock, and the empty log
        if path.name != "tree.sqlite":
            path.unlink()


def write_model(folder: Path) -> None:
    from cladify.embed import VAE

    rows = np.tile(X, (20, 1))
    model = VAE(n_latent=1, hidden=(8,), n_epochs=100, likelihood="gaussian", learning_rate=0.01, random_state=0)
    model.fit(rows).save(folder / "model.safetensors")


def read(folder: Path) -> dict:
    """What the files of a folder say, as plain values."""
    trees = {name: cladify.Tree.load(folder / name) for name in ("tree.tree", "tree.json", "rounds.tree")}
    dag = cladify.ClusterDag.load(folder / "clusters.dag")
    graph = cladify.NeighborGraph.load(folder / "graph.npz")
    taxonomy = cladify.Taxonomy.load(folder / "texts.taxonomy")
    with cladify.online.open(folder / "online", read_only=True) as online:
        kept, ids = online.tree_, list(online.ids_)
    return {
        **{name: [tree.parent.tolist(), tree.height.tolist(), tree.info["method"]] for name, tree in trees.items()},
        "levels": trees["rounds.tree"].level.tolist(),
        "dag": [dag.parent_start.tolist(), dag.parent_ids.tolist(), dag.height.tolist()],
        "graph": [graph.indptr.tolist(), graph.indices.tolist(), graph.weight.tolist(), str(graph.metric)],
        "taxonomy": [
            taxonomy.tree.parent.tolist(),
            list(taxonomy.names.values()),
            taxonomy.ids,
            taxonomy.columns.to_pydict(),
            len(taxonomy.edits),
            taxonomy.place("an old engine", form="arrow").column("path").to_pylist(),
        ],
        "online": [sorted(ids), kept.parent.tolist(), kept.height.tolist()],
    }


def read_model(folder: Path) -> list[list[float]]:
    """Where the model of a folder puts the points."""
    from cladify.embed import VAE

    return VAE.load(folder / "model.safetensors").transform(X).tolist()


def formats(folder: Path) -> dict[str, object]:
    """The version of the format of each file, as it stands in the file."""
    found: dict[str, object] = {}
    for name in ("tree.tree", "rounds.tree", "clusters.dag", "texts.taxonomy"):
        with zipfile.ZipFile(folder / name) as archive:
            header = json.loads(archive.read(next(part for part in archive.namelist() if part.endswith(".json"))))
        found[header["format"]] = header["version"]
    with np.load(folder / "graph.npz", allow_pickle=False) as arrays:
        found["graph"] = json.loads(arrays["header"].item())["format"]
    found["tree.json"] = sorted(json.loads((folder / "tree.json").read_text()))
    database = sqlite3.connect(f"file:{folder / 'online' / 'tree.sqlite'}?immutable=1", uri=True)
    found["online"] = database.execute("PRAGMA user_version").fetchone()[0]
    database.close()
    return found


if __name__ == "__main__":
    new = KEPT / cladify.__version__
    if new.exists():
        sys.exit(f"{new} exists; files of a version that is out are never written again.")
    write(new)
    write_model(new)
    with tempfile.TemporaryDirectory() as copy:  # opening an online folder leaves a lock in it
        shutil.copytree(new, copy, dirs_exist_ok=True)
        says = {**read(Path(copy)), "model": read_model(new)}
    (new / "says.json").write_text(json.dumps(says) + "\n", encoding="utf-8")
