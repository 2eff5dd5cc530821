"""Output appears whole or not at all."""

import os
import stat
from pathlib import Path

import pytest

from cladify._kit.atomic import atomic_path, atomic_write, check_writable
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
    import errno

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
