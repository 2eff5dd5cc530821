"""Output appears whole or not at all."""

import errno
import os
import stat
from pathlib import Path

import pytest

from cladify._kit.atomic import atomic_path, atomic_write, check_writable, protected
from cladify.errors import FileError

root_only = pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")


def test_writes_and_replaces(tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    for text in ("first", "second ü"):
        with atomic_write(target, "w") as file:
            file.write(text)
        assert target.read_text(encoding="utf-8") == text
    assert os.listdir(tmp_path) == ["out.txt"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_failure_leaves_the_old_file(tmp_path: Path, error: type[BaseException]) -> None:
    target = tmp_path / "out.bin"
    target.write_bytes(b"precious")
    with pytest.raises(error), atomic_write(target) as file:
        file.write(b"half")
        raise error
    assert target.read_bytes() == b"precious"
    assert os.listdir(tmp_path) == ["out.bin"]


def test_new_files_follow_the_umask_and_old_ones_keep_their_mode(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        with atomic_write(tmp_path / "new") as file:
            file.write(b"")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640
    (tmp_path / "new").chmod(0o604)
    with atomic_write(tmp_path / "new") as file:
        file.write(b"")
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o604


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    with atomic_write(tmp_path / "link", "w") as file:
        file.write("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_unwritable_places_say_so(tmp_path: Path) -> None:
    for path, match in [
        (tmp_path / "missing" / "out", "does not exist; create it first"),
        (tmp_path, "is a folder; give the name of a file"),
        (Path("/proc/cladify-out"), "cannot write /proc/cladify-out"),
    ]:
        with pytest.raises(FileError, match=match), atomic_path(path):
            pass
        with pytest.raises(FileError, match=match):
            check_writable(path)


@root_only
def test_a_folder_without_permission(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(FileError, match="Permission denied; choose a folder you may write to"):
        check_writable(tmp_path / "out")


def test_a_full_disk_says_so(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.write_text("precious")
    with (
        pytest.raises(FileError, match="No space left on device; free some space"),
        atomic_path(target) as draft,
    ):
        draft.write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device")
    assert target.read_text() == "precious"


def test_an_error_of_another_file_is_not_blamed_on_the_output(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="input"), atomic_path(tmp_path / "out"):
        (tmp_path / "input").read_text()


# --- every call of the operating system fails once --------------------------------------------------------------------

CALLS = ("open", "fsync", "chmod", "replace", "close")


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EINTR], ids=errno.errorcode.get)
@pytest.mark.parametrize("call", CALLS)
def test_a_call_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch, call: str, code: int) -> None:
    """The n-th call fails, for every n: the old file, or after the last step the new one, and nothing beside it."""
    target = tmp_path / "out.bin"
    original = getattr(os, call)
    failures = 0
    for turn in range(6):
        target.write_bytes(b"precious")
        count = iter(range(100))

        def broken(*args, _count=count, _turn=turn, **kwargs):
            if next(_count) == _turn:
                if call == "close":
                    original(*args, **kwargs)
                raise OSError(code, os.strerror(code))
            return original(*args, **kwargs)

        with monkeypatch.context() as patch:
            patch.setattr(os, call, broken)
            try:
                with atomic_write(target) as file:
                    file.write(b"new")
            except FileError as error:
                failures += 1
                assert "cannot write" in str(error) and "\n" not in str(error)
                assert target.read_bytes() == b"precious"
            else:
                assert target.read_bytes() == b"new"
        assert os.listdir(tmp_path) == ["out.bin"]
    assert failures


def test_writing_to_a_full_disk(tmp_path: Path) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("needs /dev/full")
    target = tmp_path / "out"
    target.write_text("precious")
    with pytest.raises(FileError, match="No space left"), atomic_write(target) as file:
        full = os.open("/dev/full", os.O_WRONLY)
        os.dup2(full, file.fileno())
        os.close(full)
        file.write(b"x" * 100_000)
    assert target.read_text() == "precious" and os.listdir(tmp_path) == ["out"]


def test_a_planted_link_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("secrets.token_hex", lambda n: "known")
    (tmp_path / "victim").write_text("precious")
    (tmp_path / ".out.known.tmp").symlink_to("victim")
    with pytest.raises(FileError, match="File exists"), atomic_write(tmp_path / "out", "w") as file:
        file.write("x")
    assert (tmp_path / "victim").read_text() == "precious" and not (tmp_path / "out").exists()


def test_inputs_are_protected(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_text("precious")
    os.link(source, tmp_path / "hard")
    (tmp_path / "soft").symlink_to(source)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "part").write_text("precious")
    with protected([source, tmp_path / "folder", tmp_path / "none"]):
        for name in ("source", "hard", "soft", "folder/part"):
            with pytest.raises(FileError, match="would be overwritten"), atomic_write(tmp_path / name):
                pass
            with pytest.raises(FileError, match="would be overwritten"):
                check_writable(tmp_path / name)
        for name in ("other", "folder/new"):
            with atomic_write(tmp_path / name, "w") as file:
                file.write("fine")
    with atomic_write(source, "w") as file:
        file.write("new")
    assert source.read_text() == "new" and (tmp_path / "hard").read_text() == "precious"
