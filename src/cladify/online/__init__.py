"""Trees that stay right while points arrive and leave: ``partial_fit``, ``remove``, ``update`` and snapshots."""

from typing import Any

from cladify.online._base import OnlineTree
from cladify.online._care import backup, check, rescue
from cladify.online.baselines import OHAC, MiniBatchHAC
from cladify.online.incremental import Greedy, Grinch, Rotate
from cladify.online.live import LiveTree
from cladify.online.mini_batch import MiniBatchSCC
from cladify.online.perch import Perch

__all__ = [
    "OHAC",
    "Greedy",
    "Grinch",
    "LiveTree",
    "MiniBatchHAC",
    "MiniBatchSCC",
    "OnlineTree",
    "Perch",
    "Rotate",
    "backup",
    "check",
    "rescue",
]


def open(folder: Any, *, sync: bool = False, read_only: bool = False) -> OnlineTree:
    """The online tree, of whatever method, that lives in a folder; see :meth:`OnlineTree.save`."""
    return OnlineTree.open(folder, sync=sync, read_only=read_only)
