"""Files with changed bytes, read in child processes: none may crash a reader, make it hang or take much memory.

``python tests/mutants.py 20000 [FORMAT ...]`` reads that many of each format and prints what came of them, as JSON.
"""

from __future__ import annotations

import collections
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sample_files import mutated

from cladify import Tree, online
from cladify.distributed import TreeFolder
from cladify.errors import CladifyError
from cladify.online._storage import Store
from cladify.taxonomy import Taxonomy

SECONDS = 5
MEMORY = 64 << 20
BATCH = 250


class Format(NamedTuple):
    """How a file or folder is made, changed and read."""

    make: Callable[[Path], None]
    change: Callable[[Path, np.random.Generator], None]
    read: Callable[[Path], Any]


def rows(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, 4))


def small_tree(n: int = 40) -> Tree:
    from cladify import fit

    return fit(rows(n), method="hac")


def change_a_file(path: Path, random: np.random.Generator) -> None:
    """Changes bytes of the file, or of one of the files of the folder."""
    files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    file = files[int(random.integers(len(files)))]
    file.write_bytes(mutated(file.read_bytes(), random))


def make_online(path: Path) -> None:
    kind = online.LiveTree(metric="sqeuclidean", n_neighbors=4, n_jobs=1)
    kind.partial_fit(rows(30)).save(path).partial_fit(rows(4, 1)).remove([3, 30]).close()


def make_levels(path: Path) -> None:
    kind = online.MiniBatchSCC(metric="sqeuclidean", n_neighbors=4, n_rounds=9, n_jobs=1)
    kind.partial_fit(rows(30)).remove([4]).save(path).close()


def make_buffer(path: Path) -> None:
    kind = online.MiniBatchHAC(metric="sqeuclidean", buffer_size=12, n_jobs=1)
    kind.partial_fit(rows(30)).remove([4]).save(path).close()


def forge_online(path: Path, random: np.random.Generator) -> None:
    """Other numbers in an array, or in the values, with right checksums."""
    store = Store(path, sync=False, create=False)
    content = store.read()
    name = sorted(content.arrays)[int(random.integers(len(content.arrays)))]
    array = content.arrays[name].copy()
    flat = array.reshape(-1)
    draw = random.integers(5)
    if draw == 0 or not flat.size:
        values = [v for v in walk(content.meta["state"]) if isinstance(v[0][v[1]], (int, float))]
        held, key = values[int(random.integers(len(values)))]
        held[key] = [0, -1, 1 << 40, 2.5, None, "x", held[key] + 1 if held[key] is not None else 0][
            int(random.integers(7))
        ]
    elif draw == 1:
        array = array[: int(random.integers(len(array)))]
    elif draw == 2:
        array = np.concatenate([array, array[: int(random.integers(1, 4))]])
    else:
        for at in random.integers(flat.size, size=int(random.integers(1, 4))):
            flat[at] = [0, -1, flat[int(random.integers(flat.size))], 1 << 6, 100][int(random.integers(5))]
    content.arrays[name] = array
    with store.transaction():
        store.write(content.meta, content.arrays)
    store.close()


def walk(value: Any) -> list[tuple[Any, Any]]:
    """All places of a value of lists and dicts."""
    keys = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, inner in keys for place in [(value, key), *walk(inner)]]


def use_online(path: Path) -> None:
    with online.open(path) as tree:
        tree.tree_  # noqa: B018
        tree.partial_fit(rows(6, 3), ids=[f"n{i}" for i in range(6)])
        tree.remove(tree.ids_[:5].tolist())
        tree.update(tree.ids_[:2].tolist(), rows(2, 5))
        if hasattr(tree, "refresh"):
            tree.refresh(0.02)
        assert tree.tree_.n_leaves == len(tree)


def make_taxonomy(path: Path) -> None:
    tree = small_tree(12)
    taxonomy = Taxonomy(tree, [f"item {i}" for i in range(12)])
    taxonomy.save(path)
    with taxonomy.editing(path):
        taxonomy.rename(tree.root, "all")


