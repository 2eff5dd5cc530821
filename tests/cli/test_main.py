"""The frame of the command line: usage errors, exit codes, speed of the start."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import typer.main

import cladify as package
from cladify.cli import app

COMMANDS = sorted(typer.main.get_command(app).commands)


def python(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=60, check=False, **options
    )


def test_version_and_help(cladify) -> None:
    assert cladify("--version").out == f"cladify {package.__version__}\n"
    done = cladify("--help")
    assert done.code == 0 and all(command in done.out for command in COMMANDS)
    for command in COMMANDS:
        assert cladify(command, "-h").code == 0


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("fti x.npy", "No such command 'fti'"),
        ("info x.tree --itmes y", "No such option"),
        ("cut x.tree -k many", "valid int"),
        ("convert x.tree", "Missing argument 'OUT'"),
        ("fit x.npy --labels-out y.csv", "--labels-out needs --n-clusters or --height"),
        ("fit x.npy --param linkage", "--param takes NAME=VALUE, got 'linkage'"),
    ],
)
def test_usage_errors(cladify, points, command: str, message: str) -> None:
    done = cladify(*command.split())
    assert done.code == 2 and done.out == ""
    assert done.err.startswith("cladify: error: ") and done.err.count("\n") == 1
    assert message in done.err and "--help" in done.err


def test_a_command_alone_shows_its_help(cladify) -> None:
    for command in ("fit", "info", "cut", "convert", "score", "refine"):
        done = cladify(command)
        assert f"Usage: cladify {command}" in done.out + done.err and "error" not in done.err


def test_debug_shows_the_traceback(tmp_path: Path) -> None:
    done = python("-m", "cladify", "info", "none.tree", "--debug", cwd=tmp_path)
    assert done.returncode == 1 and "Traceback" in done.stderr and "FileError" in done.stderr
    done = python("-m", "cladify", "info", "none.tree", cwd=tmp_path)
    assert done.returncode == 1 and done.stderr == "cladify: error: none.tree does not exist.\n"


def test_bugs_are_one_line_too(cladify, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "t.nwk").write_text("(0,1);")

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("by\nzero")

    monkeypatch.setattr(package.Tree, "describe", broken)
    done = cladify("info", "t.nwk")
    assert done.code == 1
    assert done.err == "cladify: error: ZeroDivisionError: by zero (a bug in cladify; --debug shows where)\n"


def test_ctrl_c(cladify, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "t.nwk").write_text("(0,1);")

    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(package.Tree, "describe", stopped)
    done = cladify("info", "t.nwk")
    assert done.code == 130 and "Traceback" not in done.err


def test_a_reader_that_stops_reading(tmp_path: Path) -> None:
    n = 100_000
    (tmp_path / "t.nwk").write_text("(" + ",".join(map(str, range(n))) + ");")
    command = f"{sys.executable} -m cladify cut t.nwk --height 0 | head -n 1"
    done = subprocess.run(
        ["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "0\n" and done.stderr == ""


def test_interrupt_of_a_running_process(tmp_path: Path) -> None:
    """A process that waits (here: for a named pipe) stops at once, with 130 and no traceback."""
    os.mkfifo(tmp_path / "slow.nwk")
    child = subprocess.Popen(
        [sys.executable, "-m", "cladify", "info", "slow.nwk"], cwd=tmp_path, stderr=subprocess.PIPE
    )
    time.sleep(1.5)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=20)
    assert child.returncode == 130 and b"Traceback" not in err


# --- the start --------------------------------------------------------------------------------------------------------

HEAVY = {"sklearn", "scipy", "pyarrow", "torch", "dask", "matplotlib", "pandas", "networkx", "faiss"}


def loaded_by(code: str) -> set[str]:
    done = python("-c", f"{code}\nimport sys; print(*sys.modules, file=sys.stderr)")
    assert done.returncode == 0, done.stderr
    return {name.split(".")[0] for name in done.stderr.split()}


def test_import_is_quick() -> None:
    """What is loaded decides the time: 0.04 s of the processor, of which half is Python's own start."""
    done = python("-c", "import cladify, sys; print(*sys.modules)")
    ours = {name for name in done.stdout.split() if name.startswith("cladify")}
    assert ours == {"cladify", "cladify._version", "cladify._costs", "cladify.methods"}
    assert not loaded_by("import cladify") & (HEAVY | {"numpy", "typer", "rich", "importlib_metadata", "asyncio"})


@pytest.mark.parametrize("line", [["--help"], ["taxonomy", "--help"], ["fit", "-h"], ["--version"]])
def test_help_is_quick(line: list[str]) -> None:
    """Of 0.2 s of the processor two thirds are typer and rich; pydantic, which typer may load, took 0.1 s more."""
    assert not loaded_by(f"from cladify.cli import run; run({line})") & (HEAVY | {"numpy", "pydantic", "cladify._core"})


def test_the_called_command_is_built_alone(cladify, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[str] = []
    original = typer.main.get_command_from_info

    def noted(command_info: typer.models.CommandInfo, **options: object) -> object:
        built.append(command_info.callback.__name__)
        return original(command_info, **options)

    monkeypatch.setattr(typer.main, "get_command_from_info", noted)
    assert cladify("taxonomy", "--help").code == 0
    assert built == ["taxonomy"]
