"""What the online methods share: items that come, go and change, and snapshots of the tree they make."""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from cladify import _core
from cladify._estimator import told_value
from cladify._kit.parallel import one_blas_thread
from cladify._kit.params import Check, choice, integer, number, optional
from cladify._kit.progress import Progress, ProgressLike, reporting
from cladify.data._vectors import check_sample_weight, column_names
from cladify.data.points import Points, as_points
from cladify.errors import InvalidInput
from cladify.neighbors._nearest import nearest
from cladify.online._journal import pack, unpack
from cladify.online._labels import Clusters
from cladify.online._mutable import Changes
from cladify.online._state import State
from cladify.online._store import Store
from cladify.tree import Tree

__all__ = ["OnlineTree"]

_BATCH = 2048  # rows that are searched at once


class OnlineTree(ClusterMixin, BaseEstimator):
    """Base of the online methods.

    A subclass stores its parameters (``metric``, ``search``, ``random_state``, ``n_jobs``, ``n_clusters`` and
    ``distance_threshold`` among them), adds the checks of its own to ``_checks``, says how many neighbours an arriving
    point needs in ``_n_near``, and puts leaves into the tree in ``_insert``.
    """

    _checks: ClassVar[dict[str, Check]] = {
        "search": choice("auto", "exact", "cells"),
        "n_clusters": optional(integer(low=1)),
        "distance_threshold": optional(number(low=0.0)),
    }
    _method: ClassVar[str]
    metric: Any
    search: str
    random_state: int
    n_jobs: int | None
    n_clusters: int | None
    distance_threshold: float | None

    # --- changes ------------------------------------------------------------------------------------------------------

    def fit(
        self, X: Any, y: Any = None, *, sample_weight: Any = None, progress: ProgressLike | Progress = None
    ) -> Self:
        """Forget everything, then take the rows of ``X`` one after another."""
        self.close()
        for name in ("_state", "points_", "n_features_in_"):
            self.__dict__.pop(name, None)
        state = self._begin()
        self._check_names(X, reset=True)
        points = as_points(X, self.metric, sample_weight)
        rows = state.rows.check(points.rows, type(self).__name__)
        weight = np.ones(points.n) if points.weight is None else np.asarray(points.weight, dtype=np.float64)
        began = time.perf_counter()
        try:
            with reporting(progress) as report:
                self._add(state, list(range(points.n)), rows, weight, report)
        except BaseException:
            self.__dict__.pop("_state", None)
            raise
        state.seconds = time.perf_counter() - began
        self.n_features_in_: int = points.d
        self.points_: Points = points  # as long as the items are these
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        *,
        ids: Any = None,
        sample_weight: Any = None,
        progress: ProgressLike | Progress = None,
    ) -> Self:
        """Take new items, in the order of the rows.

        All of them or none: rows and ids are checked before the first is taken.

        Parameters
        ----------
        X : array of shape (m, d)
        y : ignored
            For scikit-learn's conventions.
        ids : m whole numbers or strings, optional
            What the items are called in :meth:`remove`, :meth:`update` and :attr:`ids_`; by default they are counted.
        sample_weight : array of shape (m,), optional
            How many points each row stands for.
        progress : bool or callable, optional

        Returns
        -------
        The estimator itself.
        """
        state = self._begin()
        self._check_names(X, reset=not len(state.items))
        X = state.rows.check(X, type(self).__name__)
        named = state.items.new(ids, len(X))
        weight = self._weights(sample_weight, len(X))
        self._record("add", named, X, weight)
        with self._changing(state), reporting(progress) as report:
            self._add(state, named, X, weight, report)
        self.n_features_in_ = X.shape[1]
        return self

    def _add(self, state: State, named: list[Hashable], X: np.ndarray, weight: np.ndarray, report: Progress) -> None:
        state.rows.settle(X)
        with report.stage("items", len(X)) as advance:
            first = 0 if len(state.items) else self._take_first(state, named, X, weight)
            advance(first)
            for start in range(first, len(X), _BATCH):
                part = slice(start, min(start + _BATCH, len(X)))
                self._take(state, named[part], X[part], weight[part])
                advance(part.stop - part.start)

    def remove(self, ids: Any) -> Self:
        """Take these items out; an id that is not there is an error, and nothing changes.

        Their siblings take the places of their parents. Memory is used again by later items.
        """
        state = self._begin()
        known = state.items.known(ids)
        if len(known):
            self._record("remove", known)
            with self._changing(state):
                self._remove(state, state.items.slots_of(known))
                state.items.forget(known)
        return self

    def update(self, ids: Any, X: Any, *, sample_weight: Any = None) -> Self:
        """Give these items other rows: they are taken out and come again, in their old places in :attr:`ids_`."""
        state = self._begin()
        X = state.rows.check(X, type(self).__name__)
        known = state.items.known(ids)
        if len(known) != len(X):
            raise InvalidInput(f"ids and X must be of equal length, got {len(known)} ids for {len(X)} rows.")
        weight = self._weights(sample_weight, len(X))
        if len(known):
            self._record("update", known, X, weight)
            with self._changing(state):
                self._update(state, known, X, weight)
        return self

    @contextmanager
    def _changing(self, state: State) -> Iterator[None]:
        self.__dict__.pop("points_", None)
        began = time.perf_counter()
        yield
        state.seconds += time.perf_counter() - began

    def _update(self, state: State, known: list[Hashable], X: np.ndarray, weight: np.ndarray) -> None:
        self._remove(state, state.items.slots_of(known))
        for start in range(0, len(X), _BATCH):
            part = slice(start, start + _BATCH)
            self._take(state, known[part], X[part], weight[part])

    # --- files --------------------------------------------------------------------------------------------------------

    def save(self, folder: Any, *, sync: bool = False) -> Self:
        """Keep the tree in a folder, from now on: a snapshot, and a journal of every later change.

        A change is in the journal before it is made, so that a process killed at any moment loses nothing that was
        acknowledged; :meth:`open` replays. Saving again into the same folder writes a new snapshot.

        Parameters
        ----------
        folder : path
            Made if it is not there. One object at a time writes to it: whoever opens it next takes it over from this
            one, if in this process, and is refused in another until :meth:`close`.
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
        >>> Grinch.open(folder).ids_.tolist()
        [0, 2]
        """
        from cladify.online._snapshot import dump

        state = self._begin()
        if state.tree is None:
            raise InvalidInput("There is nothing to save before the first item has come; call partial_fit first.")
        parameters = self.get_params()
        odd = [name for name, value in parameters.items() if not isinstance(value, (str, int, float, type(None)))]
        if odd:
            raise InvalidInput(f"{odd[0]}={parameters[odd[0]]!r} cannot be written to a file; names and numbers can.")
        store: Store | None = self.__dict__.get("_store")
        if store is None or store.folder.resolve() != Path(folder).resolve():
            self.close()
            store = Store(folder, sync=sync, create=True)
        store.sync = sync
        meta, arrays = dump(state)
        try:
            store.write({"class": type(self).__name__, "parameters": parameters, "state": meta}, arrays)
        except BaseException:
            if self.__dict__.get("_store") is not store:
                store.close()
            raise
        self._store = store
        return self

    @classmethod
    def open(cls, folder: Any, *, sync: bool = False) -> Self:
        """The tree that :meth:`save` keeps in a folder, with every change since; later changes go there, too."""
        import cladify.online as methods
        from cladify.online._snapshot import load

        store = Store(folder, sync=sync, create=False)
        try:
            meta, arrays, records = store.read()
            kind = getattr(methods, meta["class"]) if meta["class"] in methods.__all__ else None
            if kind is None or not issubclass(kind, cls):
                raise InvalidInput(
                    f"{folder} holds a {meta['class']}, not a {cls.__name__}; use cladify.online.open()."
                )
            online = kind(**meta["parameters"])
            load(online._begin(), meta["state"], arrays)
            online._loaded()
            for record in records:
                online._replay(record)
        except BaseException:
            store.close()
            raise
        online._store = store
        return online

    def close(self) -> None:
        """Let go of the folder, if there is one; another process may then open it."""
        store: Store | None = self.__dict__.pop("_store", None)
        if store is not None:
            store.close()

    def __getstate__(self) -> dict[str, Any]:
        """What a copy needs; it stands alone, without the folder."""
        from cladify.online._snapshot import dump

        kept: dict[str, Any] = {k: v for k, v in super().__getstate__().items() if k not in ("_state", "_store")}
        state: State | None = self.__dict__.get("_state")
        if state is not None and state.tree is not None:
            kept["_kept"] = (*dump(state), state.kept)
        return kept

    def __setstate__(self, kept: dict[str, Any]) -> None:
        from cladify.online._snapshot import load

        dumped = kept.pop("_kept", None)
        super().__setstate__(kept)
        if dumped is not None:
            meta, arrays, rows = dumped
            state = self._begin()
            load(state, meta, arrays)
            state.kept = rows
            self._loaded()

    def _record(
        self, kind: str, ids: list[Hashable], X: np.ndarray | None = None, weight: Any = None, *, values: Any = None
    ) -> None:
        store: Store | None = self.__dict__.get("_store")
        if store is None:
            return
        if store.is_long:
            self.save(store.folder, sync=store.sync)
        arrays = {} if X is None else {"X": X, "weight": weight}
        store.append(pack({"kind": kind, "ids": ids, "values": values}, arrays))

    def _replay(self, record: bytes) -> None:
        meta, arrays = unpack(record)
        state, ids = self._begin(), meta["ids"]
        if meta["kind"] == "remove":
            self._remove(state, state.items.slots_of(ids))
            state.items.forget(ids)
        elif meta["kind"] == "labels":
            state.labels.load(meta["values"])
        elif meta["kind"] == "update":
            self._update(state, ids, arrays["X"], arrays["weight"])
        else:
            self._add(state, ids, arrays["X"], arrays["weight"], Progress())

    def _loaded(self) -> None:
        """After the state was read from a folder."""

    # --- questions ----------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._begin().items)

    def __contains__(self, item: Hashable) -> bool:
        return item in self._begin().items

    @property
    def ids_(self) -> np.ndarray:
        """Ids of the items, in order of arrival: leaf i of :attr:`tree_` is item ``ids_[i]``."""
        return self._begin().items.ids

    @property
    def tree_(self) -> Tree:
        """The tree as it is now, in O(n); later changes leave it alone."""
        return self._frozen()[0]

    @property
    def node_ids_(self) -> np.ndarray:
        """Which node of the changing tree, as in :meth:`changes`, each node of :attr:`tree_` is."""
        return self._frozen()[1]

    @property
    def version_(self) -> int:
        """A number that grows with every change of the tree; see :meth:`changes`."""
        return int(self._begin().tree.version)

    def changes(self, since: int) -> Changes:
        """Which nodes were made, removed, moved or touched since version ``since`` (an earlier :attr:`version_`)."""
        tree = self._begin().tree
        if not tree.oldest_version <= since <= tree.version:
            raise InvalidInput(
                f"Changes are known since version {tree.oldest_version}, up to {tree.version}; got {since}. "
                "Take the whole tree with tree_."
            )
        return Changes(*tree.changes(since))

    @property
    def labels_(self) -> np.ndarray:
        """Cluster of every item, by ``n_clusters`` or ``distance_threshold``; without either, the two at the top."""
        return self._cut(None, None)

    def clusters(self, *, n_clusters: int | None = None, height: float | None = None) -> Clusters:
        """Flat clusters with labels that stay: a cluster keeps the number of the one it has most items in common with.

        Compared with the last call of this method, whatever the tree went through since, so that names given to labels
        last. Clusters that are new get numbers that were never used. Kept in the folder of :meth:`save`, too.

        Parameters
        ----------
        n_clusters, height : optional
            The cut, as in :meth:`cladify.Tree.cut`; by default that of ``labels_``.

        Returns
        -------
        Clusters
            ``labels`` of the items in the order of :attr:`ids_`, and which labels were ``born``, are ``gone``, were
            ``split`` and ``merged``.

        Examples
        --------
        >>> import numpy as np
        >>> from cladify.online import Rotate
        >>> online = Rotate(metric="sqeuclidean").partial_fit(np.array([[0.0], [1.0], [9.0], [10.0]]))
        >>> online.clusters(n_clusters=2).labels.tolist()
        [0, 0, 1, 1]
        >>> _ = online.remove([0, 1]).partial_fit(np.array([[20.0]]))
        >>> now = online.clusters(n_clusters=2)
        >>> now.labels.tolist(), now.born, now.gone
        ([1, 1, 2], [2], [0])
        """
        state = self._begin()
        cut = self._cut(n_clusters, height)
        found = state.labels.update(state.items.ids.tolist(), cut)
        self._record("labels", [], values=state.labels.dump())
        return found

    def predict(self, X: Any, *, n_clusters: int | None = None, height: float | None = None) -> np.ndarray:
        """Cluster of each row: that of the nearest item. Nothing is added."""
        check_is_fitted(self, "n_features_in_")
        self._check_names(X, reset=False)
        state = self._begin()
        labels = self._cut(n_clusters, height)
        rows = state.rows.check(X, type(self).__name__)
        if not len(rows):
            return labels[:0]
        if "points_" in self.__dict__:
            return labels[nearest(self.points_, X, n_jobs=self.n_jobs, model=type(self).__name__)]
        place = np.empty(int(state.items.slots.max()) + 1, dtype=np.int64)
        place[state.items.slots] = np.arange(len(state.items))
        z, _ = state.rows.searched(state.rows.features(rows))
        with one_blas_thread():
            return labels[place[state.search.nearest(z, 1)[:, 0]]]

    def fit_predict(self, X: Any, y: Any = None, **kwargs: Any) -> np.ndarray:
        """``labels_`` after ``fit``."""
        return self.fit(X, y, **kwargs).labels_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # --- inside -------------------------------------------------------------------------------------------------------

    _n_near: int = 1

    def _insert(self, state: State, leaves: np.ndarray, near: np.ndarray) -> None:
        """Puts leaves that hang nowhere into the tree; ``near`` are the leaves nearest to each, or -1."""
        raise NotImplementedError

    def _distances(self, state: State, nodes: np.ndarray) -> np.ndarray:
        """How far apart the two children of each of these nodes are."""
        raise NotImplementedError

    def _begin(self) -> State:
        state: State | None = self.__dict__.get("_state")
        if state is None:
            for name, check in self._checks.items():
                check(name, getattr(self, name))
            if self.n_clusters is not None and self.distance_threshold is not None:
                raise InvalidInput("Give n_clusters or distance_threshold, not both.")
            state = self._state = State(self.metric, self.search, self.random_state, self.n_jobs)
        return state

    def _take_first(self, state: State, ids: list[Hashable], X: np.ndarray, weight: np.ndarray) -> int:
        """Rows that an empty tree takes at once, for methods that have a batch form; returns how many."""
        return 0

    def _take(self, state: State, ids: list[Hashable], X: np.ndarray, weight: np.ndarray) -> None:
        if not len(X):
            return
        if state.tree is None:
            state.start(X.shape[1] + 1)
        features = state.rows.features(X)
        z, squared = state.rows.searched(features)
        with one_blas_thread():
            slots, near, *_ = state.search.add(z, squared, self._n_near)
        leaves = _core.online_make_leaves(state.tree, features * weight[:, None], weight)
        state.items.add(ids, slots, leaves)
        self._keep(state, slots, X)
        found = np.where(near < 0, -1, state.items.leaf_of(near)).astype(np.int32)
        try:
            self._insert(state, leaves, found)
        except BaseException:
            _core.online_remove_leaves(state.tree, leaves)
            state.search.remove(slots)
            state.items.forget(ids)
            raise

    def _keep(self, state: State, slots: np.ndarray, X: np.ndarray) -> None:
        """For methods that need the rows themselves."""

    def _remove(self, state: State, slots: np.ndarray) -> None:
        _core.online_remove_leaves(state.tree, state.items.leaf_of(slots))
        state.search.remove(slots)

    def _shape(self, state: State) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Parents of the tree as it is now, which node of the changing tree each node is, and heights."""
        parent, node = state.tree.freeze(state.items.leaves)
        return parent, node, self._heights(state, parent, node, len(state.items))

    def _heights(self, state: State, parent: np.ndarray, node: np.ndarray, n: int) -> np.ndarray:
        """Heights of these nodes; each becomes the largest one below it where that is larger."""
        height = np.zeros(len(parent))
        height[n:] = np.maximum(self._distances(state, node[n:]), 0.0)
        return height

    def _frozen(self) -> tuple[Tree, np.ndarray]:
        state = self._begin()
        if not len(state.items):
            raise InvalidInput(f"This {type(self).__name__} holds no items; call partial_fit first.")
        if state.frozen is None or state.frozen[0] != state.tree.version:
            n = len(state.items)
            parent, node, height = self._shape(state)
            height = np.asarray(_core.tree_largest_heights(parent, height, n))
            tree = Tree(parent, height, info=self._info(n))
            state.frozen = (state.tree.version, tree, node)
        return state.frozen[1], state.frozen[2]

    def _info(self, n: int) -> dict[str, Any]:
        from cladify import __version__

        state = self._begin()
        return {
            "method": self._method,
            "params": {name: told_value(value) for name, value in self.get_params(deep=False).items()},
            "metric": str(state.rows.similarity),
            "seed": self.random_state,
            "version": __version__,
            "n": n,
            "d": state.rows.n_features,
            "input": "rows",
            "seconds": state.seconds,
            "approximations": ["neighbours by cells"] if state.search.has_cells else [],
        }

    def _cut(self, n_clusters: int | None, height: float | None) -> np.ndarray:
        if n_clusters is None and height is None:
            n_clusters, height = self.n_clusters, self.distance_threshold
        tree = self.tree_
        if n_clusters is None and height is None:
            return tree.cut(n_clusters=min(2, tree.n_leaves))
        return tree.cut(n_clusters=n_clusters, height=height)

    def _check_names(self, X: Any, *, reset: bool) -> None:
        if column_names(X) is not None or hasattr(self, "feature_names_in_"):
            validate_data(self, X, reset=reset, skip_check_array=True)

    @staticmethod
    def _weights(sample_weight: Any, count: int) -> np.ndarray:
        weight = check_sample_weight(sample_weight, count)
        return np.ones(count) if weight is None else np.ascontiguousarray(weight, dtype=np.float64)
