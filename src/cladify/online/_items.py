"""Maps ids of items, slots of rows and leaves of the tree onto each other."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from contextlib import suppress
from typing import Any

import numpy as np

from cladify.errors import InvalidInput

__all__ = ["Items", "numbers_in"]


class Items:
    """Items in order of arrival. An item is known by its id, and has a slot (its row) and a leaf (its place)."""

    def __init__(self) -> None:
        self._slot: dict[Hashable, int] = {}  # in order of arrival
        self._next = 0  # the id that is given to an item that comes without one
        self._leaf = np.empty(0, dtype=np.int32)  # of a slot
        self._slot_of = np.empty(0, dtype=np.int32)  # of a leaf
        self._weight = np.empty(0)  # of a slot
        self._arrays: tuple[np.ndarray, np.ndarray] | None = None  # ids and slots in order of arrival

    def __len__(self) -> int:
        return len(self._slot)

    def __contains__(self, item: Hashable) -> bool:
        return item in self._slot

    @property
    def ids(self) -> np.ndarray:
        """All ids in order of arrival: an array of int64 where all fit, of objects otherwise."""
        return self._in_order()[0]

    @property
    def slots(self) -> np.ndarray:
        return self._in_order()[1]

    def _in_order(self) -> tuple[np.ndarray, np.ndarray]:
        if self._arrays is None:
            slots = np.fromiter(self._slot.values(), dtype=np.int32, count=len(self._slot))
            self._arrays = as_ids(self._slot), slots
            for array in self._arrays:
                array.flags.writeable = False
        return self._arrays

    @property
    def leaves(self) -> np.ndarray:
        return self.leaf_of(self.slots)

    def leaf_of(self, slots: np.ndarray) -> np.ndarray:
        return self._leaf[slots]

    def slot_of(self, leaves: np.ndarray) -> np.ndarray:
        return self._slot_of[leaves]

    @property
    def leaf_slots(self) -> np.ndarray:
        """Slots by leaf, for all at once."""
        return self._slot_of

    def new(self, ids: Any, count: int) -> list[Hashable]:
        """Ids for ``count`` items that are about to come: those given, checked, or the next numbers."""
        if ids is None:
            return list(range(self._next, self._next + count))
        given = as_list(ids)
        if len(given) != count:
            raise InvalidInput(f"ids and X must be of equal length, got {len(given)} ids for {count} rows.")
        seen: set[Hashable] = set()
        for item in given:
            if item in seen:
                raise InvalidInput(f"id {item!r} was given to two rows; ids must differ.")
            if item in self._slot:
                raise InvalidInput(f"id {item!r} is in the tree already; use update() to give it another row.")
            seen.add(item)
        return given

    def known(self, ids: Any) -> list[Hashable]:
        """These ids, after a check that each is here, once."""
        given = as_list(ids)
        missing = [item for item in given if item not in self._slot]
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            raise InvalidInput(f"id {missing[0]!r}{more} is not in the tree; nothing was changed.")
        if len(set(given)) != len(given):
            raise InvalidInput("An id was given twice; nothing was changed.")
        return given

    def slots_of(self, ids: Iterable[Hashable]) -> np.ndarray:
        return np.array([self._slot[item] for item in ids], dtype=np.int32)

    def weight_of(self, slots: np.ndarray) -> np.ndarray:
        return self._weight[slots]

    def add(self, ids: list[Hashable], slots: np.ndarray, leaves: np.ndarray, weight: np.ndarray) -> None:
        """Adds items, or (where the id is known) gives them another slot and leaf."""
        self._leaf = _put(self._leaf, slots, leaves)
        self._slot_of = _put(self._slot_of, leaves, slots)
        self._weight = _put(self._weight, slots, weight)
        self._arrays = None
        self._slot.update(zip(ids, slots.tolist(), strict=True))
        self._next = max(self._next, 1 + max(numbers_in(ids), default=-1))

    def dump(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        slots = self.slots
        arrays = {"slots": slots, "leaves": self.leaf_of(slots), "weight": self._weight[slots]}
        return {"ids": list(self._slot), "next": self._next}, arrays

    def load(self, meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        self.add(meta["ids"], arrays["slots"], arrays["leaves"], arrays["weight"])
        self._next = meta["next"]

    def forget(self, ids: list[Hashable]) -> None:
        """Drops items; those that are gone already are passed over, so that an interrupted call can be repeated."""
        self._arrays = None
        for item in ids:
            self._slot.pop(item, None)

    def entries(self) -> dict[Hashable, int]:
        """The slot of every id."""
        return self._slot

    @property
    def next_id(self) -> int:
        return self._next

    @next_id.setter
    def next_id(self, value: int) -> None:
        self._next = value


def _put(table: np.ndarray, places: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The table with values at these places, made longer where it must be."""
    need = int(places.max(initial=-1)) + 1
    if need > len(table):
        table = np.concatenate([table, np.full(max(need, 2 * len(table)) - len(table), -1, dtype=table.dtype)])
    table[places] = values
    return table


def as_list(ids: Any) -> list[Hashable]:
    """Ids as Python values: NumPy's integers and strings become int and str, so that 3 is 3."""
    if isinstance(ids, (str, bytes, int)):
        ids = [ids]
    array = ids if isinstance(ids, (list, tuple)) else np.asarray(ids)
    values = array.ravel().tolist() if isinstance(array, np.ndarray) else [_plain(item) for item in array]
    for item in values:
        if not isinstance(item, (int, str)) or isinstance(item, bool):
            raise InvalidInput(f"ids are whole numbers or strings, got {item!r}.")
    return values


def _plain(item: Any) -> Any:
    return item.item() if isinstance(item, np.generic) else item


def as_ids(ids: Iterable[Hashable]) -> np.ndarray:
    values = list(ids)
    with suppress(OverflowError):
        if all(issubclass(kind, int) for kind in set(map(type, values))):
            return np.array(values, dtype=np.int64)
    return np.array(values, dtype=object)


def numbers_in(ids: Collection[Hashable]) -> Collection[int]:
    """Those of some ids that are whole numbers; all of them, as they are, where all are."""
    kinds = set(map(type, ids))
    return ids if kinds <= {int} else [item for item in ids if isinstance(item, int)]  # type: ignore[return-value]
