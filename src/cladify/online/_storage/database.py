"""``tree.sqlite``: the snapshot of an online tree and the changes since, in SQLite with a write-ahead log.

A change is one transaction. Snapshot arrays are blobs of at most 256 MB, each with a checksum, or files beside the
database; a new snapshot and the removal of the changes before it are one transaction, too. A change at which two opens
in a row ended the process is set aside.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import secrets
import sqlite3
import struct
import warnings
import zlib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import numpy as np

from cladify._kit.parallel import map_blocks
from cladify.errors import CladifyWarning, FileError
from cladify.online._storage.mapped import map_file, write_file
from cladify.online._storage.owner import Owner, check_plain, create_plain
from cladify.online._storage.packing import array_type, unpack

__all__ = ["NAME", "Change", "Content", "Store", "connect", "files_of", "read", "read_folder"]

NAME = "tree.sqlite"
_APPLICATION, _FORMAT = 0x636C6164, 2
_PATCHED = 3  # the format where there are patches, or files beside
_PART = 1 << 28  # bytes of a blob; SQLite takes up to 10^9
_GROWN = 64 << 20  # bytes of changes that a snapshot is worth, at least
_PATCHES = 0.5  # bytes of patches, as a share of those of the snapshot, at which a new one is due
_FILE = re.compile(r"[a-z_]{1,40}\.[0-9a-f]{16}")
_LARGE = 1 << 20  # bytes of an array that may have a file of its own
_READ = 1 << 22  # bytes that are read at a time
_LOG = 4096  # pages of the write-ahead log that are copied into the database at a time
_DAMAGE = (ValueError, TypeError, KeyError, AttributeError, ArithmeticError, struct.error, sqlite3.DatabaseError)
_SCHEMA = (
    "CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE arrays (name TEXT, part INTEGER, dtype TEXT, shape TEXT, data BLOB, crc INTEGER, "
    "PRIMARY KEY (name, part))",
    "CREATE TABLE changes (number INTEGER PRIMARY KEY, made TEXT, data BLOB, crc INTEGER)",
    "CREATE TABLE aside (number INTEGER PRIMARY KEY, made TEXT, data BLOB, crc INTEGER)",
)
_NOTHING = "{} holds no tree: the first save failed, or its process ended; save the tree again."
_saved: WeakValueDictionary[Path, Store] = WeakValueDictionary()  # folders that this process has by save, not by open


class Change(NamedTuple):
    """One recorded change."""

    number: int
    made: str  #: when, ISO 8601
    meta: dict[str, Any]
    arrays: dict[str, np.ndarray]


class Content(NamedTuple):
    """All that a folder holds."""

    meta: dict[str, Any]
    arrays: dict[str, np.ndarray]
    changes: list[Change]
    made: str  #: when the snapshot was made
    rooms: dict[str, np.ndarray]  #: arrays with room behind them
    lists: tuple[tuple[np.ndarray, ...], ...] = ()  #: of neighbours, from patches that were put in


class Store:
    """A folder that is open for writing.

    Parameters
    ----------
    folder : path
    sync : bool
        Whether a change is on the disk when its transaction ends (it survives a power cut), not only in the system's
        hands (it survives the process).
    create : bool
        Whether to make the folder and the database where they are not there.
    """

    def __init__(self, folder: Any, *, sync: bool, create: bool) -> None:
        self.folder = Path(folder)
        if create:
            with _said(self.folder):
                self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        else:
            _check_there(self.folder)
        here = self.folder.resolve()
        if not create and (saver := _saved.pop(here, None)) is not None:
            saver.hand_over()
        self._owner = Owner(self.folder)
        self._lost = self._noted = False
        self._grown = self._size = 0
        try:
            self._database = self._owner.guarded = self._connect()
            self.set_sync(sync)
        except BaseException:
            self._owner.release()
            raise
        if create:
            _saved[here] = self

    def _connect(self) -> sqlite3.Connection:
        path = self.folder / NAME
        os.close(create_plain(path))
        database = connect(path, "rw")
        try:
            with _said(self.folder):
                if check_schema(database, path):
                    database.execute("PRAGMA page_size = 8192")
                    database.execute(f"PRAGMA application_id = {_APPLICATION}")
                    database.execute(f"PRAGMA user_version = {_FORMAT}")
                database.execute("PRAGMA journal_mode = WAL")
                database.execute(f"PRAGMA wal_autocheckpoint = {_LOG}")
                if check_schema(database, path):
                    with _transaction(database):
                        for statement in _SCHEMA:
                            database.execute(statement)
        except BaseException:
            database.close()
            raise
        return database

    def set_sync(self, sync: bool) -> None:
        """See the parameter ``sync``."""
        with _said(self.folder):
            self._database.execute(f"PRAGMA synchronous = {'FULL' if sync else 'NORMAL'}")

    # --- reading ------------------------------------------------------------------------------------------------------

    def read(self) -> Content:
        """The snapshot and the changes since, without one that ended the process too often."""
        self.check()
        with _said(self.folder, reading=True):
            self._set_aside()
            content = read(self._database, self.folder)
            self._size = sum(array.nbytes for array in content.arrays.values())
            (self._grown,) = self._database.execute("SELECT coalesce(sum(length(data)), 0) FROM changes").fetchone()
        return content

    def _set_aside(self) -> None:
        number = self._replayed()
        if not number:
            return
        with _transaction(self._database):
            self._database.execute("INSERT OR REPLACE INTO aside SELECT * FROM changes WHERE number = ?", (number,))
            self._database.execute("DELETE FROM changes WHERE number = ?", (number,))
            self._put("replaying", 0)
        warnings.warn(
            f"{self.folder}: change {number} ended the process each time it was read, and was set aside; it is kept in "
            "the table `aside` of the database.",
            CladifyWarning,
            stacklevel=5,
        )

    def _replayed(self) -> int | None:
        """None after a good end; else the change that was being replayed, or 0 where that was not noted."""
        row = self._database.execute("SELECT value FROM about WHERE name = 'replaying'").fetchone()
        return int(row[0]) if row else None

    @contextlib.contextmanager
    def replaying(self) -> Iterator[Callable[[int], None]]:
        """While changes are replayed; yields a function to call with the number of each.

        The first time only the beginning is noted. Where the process then ends, the next open notes every number, and
        the one after that knows at which change it ended. Ctrl-C, a lack of memory and a failing disk are no fault of
        a change.
        """
        with _said(self.folder, reading=True):
            careful = self._replayed() is not None
        with _said(self.folder) if careful else contextlib.suppress(sqlite3.Error):  # a full disk can be read
            self._put("replaying", 0)

        def note(number: int) -> None:
            if careful:
                with _said(self.folder):
                    self._put("replaying", number)

        try:
            yield note
        except (KeyboardInterrupt, MemoryError, FileError):
            self._forget_note()
            raise
        self._forget_note()

    def _forget_note(self) -> None:
        """Notes that the replay ended; where the disk fails just now, :meth:`close` tries again."""
        self._noted = True
        with contextlib.suppress(sqlite3.Error):
            self._database.execute("DELETE FROM about WHERE name = 'replaying'")
            self._noted = False

    # --- writing ------------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """All that is written inside is there afterwards, or, after any exception, nothing of it."""
        self.check()
        grown, size = self._grown, self._size
        try:
            with _said(self.folder), _transaction(self._database):
                yield
        except BaseException:
            self._grown, self._size = grown, size
            raise

    def append(self, payload: bytes, *, patch: bool = False) -> None:
        """One more change, inside a transaction."""
        with _said(self.folder):
            if patch:
                self._database.execute(f"PRAGMA user_version = {_PATCHED}")
            self._database.execute(
                "INSERT INTO changes SELECT 1 + max(coalesce((SELECT max(number) FROM changes), 0), "
                "coalesce((SELECT max(number) FROM aside), 0)), ?, ?, ?",
                (_now(), payload, zlib.crc32(payload)),
            )
        self._grown += len(payload)

    def write(self, meta: dict[str, Any], arrays: dict[str, np.ndarray], *, files: bool = False) -> None:
        """A snapshot instead of the old one and all changes, inside a transaction.

        With ``files`` large arrays become files beside the database, which are mapped, not read.
        """
        large = [name for name, array in arrays.items() if files and array.nbytes >= _LARGE]
        with _said(self.folder):
            for table in ("arrays", "changes"):
                self._database.execute(f"DELETE FROM {table}")
            self._database.execute(f"PRAGMA user_version = {_PATCHED if files else _FORMAT}")
            token = secrets.token_hex(8)
            self._put("token", token)
            held = {name: write_file(self.folder / f"{name}.{token}", arrays[name]) for name in large}
            self._put("files", held)
            arrays = {name: array for name, array in arrays.items() if name not in held}
            text = json.dumps(meta)
            self._put("meta", [text, zlib.crc32(text.encode())])
            self._put("made", _now())
            for name, array in arrays.items():
                flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
                for part, start in enumerate(range(0, max(1, len(flat)), _PART)):
                    data = flat[start : start + _PART].data
                    row = (name, part, array.dtype.str, json.dumps(array.shape), data, zlib.crc32(data))
                    self._database.execute("INSERT INTO arrays VALUES (?, ?, ?, ?, ?, ?)", row)
        self._grown, self._size = 0, sum(array.nbytes for array in arrays.values())

    def _put(self, name: str, value: Any) -> None:
        self._database.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (name, json.dumps(value)))

    def is_better_whole(self, more: int) -> bool:
        """Whether a snapshot is due rather than a change of ``more`` bytes."""
        return more > 2 * _PART or self._grown + more > max(_GROWN, 2 * self._size)

    def is_long(self, more: int) -> bool:
        """Whether patches take so much room, with one of ``more`` bytes, that a snapshot is due."""
        with _said(self.folder, reading=True):
            (grown,) = self._database.execute("SELECT coalesce(sum(length(data)), 0) FROM changes").fetchone()
            (size,) = self._database.execute("SELECT coalesce(sum(length(data)), 0) FROM arrays").fetchone()
        size += sum(file.stat().st_size for file in self.folder.iterdir() if file.name != NAME)
        return bool(grown + more > max(_GROWN, _PATCHES * size))

    def at(self) -> tuple[str, int] | None:
        """The snapshot and the last change behind it; None where an older version made the snapshot."""
        with _said(self.folder, reading=True):
            token = self._database.execute("SELECT value FROM about WHERE name = 'token'").fetchone()
            (number,) = self._database.execute("SELECT coalesce(max(number), 0) FROM changes").fetchone()
        return None if token is None else (str(token[0]), int(number))

    # --- the end ------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        if self._owner.is_mine:
            if self._noted:
                self._forget_note()
            self._database.close()
            self._owner.release()

    def hand_over(self) -> None:
        """Lets another object of this process have the folder."""
        self._owner.check()
        self.close()
        self._lost = True

    def check(self) -> None:
        """An error unless this object may write."""
        self._owner.check()
        if self._lost:
            raise FileError(
                f"{self.folder} was opened again in this process, and that object writes to it; go on with that one, "
                "or save this one to another folder."
            )

    def __del__(self) -> None:
        if "_database" in self.__dict__:
            self.close()


# --- the database -----------------------------------------------------------------------------------------------------


def connect(path: Path, mode: str) -> sqlite3.Connection:
    """A connection that any thread may use, in autocommit; ``mode`` is "ro" or "rw"."""
    for name in (NAME, NAME + "-wal", NAME + "-shm", NAME + "-journal"):
        check_plain(path.with_name(name))
    uri = path.resolve().as_uri()
    with _said(path.parent, reading=True):
        if mode == "ro" and not os.access(path.parent, os.W_OK) and not check_plain(path.with_name(NAME + "-wal")):
            mode = "ro&immutable=1"
        database = sqlite3.connect(f"{uri}?mode={mode}", uri=True, isolation_level=None, check_same_thread=False)
        database.text_factory = lambda data: data.decode(errors="replace")  # damage is found by checksums
        database.execute("PRAGMA trusted_schema = OFF")
        database.execute("PRAGMA cell_size_check = ON")
        database.execute("PRAGMA busy_timeout = 5000")
    return database


def check_schema(database: sqlite3.Connection, path: Path) -> bool:
    """Whether nothing is in the database yet.

    An error unless it is one of ours, with nothing else in it: a trigger would run with every change.
    """
    application = database.execute("PRAGMA application_id").fetchone()[0]
    version = database.execute("PRAGMA user_version").fetchone()[0]
    if application == _APPLICATION and version > _PATCHED:
        raise FileError(f"{path} was written by a newer cladify (format {version}); upgrade.")
    held = {row[0] for row in database.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")}
    if application not in (_APPLICATION, *(() if held else (0,))) or held not in (set(), set(_SCHEMA)):
        raise FileError(f"{path} is damaged or no online tree; restore the folder from a copy.")
    return not held


def read(database: sqlite3.Connection, folder: Path, problems: list[str] | None = None) -> Content:
    """All of a database as it is at one moment.

    Parameters
    ----------
    problems : list, optional
        What is damaged is named there and left out; without it, that is an error.
    """

    def damaged(what: str) -> None:
        if problems is None:
            raise FileError(f"{folder}: {what} is damaged; restore the folder from a copy, or `cladify rescue` it.")
        problems.append(f"{what} is damaged")

    with _transaction(database, "BEGIN"):
        about = dict(database.execute("SELECT name, value FROM about"))
        if "meta" not in about and problems is None:
            raise FileError(_NOTHING.format(folder))
        meta: dict[str, Any] = {}
        try:
            text, crc = json.loads(about["meta"])
            if zlib.crc32(text.encode()) != crc:
                raise ValueError("checksum")
            meta = json.loads(text)
        except _DAMAGE:
            damaged("the description of the snapshot")
        arrays: dict[str, np.ndarray] = {}
        rooms: dict[str, np.ndarray] = {}
        for (name,) in database.execute("SELECT DISTINCT name FROM arrays ORDER BY name").fetchall():
            try:
                arrays[str(name)] = _read_array(database, name)
            except _DAMAGE:
                damaged(f"array {name!r}")
        try:
            files = json.loads(about.get("files", "{}"))
            paths = [folder / file for file in files_of(database)]
            found = map_blocks(lambda each: map_file(*each), zip(paths, files.values(), strict=True))
            rooms = {name: room for name, (_, room) in zip(files, found, strict=True)}
            arrays |= {name: room[:n] for name, (n, room) in zip(files, found, strict=True)}
        except (OSError, *_DAMAGE):
            damaged("a file beside the database")
        changes = []
        for (number,) in database.execute("SELECT number FROM changes ORDER BY number").fetchall():
            try:
                row = database.execute("SELECT made, data, crc FROM changes WHERE number = ?", (number,)).fetchone()
                if zlib.crc32(row[1]) != row[2]:
                    raise ValueError("checksum")
                changes.append(Change(number, str(row[0]), *unpack(row[1])))
            except _DAMAGE:
                damaged(f"change {number}")
    return Content(meta, arrays, changes, str(about.get("made", "")).strip('"'), rooms)


def read_folder(folder: Any, problems: list[str] | None = None) -> Content:
    """The content of a folder as it is now; another process may be writing."""
    path = Path(folder) / NAME
    _check_there(path.parent)
    with contextlib.closing(connect(path, "ro")) as database, _said(path.parent, reading=True):
        if check_schema(database, path):
            raise FileError(_NOTHING.format(path.parent))
        return read(database, path.parent, problems)


def files_of(database: sqlite3.Connection) -> list[str]:
    """Names of the files beside a database."""
    about = dict(database.execute("SELECT name, value FROM about WHERE name IN ('token', 'files')"))
    names = [f"{name}.{json.loads(about['token'])}" for name in json.loads(about.get("files", "{}"))]
    if not all(_FILE.fullmatch(name) for name in names):
        raise ValueError("the name of a file")
    return names


def _check_there(folder: Path) -> None:
    if not folder.is_dir() or not check_plain(folder / NAME):
        raise FileError(f"{folder} is not a folder with an online tree; save(folder) or `cladify add` makes one.")


def _read_array(database: sqlite3.Connection, name: str) -> np.ndarray:
    parts = database.execute(
        "SELECT part, dtype, shape, rowid, length(data), crc FROM arrays WHERE name = ? ORDER BY part", (name,)
    ).fetchall()
    if not parts:
        raise ValueError("no parts")
    dtype, shape = array_type(parts[0][1]), tuple(json.loads(parts[0][2]))
    size = math.prod(shape) * dtype.itemsize
    if dtype.kind not in "iuf" or any(n < 0 for n in shape) or size != sum(part[4] for part in parts):
        raise ValueError("shape")
    out = np.empty(size, dtype=np.uint8)
    at = 0
    for place, (part, _, _, row, length, crc) in enumerate(parts):
        found = 0
        with database.blobopen("arrays", "data", row, readonly=True) as blob:
            for start in range(0, length, _READ):
                data = blob.read(_READ)
                out[at + start : at + start + len(data)] = np.frombuffer(data, dtype=np.uint8)
                found = zlib.crc32(data, found)
        if part != place or found != crc:
            raise ValueError("checksum")
        at += length
    return out.view(dtype).reshape(shape)


@contextlib.contextmanager
def _transaction(database: sqlite3.Connection, begin: str = "BEGIN IMMEDIATE") -> Iterator[None]:
    try:
        if database.in_transaction:  # an interrupted one
            database.execute("ROLLBACK")
        database.execute(begin)
        yield
        database.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            if database.in_transaction:
                database.execute("ROLLBACK")
        raise


@contextlib.contextmanager
def _said(folder: Path, *, reading: bool = False) -> Iterator[None]:
    """Errors of the database and of the system as one line."""
    try:
        yield
    except (sqlite3.Error, OSError, UnicodeDecodeError) as error:  # the last one in messages about a damaged schema
        why = error.strerror if isinstance(error, OSError) else str(error)
        if reading:
            raise FileError(f"{folder} is damaged or cannot be read ({why}); restore it from a copy.") from error
        raise FileError(f"{folder} cannot be written ({why}); nothing was changed.") from error


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
