"""One guard for every result of a command: it must not replace a file that the command reads."""

from __future__ import annotations

import functools
import glob
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import typer

#: Parameters that name results; every other path is an input.
OUTPUTS = {
    "out",
    "labels_out",
    "review",
    "embed_out",
    "table_out",
    "html",
    "html_out",
    "json_out",
    "save",
    "chart",
    "target",
    "tree",
    "to",
}
OUTPUTS |= {"cache", "audit"}  # these are added to
#: Inputs that a command changes in place. Its named results must not replace them either.
CHANGED = {
    "add": {"folder"},
    "explore": {"file"},
    "fit": {"checkpoint"},
    "name": {"file"},
    "remove": {"folder"},
    "update": {"file"},
    "watch": {"folder", "inbox"},
}
#: Results that may be given the name of an input: ``cladify name FILE --out FILE`` is what it does without ``--out``.
IN_PLACE = {("name", "out", "file")}
#: Parameters of the form MODULE:FUNCTION, which may read a module of the current folder.
_FUNCTIONS = ("embedder", "namer")


def guarded(command: Callable[..., None]) -> Callable[..., None]:
    """The command, which first compares its results with its inputs, and within which no input can be replaced."""

    @functools.wraps(command)
    def run(**given: Any) -> None:
        from cladify._kit.atomic import check_not_input, protected

        name = command.__name__
        inputs = dict(_inputs(given))
        outputs = {key: value for key, value in given.items() if key in OUTPUTS and isinstance(value, Path)}
        for key, path in outputs.items():
            others = [files for source, files in inputs.items() if (name, key, source) not in IN_PLACE]
            check_not_input(path, [file for files in others for file in files])
        _check_distinct(outputs)
        changed = CHANGED.get(name, set())
        with protected(file for key, files in inputs.items() if key not in changed for file in files):
            command(**given)

    return run


def _inputs(given: dict[str, Any]) -> Iterator[tuple[str, list[Path]]]:
    for key, value in given.items():
        if isinstance(value, Path) and key not in OUTPUTS:
            is_pattern = not value.exists() and glob.has_magic(str(value))
            yield key, [Path(file) for file in glob.glob(str(value))] if is_pattern else [value]
        elif key in _FUNCTIONS and isinstance(value, str) and ":" in value:
            yield key, [Path(value.split(":")[0].replace(".", "/") + ".py")]


def _check_distinct(outputs: dict[str, Path]) -> None:
    seen: dict[str, str] = {}
    for key, path in outputs.items():
        other = seen.setdefault(os.path.realpath(path), key)
        if other != key:
            raise typer.BadParameter(f"{_options((other, key))} must not name the same file.")


def _options(names: Iterable[str]) -> str:
    return " and ".join(f"--{name.replace('_', '-')}" for name in names)
