"""Models in files: safetensors, with the parameters as JSON in its header. Reading one runs no code from it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cladify.errors import FileError, InvalidInput, MissingExtra
from cladify.io import atomic_path

__all__ = ["load", "save"]

FORMAT = 1


def save(model: Any, path: str | Path) -> None:
    """Write a fitted model."""
    try:
        from safetensors.torch import save_file
    except ImportError:
        raise MissingExtra("Saving an embedding", "torch") from None

    header = {
        "format": FORMAT,
        "model": type(model).__name__,
        "parameters": {name: value for name, value in model.get_params().items() if name != "random_state"},
        "n_features": model.n_features_in_,
        "binary": model.network_.binary,
    }
    tensors = {name: value.contiguous() for name, value in model._tensors().items()}
    with atomic_path(path) as draft:
        save_file(tensors, draft, metadata={"cladify": json.dumps(header, default=lambda value: value.tolist())})


def load(cls: type, path: str | Path) -> Any:
    """Read a model of class ``cls``."""
    try:
        from safetensors import safe_open
    except ImportError:
        raise MissingExtra("Reading an embedding", "torch") from None

    path = Path(path)
    if not path.is_file():
        raise FileError(f"there is no file {path}.")
    try:
        with safe_open(str(path), framework="pt") as file:
            header = json.loads((file.metadata() or {}).get("cladify", "null"))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except Exception as error:
        raise FileError(
            f"{path} is not a model that cladify wrote, or it is damaged ({type(error).__name__})."
        ) from None
    if not isinstance(header, dict) or "format" not in header:
        raise FileError(f"{path} is not a model that cladify wrote.")
    if header["format"] > FORMAT:
        raise FileError(
            f"{path} was written by a newer cladify (format {header['format']}); upgrade cladify to read it."
        )
    if header.get("model") != cls.__name__:
        raise InvalidInput(f"{path} holds a {header.get('model')}, not a {cls.__name__}.")
    try:
        model = cls(**header["parameters"])
        model._restore(tensors, int(header["n_features"]), bool(header["binary"]))
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise FileError(f"{path} is damaged: {' '.join(str(error).split())[:160]}") from None
    return model
