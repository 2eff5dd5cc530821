"""Models in files: safetensors, with the parameters as JSON in its header. Reading one runs no code from it."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

from cladify.errors import FileError, InvalidInput, MissingExtra
from cladify.io import atomic_path

__all__ = ["load", "read_header", "save"]

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
    header, tensors = _read(Path(path), with_tensors=True)
    if header.get("model") != cls.__name__:
        raise InvalidInput(f"{path} holds a {header.get('model')}, not a {cls.__name__}.")
    try:
        model = cls(**header["parameters"])
        _check_shapes(model, tensors, int(header["n_features"]))
        model._restore(tensors, int(header["n_features"]), bool(header["binary"]))
    except (KeyError, TypeError, ValueError, OverflowError, RuntimeError) as error:
        raise FileError(f"{path} is damaged: {' '.join(str(error).split())[:160]}") from None
    return model


def read_header(path: str | Path) -> dict[str, Any]:
    """The name, format and parameters of the model in a file."""
    return _read(Path(path), with_tensors=False)[0]


def _read(path: Path, *, with_tensors: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    try:
        from safetensors import safe_open
    except ImportError:
        raise MissingExtra("Reading an embedding", "torch") from None

    if not path.is_file():
        raise FileError(f"there is no file {path}.")
    try:
        with safe_open(str(path), framework="pt") as file:
            header = json.loads((file.metadata() or {}).get("cladify", "null"))
            tensors = {name: file.get_tensor(name) for name in file.keys()} if with_tensors else {}  # noqa: SIM118
    except Exception as error:
        raise FileError(
            f"{path} is not a model that cladify wrote, or it is damaged ({type(error).__name__})."
        ) from None
    if not isinstance(header, dict) or "format" not in header:
        raise FileError(f"{path} is not a model that cladify wrote.")
    if header["format"] != FORMAT:
        raise FileError(
            f"{path} has format {str(header['format'])[:40]!r}, this cladify reads {FORMAT}; a newer cladify may do."
        )
    return header, tensors


def _check_shapes(model: Any, tensors: dict[str, Any], n_features: int) -> None:
    """Raise unless the file has the numbers of the network that its header describes, before that is made."""
    widths = [n_features, *model._widths()]
    layers = [*itertools.pairwise(widths), (widths[-1], model.n_latent), (widths[-1], model.n_latent)]
    layers += [(model.n_latent, widths[-1]), *itertools.pairwise(reversed(widths))]
    expected = n_features + 1 + sum((wide + 1) * narrow for wide, narrow in layers)
    own = [tensor for name, tensor in tensors.items() if not name.startswith("prior.")]
    if len(own) != 2 * len(layers) + 2 or sum(tensor.numel() for tensor in own) != expected:
        raise ValueError(f"its tensors are not those of a network for {n_features} columns.")
