"""Changes as transactions, and the folder that keeps them.

A change is checked, written in an open transaction, applied to memory and committed. After an exception at any of these
steps the transaction is rolled back, and the next call restores memory: from the folder, or, for a tree without one, by
building the tree again from the items, rows and weights it held before the change.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import wraps
from pathlib import Path
from threading import RLock
from typing import Any, ClassVar, ParamSpec, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator

from cladify._kit.container import first_line
from cladify._kit.progress import Progress
from cladify.errors import FileError, InvalidInput
from cladify.online._labels import StableLabels
from cladify.online._patches import Mark, marked, patch, patched
from cladify.online._snapshot import dump, load
from cladify.online._state import State, Undo
from cladify.online._storage import Change, Content, Store, pack, read_folder

__all__ = ["InFolder", "locked"]

_P = ParamSpec("_P")
_R = TypeVar("_R")
_FORGED = (ValueError, TypeError, KeyError, IndexError, AttributeError, ArithmeticError)


def locked(method: Callable[_P, _R]) -> Callable[_P, _R]:
    """One call at a time: other threads wait, and a callback of a call that is under way is refused."""

    @wraps(method)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        self: Any = args[0]
        lock = self._lock
        if lock._is_owned():
            raise InvalidInput(f"This {type(self).__name__} is in the middle of another call; call it after that.")
        with lock:
            return method(*args, **kwargs)

    return call


class InFolder(BaseEstimator):
    """Base of :class:`OnlineTree` for all that has to do with state and folder."""

    _methods: ClassVar[dict[str, type[InFolder]]] = {}  # by the name of the class
    _method: ClassVar[str]
    _state: State
    _store: Store | None
    _undo: Undo | None
    _read_only: Path | None
    _mark: Mark | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if not cls.__name__.startswith("_") and cls.__module__.startswith(__package__):
            InFolder._methods[cls.__name__] = cls

    @property
    def _lock(self) -> Any:
        lock = self.__dict__.get("_own_lock")
        return self.__dict__.setdefault("_own_lock", RLock()) if lock is None else lock

    # --- what methods provide -----------------------------------------------------------------------------------------

    def _new_state(self) -> State:
        raise NotImplementedError

    def _add(self, state: State, named: list[Hashable], X: np.ndarray, weight: np.ndarray, report: Progress) -> None:
        raise NotImplementedError

    def _remove(self, state: State, slots: np.ndarray) -> None:
        raise NotImplementedError

    def _update(self, state: State, known: list[Hashable], X: np.ndarray, weight: np.ndarray) -> None:
        raise NotImplementedError

    def _own_arrays(self, state: State) -> dict[str, dict[str, np.ndarray]]:
        """Arrays beside those of tree, items, rows and neighbours, as ``level`` and ``buffer``."""
        return {}

    def _restored(self, state: State, parts: dict[str, dict[str, np.ndarray]]) -> None:
        """Makes what the method keeps beside the tree from the arrays of a snapshot."""

    # --- state --------------------------------------------------------------------------------------------------------

    def _begin(self) -> State:
        """The state; a new one before the first item, and the last whole one after a change that failed."""
        undo: Undo | None = self.__dict__.get("_undo")
        if undo is not None:
            self._recover(undo)
        state: State | None = self.__dict__.get("_state")
        if state is None:
            state = self._state = self._new_state()
        return state

    @contextmanager
    def _change(
        self,
        kind: str,
        ids: list[Hashable],
        X: np.ndarray | None = None,
        weight: np.ndarray | None = None,
        *,
        values: Any = None,
        whole: bool = False,
    ) -> Iterator[State]:
        """A change of memory and folder, both or neither; ``whole`` ones are kept as a snapshot."""
        state, store = self._begin(), self._writer()
        arrays = {} if X is None or weight is None else {"X": X, "weight": weight}
        record = b""
        if store is not None:
            whole = whole or store.is_better_whole(sum(array.nbytes for array in arrays.values()))
            record = b"" if whole else pack({"kind": kind, "ids": ids, "values": values}, arrays)
        undo = state.undo(kind, ids, known=store is None and kind in ("remove", "update"))
        undo.folder = None if store is None else store.folder
        self.__dict__.pop("points_", None)
        began = time.perf_counter()
        with nullcontext() if store is None else store.transaction():
            if store is not None and not whole:
                store.append(record)
            self._undo = undo
            yield state
            state.seconds += time.perf_counter() - began
            if store is not None and whole:
                if kind == "remove":
                    state.items.forget(ids)
                store.write(*self._dump(state))
        undo.done = True
        self._finish(state, undo)

    def _finish(self, state: State, undo: Undo) -> None:
        if undo.kind == "remove":
            state.items.forget(undo.items.ids)
        self._undo = None

    def _recover(self, undo: Undo) -> None:
        store: Store | None = self.__dict__.get("_store")
        if undo.done:
            self._finish(self._state, undo)
            return
        if undo.folder is not None:
            if store is None or store.folder != undo.folder:
                raise FileError(f"A change to this tree failed and {undo.folder} was closed; open the folder again.")
            content = store.read()
            with _damage_said(store.folder):
                state = self._restore(content, store)
        else:
            state = self._rebuild(self._state, undo)
        state.first_version = max(state.first_version, self._state.version + 1 - state.version)
        self._state = state
        self._undo = self._mark = None

    def _rebuild(self, old: State, undo: Undo) -> State:
        """A state with the items that ``old`` held before the change."""
        held = old.before(undo)
        state = self._new_state()
        state.rows.load(*undo.metric)
        if state.tree is None and undo.metric[0]["n_features"] is not None:  # it was emptied, and knows its next id
            state.start(old.tree.width)
        if len(held.ids):
            self._add(state, held.ids, held.rows, held.weight, Progress())
        state.items.next_id, state.labels, state.seconds = undo.next_id, old.labels, old.seconds
        return state

    # --- files --------------------------------------------------------------------------------------------------------

    @locked
    def save(self, folder: Any, *, sync: bool = False) -> Self:
        """Keep the tree in a folder, from now on: a snapshot, and every later change as a transaction.

        A change is in memory and in the folder, or, after an exception, a full disk or a killed process, in neither.
        Saving again into the same folder writes a new snapshot.

        Parameters
        ----------
        folder : path
            Made if it is not there, for its user only. Other files in it are left alone. One object at a time writes:
            whoever opens the folder next takes it over from this one, if in this process, and is refused in another
            until :meth:`close`. Any number may read, with ``open(folder, read_only=True)``.
        sync : bool
            Whether each change is on the disk, not only in the system's hands, when its call returns: then it survives
            a power cut, too, at the price of some milliseconds a call.

        Examples
        --------
        >>> import numpy as np, tempfile
        >>> from cladify.online import Grinch
        >>> folder = tempfile.mkdtemp()
        >>> online = Grinch().partial_fit(np.eye(3)).save(folder)
        >>> online.remove([1]).close()
        >>> with Grinch.open(folder) as again:
        ...     again.ids_.tolist()
        [0, 2]
        """
        state = self._begin()
        if state.tree is None:
            raise InvalidInput("There is nothing to save before the first item has come; call partial_fit first.")
        self._kept_parameters()
        store: Store | None = self.__dict__.get("_store")
        if store is not None and store.folder.resolve() == Path(folder).resolve():
            store.check()
            store.set_sync(sync)
            with store.transaction():
                store.write(*self._dump(state))
            return self
        fresh = Store(folder, sync=sync, create=True)
        try:
            with fresh.transaction():
                fresh.write(*self._dump(state))
        except BaseException:
            fresh.close()
            raise
        self._store, self._read_only = fresh, None
        if store is not None:
            store.close()
        return self

    @classmethod
    def open(cls, folder: Any, *, sync: bool = False, read_only: bool = False) -> Self:
        """The tree that :meth:`save` keeps in a folder, with every change since; later changes go there, too.

        With ``read_only`` it is the tree as it is at this moment, while another process may write; it cannot be
        changed. Use it as ``with open(folder) as tree:``, or call :meth:`close`.
        """
        if read_only:
            online = cls._from(read_folder(folder), Path(folder), None)
            online._read_only = Path(folder)
            return online
        store = Store(folder, sync=sync, create=False)
        try:
            online = cls._from(store.read(), store.folder, store)
        except BaseException:
            store.close()
            raise
        online._store = store
        return online

    @classmethod
    def _read_marked(cls, folder: Any) -> Self:
        """The tree of a folder, in memory alone, that can be brought back by what has changed: `_save_changes`."""
        store = Store(folder, sync=False, create=False)
        try:
            content, at = store.read(), store.at()
            with _damage_said(store.folder):
                content = patched(content)
            online = cls._from(content, store.folder, store)
            if at is not None and not content.changes:
                online._mark = marked(at, online._begin(), content.arrays)
        finally:
            store.close()
        return online

    @locked
    def _save_marked(self, folder: Any) -> None:
        """All of the tree in a new folder, which it lets go of; see `_save_changes`."""
        state, store = self._begin(), Store(folder, sync=True, create=True)
        try:
            meta, arrays = self._dump(state, raw=True)
            with store.transaction():
                store.write(meta, arrays, files=True)
            at = store.at()
        finally:
            store.close()
        self._mark = None if at is None else marked(at, state, arrays)

    @locked
    def _save_changes(self, folder: Any) -> bool:
        """Write what has changed since the folder was read or written: one transaction, which survives a power cut.

        False where it holds something else by now, or all is better written anew; nothing is written then.
        """
        state, mark = self._begin(), self._mark
        if mark is None:
            return False
        try:
            store = Store(folder, sync=True, create=False)
        except FileError:
            return False
        try:
            if store.at() != mark.at:
                return False
            self._mark = None  # what has changed is known once
            found = patch(mark, state, self._own_arrays(state))
            if found is None:
                return False
            meta, arrays, after = found
            record = pack(meta, arrays)
            if store.is_long(len(record)):
                return False
            with store.transaction():
                store.append(record, patch=True)
            self._mark = after._replace(at=(mark.at[0], mark.at[1] + 1))
            return True
        finally:
            store.close()

    @classmethod
    def _from(cls, content: Content, folder: Path, store: Store | None) -> Self:
        with _damage_said(folder):
            kind = cls._methods.get(content.meta["class"])
        if kind is None or not issubclass(kind, cls):
            raise InvalidInput(
                f"{folder} holds a {content.meta['class']}, not a {cls.__name__}; use cladify.online.open()."
            )
        with _damage_said(folder):
            online = kind(**content.meta["parameters"])
            online._state = online._restore(content, store)
            online.n_features_in_ = online._state.rows.n_features
            if content.meta["columns"] is not None:
                online.feature_names_in_ = np.array([str(name) for name in content.meta["columns"]], dtype=object)
        return online

    @locked
    def close(self) -> None:
        """Let go of the folder, if there is one; another process may then open it. Calling it again does nothing."""
        store: Store | None = self.__dict__.get("_store")
        if store is None:
            return
        with suppress(FileError, MemoryError):
            self._begin()
        self._store = None
        store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def set_params(self, **params: Any) -> Self:
        """Set parameters; a tree in a folder keeps them there, too."""
        before = self.get_params()
        super().set_params(**params)
        if self.__dict__.get("_store") is not None:
            try:
                self._record_parameters()
            except BaseException:
                super().set_params(**before)
                raise
        return self

    @locked
    def _record_parameters(self) -> None:
        with self._change("parameters", [], values=self._kept_parameters()):
            pass

    @locked
    def __getstate__(self) -> dict[str, Any]:
        """The state of a copy; it stands alone, without the folder."""
        own = ("_state", "_store", "_undo", "_own_lock", "_read_only", "_mark")
        state = self._begin() if "_state" in self.__dict__ else None
        kept: dict[str, Any] = {k: v for k, v in super().__getstate__().items() if k not in own}
        if state is not None and state.tree is not None:
            kept["_kept"] = (*dump(state, self._own_arrays(state)), state.kept)
        return kept

    def __setstate__(self, kept: dict[str, Any]) -> None:
        dumped = kept.pop("_kept", None)
        super().__setstate__(kept)
        if dumped is not None:
            meta, arrays, rows = dumped
            state = self._new_state()
            self._restored(state, load(state, meta, arrays))
            state.kept = rows
            self._state = state

    def _writer(self) -> Store | None:
        """The store of a change, where there is one."""
        if (folder := self.__dict__.get("_read_only")) is not None:
            raise FileError(f"This tree was opened read-only from {folder}; open it without read_only to change it.")
        store: Store | None = self.__dict__.get("_store")
        if store is not None:
            store.check()
        return store

    def _kept_parameters(self) -> dict[str, Any]:
        parameters: dict[str, Any] = self.get_params()
        odd = [name for name, value in parameters.items() if not isinstance(value, (str, int, float, type(None)))]
        if odd:
            raise InvalidInput(f"{odd[0]}={parameters[odd[0]]!r} cannot be written to a file; names and numbers can.")
        return parameters

    def _dump(self, state: State, *, raw: bool = False) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        meta, arrays = dump(state, self._own_arrays(state), "raw" if raw else "columns")
        names = getattr(self, "feature_names_in_", None)
        about = {"class": type(self).__name__, "method": self._method, "parameters": self._kept_parameters()}
        return {**about, "columns": None if names is None else list(names), "state": meta}, arrays

    def _restore(self, content: Content, store: Store | None) -> State:
        state, content = self._new_state(), patched(content)
        state.patched_lists = list(content.lists)
        room = {"search_z": content.rooms["search_z"]} if "search_z" in content.rooms else {}
        self._restored(state, load(state, content.meta["state"], content.arrays | room))
        with nullcontext() if store is None or not content.changes else store.replaying() as note:
            for change in content.changes:
                if note is not None:
                    note(change.number)
                self._replay(state, change)
        return state

    def _replay(self, state: State, change: Change) -> None:
        """Applies a recorded change. Ids that a change set aside would have added or removed are passed over."""
        kind, ids, arrays = change.meta["kind"], change.meta["ids"], change.arrays
        if kind == "labels":
            state.labels = StableLabels.load(change.meta["values"])
            return
        if kind == "parameters":
            super().set_params(**change.meta["values"])
            return
        fits = [i for i, item in enumerate(ids) if (item in state.items) == (kind != "add")]
        ids = [ids[i] for i in fits]
        if kind == "remove":
            self._remove(state, state.items.slots_of(ids))
            state.items.forget(ids)
            return
        X = state.rows.check(arrays["X"][fits], type(self).__name__)
        weight = arrays["weight"][fits]
        if kind == "update":
            self._update(state, ids, X, weight)
        else:
            self._add(state, ids, X, weight, Progress())


@contextmanager
def _damage_said(folder: Path) -> Iterator[None]:
    try:
        yield
    except FileError:
        raise
    except _FORGED as error:
        why = first_line(error)
        raise FileError(
            f"{folder} is damaged ({why}); restore it from a copy, or save what is whole with `cladify rescue`."
        ) from error
