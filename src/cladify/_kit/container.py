"""The container of cladify's own files: a plain zip archive of one JSON member and some arrays, all uncompressed.

The JSON member says ``format``, ``version``, ``cladify`` (the version that wrote it), whatever figures the format has,
``info``, and ``sha256``, the checksum of the arrays' bytes in the format's order. Arrays are in NumPy's ``.npy`` format
1.0, little-endian, one-dimensional, so that ``numpy.load(path)["parent"]`` works. Nothing in a file is ever executed or
unpickled, and no more memory is taken than the file has bytes. The same content always gives the same bytes.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cladify._kit.arrays import PARSING, aligned
from cladify._kit.atomic import PathLike, atomic_write
from cladify._version import __version__
from cladify.errors import FileError, InvalidInput

__all__ = ["Format", "formats_in", "narrow", "plain"]

_META_LIMIT = 2**26


@dataclass(frozen=True)
class Format:
    """One kind of file.

    Attributes
    ----------
    name : str
        What ``format`` says; the JSON member is called ``name.json``.
    version : int
        The newest version that can be read, and the one that is written.
    what, writer : str
        For messages: what such a file holds, and who writes it.
    dtypes : mapping
        The types that each array may have.
    required : tuple of str
        Arrays without which a file is not whole.
    """

    name: str
    version: int
    what: str
    writer: str
    dtypes: Mapping[str, tuple[str, ...]]
    required: tuple[str, ...]

    @property
    def meta(self) -> str:
        return f"{self.name}.json"

    def write(self, path: PathLike, figures: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        """Write a file; an existing one stays as it was until the new one is complete."""
        meta = {
            "format": self.name,
            "version": self.version,
            "cladify": __version__,
            **figures,
            "sha256": self._checksum(arrays),
        }
        with atomic_write(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            archive.writestr(_member(self.meta), json.dumps(meta, ensure_ascii=False, indent=1).encode())
            for name, array in arrays.items():
                header = io.BytesIO()
                np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(array))
                with archive.open(_member(f"{name}.npy"), "w", force_zip64=True) as out:
                    out.write(header.getvalue())
                    out.write(np.ascontiguousarray(array).data)

    def read(self, path: PathLike, build: Any) -> Any:
        """``build(figures, arrays)`` of a file; anything else than a whole file of this format is a FileError."""
        try:
            with open(path, "rb") as file:
                if not zipfile.is_zipfile(file):
                    raise self.refuse(path, "it is not a zip archive, or it is cut short")
                file.seek(0)
                with zipfile.ZipFile(file) as archive:
                    figures, arrays = self._read(archive, file.seek(0, io.SEEK_END), path)
            return build(figures, arrays)
        except FileError:
            raise
        except OSError as error:
            raise FileError(f"Cannot read {path}: {error.strerror or error}.") from None
        except InvalidInput as error:
            raise self.refuse(path, str(error)) from None
        except Exception as error:  # hostile archives fail in many ways inside zipfile and json; all mean the same here
            raise self.refuse(path, f"{type(error).__name__}: {first_line(error)}") from None

    def check_version(self, version: Any, what: str) -> None:
        if not isinstance(version, int) or not 1 <= version <= self.version:
            raise FileError(
                f"{what} is a {self.what} in version {version!r} of the format; this cladify reads up to "
                f"{self.version}. Update cladify."
            )

    def refuse(self, path: PathLike, why: str) -> FileError:
        return FileError(
            f"{path} is not a {self.what} that cladify can read: {why.rstrip('.')}. {self.writer} writes such files."
        )

    def _read(
        self, archive: zipfile.ZipFile, n_bytes: int, path: PathLike
    ) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        members = {member.filename: member for member in archive.infolist()}
        if self.meta not in members:
            raise self.refuse(path, f"it has no {self.meta}")
        for member in members.values():
            if member.compress_type != zipfile.ZIP_STORED or member.file_size > n_bytes or member.flag_bits & 1:
                raise self.refuse(path, f"its member {member.filename!r} is compressed, encrypted or cut short")
        if members[self.meta].file_size > _META_LIMIT:
            raise self.refuse(path, f"{self.meta} is larger than {_META_LIMIT} bytes")
        figures = json.loads(archive.read(self.meta))
        good = isinstance(figures, dict) and figures.get("format") == self.name
        if not good or not isinstance(figures.get("info"), dict):
            raise self.refuse(path, f"{self.meta} does not describe a {self.what}")
        self.check_version(figures.get("version"), f"{path}")
        arrays = {name: self._array(archive, name) for name in self.dtypes if f"{name}.npy" in members}
        missing = [name for name in self.required if name not in arrays]
        if missing:
            raise self.refuse(path, f"it lacks {', '.join(missing)}")
        if self._checksum(arrays) != figures.get("sha256"):
            raise self.refuse(path, "its checksum does not match: the file is damaged. Make it again or use a copy")
        return figures, arrays

    def _array(self, archive: zipfile.ZipFile, name: str) -> np.ndarray:
        data = archive.read(f"{name}.npy")
        stream = io.BytesIO(data)
        if np.lib.format.read_magic(stream) != (1, 0):
            raise ValueError(f"{name} is not in .npy format 1.0")
        with PARSING:
            shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
        start = stream.tell()
        if dtype.str not in self.dtypes[name] or len(shape) != 1 or shape[0] * dtype.itemsize != len(data) - start:
            raise ValueError(f"{name} has dtype {dtype.str}, shape {shape} and {len(data) - start} bytes")
        return aligned(np.frombuffer(data, dtype, offset=start))

    def _checksum(self, arrays: Mapping[str, np.ndarray]) -> str:
        digest = hashlib.sha256()
        for name in self.dtypes:
            if name in arrays:
                digest.update(np.ascontiguousarray(arrays[name]).data)
        return digest.hexdigest()


def formats_in(path: PathLike) -> set[str]:
    """The names of cladify's formats that an archive holds; empty for anything else."""
    try:
        with zipfile.ZipFile(path) as archive:
            return {name.removesuffix(".json") for name in archive.namelist() if name.startswith("cladify-")}
    except Exception:  # not an archive, or a damaged one: the reader of the format says what is wrong
        return set()


def _member(name: str) -> zipfile.ZipInfo:
    return zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))


def narrow(ids: np.ndarray) -> np.ndarray:
    """Integers in half the room where they fit."""
    fits = not ids.size or (ids.min() >= -(2**31) and ids.max() < 2**31)
    return ids.astype("<i4" if fits else "<i8")


def first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0][:200]


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
