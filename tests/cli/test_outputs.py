"""No command writes over a file that it reads: every result of every command, against every one of its inputs."""

import os
from pathlib import Path
from typing import get_type_hints

import numpy as np
import pytest
import typer.main

from cladify.cli import ALONE, NEED_ARGUMENTS, app
from cladify.cli._guard import CHANGED, IN_PLACE, OUTPUTS
from cladify.taxonomy import Taxonomy

#: Parameters that name files and folders that are read.
INPUTS = {
    *("checkpoint", "compare", "file", "folder", "h5ad", "ids", "images", "inbox", "items", "join", "labels", "path"),
    *("points", "prompt", "source", "texts", "tree_file", "vectors", "x"),
    *("cannot_link", "check", "must_link", "remove", "same_as", "seeds"),
}
COMMANDS = {name: command.params for name, command in typer.main.get_command(app).commands.items()}
KINDS = {command.__name__: get_type_hints(command) for command in NEED_ARGUMENTS + ALONE}
PATHS = {
    name: [parameter for parameter in parameters if "Path" in str(KINDS[name].get(parameter.name))]
    for name, parameters in COMMANDS.items()
}
PAIRS = [
    (command, result.name, source.name)
    for command, parameters in PATHS.items()
    for result in parameters
    for source in parameters
    if result.name in OUTPUTS and source.name in INPUTS and (command, result.name, source.name) not in IN_PLACE
]
WAYS = ("same", "relative", "symlink", "hard link")


def test_every_path_is_a_known_input_or_result() -> None:
    names = {parameter.name for parameters in PATHS.values() for parameter in parameters}
    assert names <= INPUTS | OUTPUTS and not INPUTS & OUTPUTS
    assert len(PAIRS) > 40
    for command, inputs in CHANGED.items():
        assert inputs <= {parameter.name for parameter in PATHS[command]}


@pytest.mark.parametrize("index", range(len(PAIRS)), ids=map(" ".join, PAIRS))
def test_a_result_does_not_replace_an_input(cladify, tmp_path: Path, index: int) -> None:
    """The guard stands before the command, so that the other arguments need not make sense."""
    command, result, source = PAIRS[index]
    precious = tmp_path / "precious.npy"
    precious.write_bytes(b"precious")
    (tmp_path / "below").mkdir()
    (tmp_path / "link.npy").symlink_to(precious)
    os.link(precious, tmp_path / "hard.npy")
    names = {"same": precious, "relative": "below/../precious.npy", "symlink": "link.npy", "hard link": "hard.npy"}
    before = sorted(os.listdir(tmp_path))
    for way in WAYS if index == 0 else [WAYS[index % len(WAYS)]]:
        line = [command]
        for parameter in COMMANDS[command]:
            if not (parameter.required or parameter.name in (result, source)):
                continue
            value = names[way] if parameter.name == result else precious if parameter.name == source else "other"
            option = parameter.opts[0]
            line += [option, value] if option.startswith("-") else [value]
        done = cladify(*line)
        assert done.code == 1 and "is read by this command and would be overwritten" in done.err, (way, done)
        assert precious.read_bytes() == b"precious" and sorted(os.listdir(tmp_path)) == before


def test_results_do_not_replace_each_other(cladify, points) -> None:
    for other in ("a.npy", "./a.npy"):
        done = cladify("fit", "x.npy", "-k", 2, "--out", "a.npy", "--labels-out", other)
        assert done.code == 2 and "--out and --labels-out must not name the same file" in done.err


def test_files_of_a_folder_that_is_read(cladify, tmp_path: Path) -> None:
    (tmp_path / "shards").mkdir()
    shard = tmp_path / "shards" / "a.npy"
    shard.write_bytes(b"precious")
    for out in ("shards/a.npy", "shards"):
        for x in ("shards", "shards/*.npy") if out != "shards" else ("shards",):
            done = cladify("fit", x, "--engine", "dask", "--out", out)
            assert done.code == 1 and "would be overwritten" in done.err
    assert shard.read_bytes() == b"precious"


def test_modules_and_strange_files_are_no_cache(cladify, tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(30, 3))
    Taxonomy.fit(rows, [f"n{i}" for i in range(30)]).save("t.taxonomy")
    (tmp_path / "names.py").write_text("def n(views):\n    return ['x'] * len(views)\n")
    (tmp_path / "notes.txt").write_text("my notes\n")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for cache, message in (("names.py", "overwritten"), ("notes.txt", "not a file of answers"), ("t.taxonomy", "over")):
        done = cladify("name", "t.taxonomy", "--namer", "names:n", "--cache", cache, "--out", "other.taxonomy")
        assert done.code == 1 and message in done.err
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before
    for _ in range(2):  # a cache of its own is read and added to
        assert cladify("name", "t.taxonomy", "--namer", "names:n", "--cache", "c.answers", "-q").code == 0
