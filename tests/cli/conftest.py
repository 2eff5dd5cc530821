"""Running the command line in this process."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cladify.cli import run


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def cladify(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Outcome]:
    """``cladify("cut", "x.tree", "-k", 2)`` in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: Any) -> Outcome:
        capfd.readouterr()
        code = run([str(argument) for argument in arguments])
        return Outcome(code, *capfd.readouterr())

    return call


@pytest.fixture
def points(tmp_path: Path) -> np.ndarray:
    """Two groups of three points on a line, in x.npy; their names in names.txt."""
    X = np.array([[0.0, 1], [1, 1], [2.5, 1], [20, 1], [22, 1], [25, 1]], np.float32)
    np.save(tmp_path / "x.npy", X)
    (tmp_path / "names.txt").write_text("ant\nbee\nfly\ncat\ndog\nfox\n")
    return X
