"""The tree file, and the same content as JSON.

A tree file is a plain zip archive whose members are stored uncompressed, so that any tool can look into it:

``ramify-tree.json``
    ``format`` ("ramify-tree"), ``version`` (1), ``ramify`` (the version that wrote it), ``n_leaves``, ``n_nodes``,
    ``info`` (method, parameters, metric and whatever else the tree's ``info`` holds) and ``sha256``, the checksum of
    the arrays' bytes in the order below.
``parent.npy``
    Parent of each node, int32 or int64; -1 at the root.
``height.npy``
    Heights of the inner nodes, float64 (leaves have height 0).
``level.npy``
    Rounds of the inner nodes, int32 or int64; absent for trees without levels.

The arrays are in NumPy's ``.npy`` format 1.0, little-endian, one-dimensional; ``numpy.load(path)["parent"]`` works.
Nothing in a file is ever executed or unpickled, and no more memory is taken than the file has bytes. The same tree
always gives the same bytes.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np

import ramify
from ramify.errors import FileError, InvalidInput, InvalidTree
from ramify.io.atomic import PathLike, atomic_write
from ramify.tree import Tree

__all__ = ["from_dict", "load", "save", "to_dict"]

FORMAT = "ramify-tree"
VERSION = 1
_META = "ramify-tree.json"
_META_LIMIT = 2**26
_DTYPES = {"parent": ("<i4", "<i8"), "height": ("<f8",), "level": ("<i4", "<i8")}


def save(tree: Tree, path: PathLike) -> None:
    """Write ``tree`` to ``path``; an existing file stays as it was until the new one is complete."""
    n = tree.n_leaves
    arrays = {"parent": _narrow(tree.parent), "height": tree.height[n:].astype("<f8", copy=False)}
    if tree.level is not None:
        arrays["level"] = _narrow(tree.level[n:])
    meta = {
        "format": FORMAT,
        "version": VERSION,
        "ramify": ramify.__version__,
        "n_leaves": n,
        "n_nodes": tree.n_nodes,
        "info": plain(tree.info),
        "sha256": _checksum(arrays),
    }
    with atomic_write(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(_member(_META), json.dumps(meta, ensure_ascii=False, indent=1).encode())
        for name, array in arrays.items():
            header = io.BytesIO()
            np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(array))
            with archive.open(_member(f"{name}.npy"), "w", force_zip64=True) as out:
                out.write(header.getvalue())
                out.write(np.ascontiguousarray(array).data)


def _member(name: str) -> zipfile.ZipInfo:
    return zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))


def _narrow(ids: np.ndarray) -> np.ndarray:
    fits = not ids.size or (ids.min() >= -(2**31) and ids.max() < 2**31)
    return ids.astype("<i4" if fits else "<i8")


def _checksum(arrays: Mapping[str, np.ndarray]) -> str:
    digest = hashlib.sha256()
    for name in _DTYPES:
        if name in arrays:
            digest.update(np.ascontiguousarray(arrays[name]).data)
    return digest.hexdigest()


def load(path: PathLike) -> Tree:
    """The tree in the file ``path``; anything else than a whole tree file is a FileError."""
    try:
        with open(path, "rb") as file:
            if not zipfile.is_zipfile(file):
                raise FileError(_not_a_tree(path, "it is not a zip archive, or it is cut short"))
            file.seek(0)
            with zipfile.ZipFile(file) as archive:
                return _read(archive, file.seek(0, io.SEEK_END), path)
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"Cannot read {path}: {error.strerror or error}.") from None
    except InvalidTree as error:
        raise FileError(_not_a_tree(path, str(error))) from None
    except Exception as error:  # hostile archives fail in many ways inside zipfile and json; all mean the same here
        raise FileError(_not_a_tree(path, f"{type(error).__name__}: {_first_line(error)}")) from None


def _read(archive: zipfile.ZipFile, n_bytes: int, path: PathLike) -> Tree:
    members = {member.filename: member for member in archive.infolist()}
    if _META not in members:
        raise FileError(_not_a_tree(path, f"it has no {_META}"))
    for member in members.values():
        if member.compress_type != zipfile.ZIP_STORED or member.file_size > n_bytes or member.flag_bits & 1:
            raise FileError(_not_a_tree(path, f"its member {member.filename!r} is compressed, encrypted or cut short"))
    if members[_META].file_size > _META_LIMIT:
        raise FileError(_not_a_tree(path, f"{_META} is larger than {_META_LIMIT} bytes"))
    meta = json.loads(archive.read(_META))
    if not isinstance(meta, dict) or meta.get("format") != FORMAT or not isinstance(meta.get("info"), dict):
        raise FileError(_not_a_tree(path, f"{_META} does not describe a tree"))
    _check_version(meta.get("version"), f"{path}")
    arrays = {name: _array(archive, name) for name in _DTYPES if f"{name}.npy" in members}
    if "parent" not in arrays or "height" not in arrays:
        raise FileError(_not_a_tree(path, "it lacks the parents or the heights"))
    if _checksum(arrays) != meta.get("sha256"):
        raise FileError(
            _not_a_tree(path, "its checksum does not match: the file is damaged. Make it again or use a copy")
        )
    n = len(arrays["parent"]) - len(arrays["height"])
    if n < 1 or meta.get("n_leaves") != n:
        raise FileError(_not_a_tree(path, "its arrays have the wrong lengths"))
    level = arrays.get("level")
    return Tree(
        arrays["parent"],
        np.concatenate([np.zeros(n), arrays["height"]]),
        level=None if level is None else np.concatenate([np.zeros(n, dtype=np.int64), level]),
        info=meta["info"],
    )


def _array(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    data = archive.read(f"{name}.npy")
    stream = io.BytesIO(data)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ValueError(f"{name} is not in .npy format 1.0")
    shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    start = stream.tell()
    if dtype.str not in _DTYPES[name] or len(shape) != 1 or shape[0] * dtype.itemsize != len(data) - start:
        raise ValueError(f"{name} has dtype {dtype.str}, shape {shape} and {len(data) - start} bytes")
    return np.frombuffer(data, dtype, offset=start)


def _check_version(version: Any, what: str) -> None:
    if not isinstance(version, int) or not 1 <= version <= VERSION:
        raise FileError(
            f"{what} is a tree in version {version!r} of the format; this ramify reads up to {VERSION}. Update ramify."
        )


def _not_a_tree(path: PathLike, why: str) -> str:
    return f"{path} is not a tree that ramify can read: {why.rstrip('.')}. Tree.save(path) writes such files."


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0][:200]


# --- JSON -------------------------------------------------------------------------------------------------------------


def to_dict(tree: Tree) -> dict[str, Any]:
    """The tree in plain Python values."""
    data: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "ramify": ramify.__version__,
        "n_leaves": tree.n_leaves,
        "parent": tree.parent.tolist(),
        "height": tree.height.tolist(),
    }
    if tree.level is not None:
        data["level"] = tree.level.tolist()
    data["info"] = plain(tree.info)
    return data


def from_dict(data: Any) -> Tree:
    """The tree that :func:`to_dict` described."""
    if not isinstance(data, Mapping) or data.get("format") != FORMAT or "parent" not in data:
        raise FileError("This is not a tree as Tree.to_dict() writes it: a dict with format='ramify-tree' and parent.")
    _check_version(data.get("version"), "The data")
    info = data.get("info", {})
    if not isinstance(info, Mapping):
        raise FileError(f"info of a tree must be a dict, got {type(info).__name__}.")
    try:
        tree = Tree(data["parent"], data.get("height"), level=data.get("level"), info=info)
    except InvalidInput:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        raise FileError(f"The arrays of the tree cannot be read: {_first_line(error)}.") from None
    if data.get("n_leaves", tree.n_leaves) != tree.n_leaves:
        raise FileError(f"The data says {data['n_leaves']} leaves, and its parents have {tree.n_leaves}.")
    return tree


def plain(value: Any) -> Any:
    """``value`` with nothing in it that JSON cannot hold; what has no JSON form becomes its ``repr``."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    return repr(value)
