"""How much memory is free, and the error for work that would need more."""

from __future__ import annotations

from cladify._kit.system import free_memory
from cladify.errors import NotEnoughMemory

__all__ = ["available_memory", "check_memory"]


def available_memory() -> int:
    """Bytes that can be allocated now: what the system reports, or the process's own limit where that is lower."""
    try:
        with open("/proc/meminfo") as lines:
            free = next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        free = free_memory()
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            with open(path) as limit, open(path.replace("max", "current").replace("limit", "usage")) as used:
                free = min(free, int(limit.read()) - int(used.read()))
        except (OSError, ValueError):
            continue
    return max(free, 0)


def check_memory(need: int, what: str, instead: str) -> None:
    """Raise before work that would not fit: ``what`` names the work, ``instead`` the alternative."""
    free = available_memory()
    if need > free:
        raise NotEnoughMemory(f"{what} needs {_size(need)}, {_size(free)} are free; {instead}")


def _size(n_bytes: float) -> str:
    for unit in ("B", "kB", "MB"):
        if n_bytes < 1000:
            return f"{n_bytes:.0f} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.1f} GB" if n_bytes < 100 else f"{n_bytes:.0f} GB"