def make_model(path: Path) -> None:
    from cladify.embed import VAE

    VAE(n_latent=2, hidden=(4,), n_epochs=1).fit(rows(40).astype(np.float32)).save(path)


def read_model(path: Path) -> None:
    from cladify.embed import VAE

    VAE.load(path).transform(rows(3).astype(np.float32))


FORMATS = {
    "tree": Format(lambda path: small_tree().save(path), change_a_file, Tree.load),
    "taxonomy": Format(make_taxonomy, change_a_file, lambda path: Taxonomy.load(path).table()),
    "online": Format(make_online, change_a_file, use_online),
    "online-forged": Format(make_online, forge_online, use_online),
    "levels-forged": Format(make_levels, forge_online, use_online),
    "buffer-forged": Format(make_buffer, forge_online, use_online),
    "folder": Format(
        lambda path: TreeFolder.write(small_tree(), path, n_groups=5),
        change_a_file,
        lambda path: TreeFolder(path).tree(),
    ),
    "model": Format(make_model, change_a_file, read_model),
}
ENDINGS = {"tree": ".tree", "taxonomy": ".taxonomy", "model": ".safetensors"}


def in_child(work: Callable[[Callable[[Any], None]], None]) -> tuple[list[Any], int]:
    """What a function says in a forked child, and how that ended (0, or minus the signal)."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(read)
            work(lambda said: os.write(write, (json.dumps(said) + "\n").encode()) and None)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(write)
    with open(read) as file:
        lines = [json.loads(line) for line in file]
    return lines, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def peak(*, reset: bool = False) -> int:
    """The largest resident size of this process since the last reset, in bytes."""
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) << 10


def attack(name: str, numbers: range, folder: Path, say: Callable[[Any], None]) -> None:
    """Reads mutants of a format; says the number of each, and what came of it."""
    kind, ending = FORMATS[name], ENDINGS.get(name, "")
    warnings.simplefilter("ignore")
    original = folder / f"original{ending}"
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    copy = shutil.copytree if original.is_dir() else shutil.copy
    kind.read(Path(copy(original, folder / f"whole-{numbers.start}{ending}")))  # what is loaded the first time
    for number in numbers:
        random = np.random.default_rng([number, sum(name.encode())])
        path = folder / f"mutant-{number}{ending}"
        copy(original, path)
        kind.change(path, random)
        size = sum(file.stat().st_size for file in [path, *path.rglob("*")])
        say(number)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        before = peak(reset=True)
        try:
            kind.read(path)
            outcome = "read"
        except CladifyError as error:
            outcome = "several lines" if "\n" in str(error) else "refused"
        except BaseException as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            outcome = f"raw {type(error).__name__} at {where.name}: {str(error)[:60]}"
        signal.setitimer(signal.ITIMER_PROF, 0)
        if peak() - before > 4 * size + MEMORY:
            outcome = f"{(peak() - before) >> 20} MB"
        say(outcome)
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def run(name: str, count: int, first: int = 0) -> collections.Counter[str]:
    """Outcomes of the mutants ``first`` to ``first + count - 1`` of a format."""
    outcomes: collections.Counter[str] = collections.Counter()
    with tempfile.TemporaryDirectory() as top:
        folder = Path(top)
        _, status = in_child(lambda _: FORMATS[name].make(folder / f"original{ENDINGS.get(name, '')}"))
        assert status == 0, f"the original of {name} cannot be made"
        start, end = first, first + count
        while start < end:
            numbers = range(start, min(start + BATCH, end))
            said, status = in_child(lambda say, numbers=numbers: attack(name, numbers, folder, say))
            outcomes.update(line for line in said if isinstance(line, str))
            start = numbers.stop
            if status:
                last = [line for line in said if isinstance(line, int)][-1]
                outcomes[f"crash or hang: signal {-status}, mutant {last}"] += 1
                start = last + 1
    return outcomes


if __name__ == "__main__":
    for name in sys.argv[2:] or FORMATS:
        print(json.dumps({name: run(name, int(sys.argv[1]))}), flush=True)
