"""Other systems, played: what a Windows process would call is replaced by stand-ins with Windows' rules."""

import ctypes
import errno
import fcntl
import os
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import cladify
from cladify._kit import atomic, memory, system
from cladify.errors import FileError

needs_proc = pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc to see open files")


def _is_open(path: Path) -> bool:
    held = (os.path.realpath(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd"))
    return os.path.realpath(path) in held


def _locking(descriptor: int, mode: int, n_bytes: int) -> None:
    """As in msvcrt: locked bytes cannot be read by others, so they must lie behind the end of the file."""
    assert n_bytes == 1
    assert os.lseek(descriptor, 0, os.SEEK_CUR) > os.fstat(descriptor).st_size
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        if mode == 1:
            raise OSError(errno.EDEADLK, "Resource deadlock avoided") from None
        raise OSError(errno.EACCES, "Permission denied") from None


def _replace(source: str | Path, target: str | Path) -> None:
    if os.path.isfile(target) and _is_open(Path(target)):
        raise PermissionError(errno.EACCES, "Access is denied", str(target))
    os.rename(source, target)


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "on_windows", lambda: True)
    monkeypatch.setattr(atomic, "on_windows", lambda: True)
    monkeypatch.setitem(sys.modules, "msvcrt", types.SimpleNamespace(LK_LOCK=1, LK_NBLCK=2, locking=_locking))
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "resource", None)
    monkeypatch.setattr(os, "replace", _replace)


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> types.SimpleNamespace:
    """Windows' own functions, which fill the structures at the places that its documentation gives."""

    def memory_status(at: object) -> int:
        raw = (ctypes.c_char * 64).from_address(ctypes.addressof(at._obj))
        assert int.from_bytes(raw[:4], "little") == 64
        raw[16:24] = (7 << 30).to_bytes(8, "little")
        return 1

    def memory_info(process: object, at: object, size: int) -> int:
        assert size == 72
        raw = (ctypes.c_char * 72).from_address(ctypes.addressof(at._obj))
        raw[8:16] = (5 << 20).to_bytes(8, "little")
        return 1

    def current_process() -> int:
        return 2**64 - 1

    kernel = types.SimpleNamespace(
        GlobalMemoryStatusEx=memory_status, K32GetProcessMemoryInfo=memory_info, GetCurrentProcess=current_process
    )
    monkeypatch.setattr(ctypes, "windll", types.SimpleNamespace(kernel32=kernel), raising=False)
    return kernel


@pytest.mark.parametrize("name", ["here", "windows"])
def test_one_holds_a_lock(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if name == "windows":
        request.getfixturevalue("windows")
    with open(tmp_path / "file", "w+b") as first, open(tmp_path / "file", "r+b") as second:
        first.write(b"text")
        first.flush()
        system.lock_file(first.fileno(), wait=False)
        assert first.tell() == 4
        with pytest.raises(BlockingIOError):
            system.lock_file(second.fileno(), wait=False)
        first.close()
        system.lock_file(second.fileno(), wait=True)
        assert second.read() == b"text"


@pytest.mark.usefixtures("windows")
def test_windows_waits_longer_than_its_ten_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def busy_twice(descriptor: int, mode: int, n_bytes: int) -> None:
        calls.append(mode)
        if len(calls) < 3:
            raise OSError(errno.EDEADLK, "Resource deadlock avoided")

    monkeypatch.setattr(sys.modules["msvcrt"], "locking", busy_twice)
    with open(tmp_path / "file", "wb") as file:
        system.lock_file(file.fileno(), wait=True)
    assert calls == [1, 1, 1]


@pytest.mark.usefixtures("windows")
def test_a_disk_without_locks_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(descriptor: int, mode: int, n_bytes: int) -> None:
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(sys.modules["msvcrt"], "locking", no_locks)
    with open(tmp_path / "file", "wb") as file, pytest.raises(OSError, match="Invalid argument"):
        system.lock_file(file.fileno(), wait=True)


@pytest.mark.usefixtures("windows")
def test_memory_on_windows(kernel: types.SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sysconf")
    assert system.free_memory() == 7 << 30
    assert system.peak_memory() == 5 << 20
    monkeypatch.setattr("builtins.open", _no_such_file)
    assert memory.available_memory() == 7 << 30
    kernel.GlobalMemoryStatusEx = lambda at: 0
    kernel.K32GetProcessMemoryInfo = lambda process, at, size: 0
    assert system.free_memory() == system.peak_memory() == 0


def _no_such_file(*args: object, **options: object) -> None:
    raise FileNotFoundError(errno.ENOENT, "No such file")


def test_memory_here() -> None:
    assert 2**20 < system.peak_memory() < 2**40
    assert 2**26 < system.free_memory() < 2**50


@needs_proc
@pytest.mark.usefixtures("windows")
def test_an_open_file_is_not_replaced_on_windows_and_the_error_says_why(tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_bytes(b"old")
    with open(target, "rb"), pytest.raises(FileError, match="close it in other programs"), atomic.atomic_write(target):
        pass
    assert target.read_bytes() == b"old"


@needs_proc
@pytest.mark.usefixtures("windows")
def test_a_taxonomy_is_saved_edited_and_saved_on_windows(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32)
    taxonomy = cladify.Taxonomy.fit(X, [f"item {i}" for i in range(60)])
    path = tmp_path / "some.taxonomy"
    taxonomy.save(path)
    group = max(taxonomy.names)
    taxonomy.rename(group, "renamed here")
    taxonomy.save(path)
    again = cladify.Taxonomy.load(path)
    assert again.names[group] == "renamed here"
    again.save(path)
    assert cladify.Taxonomy.load(path).summary() == taxonomy.summary()


@pytest.mark.usefixtures("windows")
def test_a_folder_has_one_writer_on_windows(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32)
    made = cladify.Grinch()
    made.partial_fit(X)
    made.save(tmp_path / "tree")
    with cladify.Grinch.open(tmp_path / "tree"), pytest.raises(FileError, match="being written by another"):
        cladify.Grinch.open(tmp_path / "tree")
    with cladify.Grinch.open(tmp_path / "tree") as again:
        assert again.tree_.n_leaves == 20
