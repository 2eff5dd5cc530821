"""Truncated and hostile files: every reader answers with a cladify error or with data, quickly, and never crashes.

The mutants run in a child process, so that a crash of a library would be seen as such, with a limit on its memory, so
that believing a lying header would be too.
"""

import json
import os
import resource
import subprocess
import sys
import traceback
import warnings
from pathlib import Path

import numpy as np
import pytest
import sample_files

ROUNDS = 250
MEMORY = 4 << 30
ITEM_FILES = {
    ".txt": b"one\ntwo\nthree\n",
    ".jsonl": b'{"name": "one", "y": 1}\n{"name": "two", "y": 2}\n"three"\n',
}
KINDS = [*sample_files.VECTOR_KINDS, *ITEM_FILES]


def mutants(raw: bytes, random: np.random.Generator) -> list[bytes]:
    """Cut short, bytes flipped, numbers blown up, pieces repeated, moved and removed, and plain noise."""
    result = [b"", raw[:1], raw[:-1], raw * 2, b"\0" * 64, random.bytes(512)]
    return result + [sample_files.mutated(raw, random) for _ in range(ROUNDS)]


def attack(kind: str, folder: str) -> None:
    """Runs in the child: every mutant through every reader that takes the format."""
    from cladify.errors import CladifyError
    from cladify.io import read_items, read_labels, read_vectors

    path = Path(folder) / f"mutant{kind}"
    readers = [read_items, read_labels] if kind in ITEM_FILES else [read_vectors]
    if kind in (".npz", ".parquet", ".csv", ".npy"):
        readers = [read_vectors, read_items, read_labels]
    outcomes = set()
    original = (Path(folder) / f"original{kind}").read_bytes()
    for content in mutants(original, np.random.default_rng(len(kind))):
        # A new file each time: an older mutant may still be mapped.
        path.unlink(missing_ok=True)
        path.write_bytes(content)
        for reader in readers:
            try:
                value = reader(path)
            except CladifyError as error:
                assert "\n" not in str(error), f"more than one line: {error}"
                outcomes.add("error")
                continue
            outcomes.add("data")
            if reader is read_vectors:
                np.asarray(value).sum()  # memory-mapped data must really be there
    assert outcomes == {"error", "data"} or kind == ".txt", f"the mutants are too tame or too wild: {outcomes}"


def attack_all(folder: str) -> None:
    """Runs in the child: says after each format what went wrong, if anything did."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("ignore", UserWarning)
    for kind in KINDS:
        try:
            attack(kind, folder)
        except Exception:
            print(json.dumps([kind, traceback.format_exc()]), flush=True)
        else:
            print(json.dumps([kind, ""]), flush=True)


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What went wrong with each format."""
    folder = tmp_path_factory.mktemp("fuzz")
    for kind in KINDS:
        path = folder / f"original{kind}"
        if kind in ITEM_FILES:
            path.write_bytes(ITEM_FILES[kind])
        else:
            sample_files.write(path, np.random.default_rng(1).integers(0, 250, (40, 6)).astype(np.float32))
    helpers = str(Path(sample_files.__file__).parent)
    found = {**os.environ, "PYTHONPATH": os.pathsep.join([helpers, os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, __file__, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False, env=found)
    said = dict(map(json.loads, done.stdout.splitlines()))
    crash = f"the child ended with {done.returncode}: {done.stderr[-3000:]}"
    return {kind: said.get(kind, crash) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_mutants(wrong: dict[str, str], kind: str) -> None:
    assert wrong[kind] == ""


if __name__ == "__main__":
    attack_all(*sys.argv[1:])
