"""Trees that stay right while points arrive and leave: ``partial_fit``, ``remove``, ``update`` and snapshots."""

from typing import Any

from ramify.online._base import OnlineTree
from ramify.online.baselines import OHAC, MiniBatchHAC
from ramify.online.incremental import Greedy, Grinch, Rotate
from ramify.online.live import LiveTree
from ramify.online.mini_batch import MiniBatchSCC
from ramify.online.perch import Perch

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
    "open",
]


def open(folder: Any, *, sync: bool = False) -> OnlineTree:
    """The online tree, of whatever method, that lives in a folder; see :meth:`OnlineTree.save`."""
    return OnlineTree.open(folder, sync=sync)
