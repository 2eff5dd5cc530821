"""Where Windows differs from other systems: locks on files, how they are opened, and memory.

The rest of the package asks here and knows of no system. What is for Windows alone was tested with stand-ins of its
modules, not on Windows; ``docs/platforms.md`` says what was run.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from typing import Any

__all__ = ["OPEN_FLAGS", "free_memory", "lock_file", "on_windows", "peak_memory"]

#: For ``os.open``: follow no link, hand nothing to a child, and change no byte.
OPEN_FLAGS = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_CLOEXEC", "O_NOINHERIT", "O_BINARY"))

# Windows locks bytes, and what is locked nobody else can read: this is the last byte that its C library can name,
# behind the end of all files below 2 GB. In a larger one a reader may meet an error while another writes.
_FAR = 2**31 - 2


def on_windows() -> bool:
    return sys.platform == "win32"


def lock_file(descriptor: int, *, wait: bool) -> None:
    """Lock an open file until it is closed; an OSError where another has it, or where there are no locks.

    Parameters
    ----------
    descriptor : int
    wait : bool
        Wait for the other, or raise ``BlockingIOError``.
    """
    if not on_windows():
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        return
    import msvcrt

    windows: Any = msvcrt
    at = os.lseek(descriptor, 0, os.SEEK_CUR)
    os.lseek(descriptor, _FAR, os.SEEK_SET)
    try:
        while True:
            try:
                windows.locking(descriptor, windows.LK_LOCK if wait else windows.LK_NBLCK, 1)
                return
            except OSError as error:  # LK_LOCK gives up after ten seconds with EDEADLK
                if error.errno not in (errno.EACCES, errno.EDEADLK):
                    raise
                if not wait:
                    raise BlockingIOError(errno.EAGAIN, "locked by another") from None
    finally:
        os.lseek(descriptor, at, os.SEEK_SET)


def free_memory() -> int:
    """Bytes that Windows has free, or half of what another system has in all; 0 where it does not say."""
    if on_windows():
        status = _MemoryStatus(size=ctypes.sizeof(_MemoryStatus))
        if not _kernel32().GlobalMemoryStatusEx(ctypes.byref(status)):
            return 0
        return int(status.available)
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


def peak_memory() -> int:
    """The most memory this process held so far, in bytes."""
    if on_windows():
        counters = _MemoryCounters(size=ctypes.sizeof(_MemoryCounters))
        kernel = _kernel32()
        kernel.GetCurrentProcess.restype = ctypes.c_void_p
        process = ctypes.c_void_p(kernel.GetCurrentProcess())
        if not kernel.K32GetProcessMemoryInfo(process, ctypes.byref(counters), counters.size):
            return 0
        return int(counters.peak)
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _kernel32() -> Any:
    return ctypes.windll.kernel32  # type: ignore[attr-defined]


class _MemoryStatus(ctypes.Structure):
    """MEMORYSTATUSEX."""

    _fields_ = (
        ("size", ctypes.c_uint32),
        ("load", ctypes.c_uint32),
        ("total", ctypes.c_uint64),
        ("available", ctypes.c_uint64),
        ("others", ctypes.c_uint64 * 5),
    )


class _MemoryCounters(ctypes.Structure):
    """PROCESS_MEMORY_COUNTERS."""

    _fields_ = (
        ("size", ctypes.c_uint32),
        ("faults", ctypes.c_uint32),
        ("peak", ctypes.c_size_t),
        ("others", ctypes.c_size_t * 7),
    )
