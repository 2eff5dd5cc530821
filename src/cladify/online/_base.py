"""Base of the online methods: changes to the items, and questions about the tree."""

from __future__ import annotations

import copy
import time
from collections.abc import Hashable
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from cladify import _core
from cladify._estimator import plain_value
from cladify._kit.parallel import one_blas_thread
from cladify._kit.params import Check, choice, integer, number, optional
from cladify._kit.progress import Progress, ProgressLike, reporting
from cladify._version import __version__
from cladify.data._vectors import check_sample_weight, column_names
from cladify.data.points import Points, as_points
from cladify.errors import FileError, InvalidInput
from cladify.neighbors._nearest import nearest
from cladify.online._folder import InFolder, locked
from cladify.online._items import as_list
from cladify.online._labels import Clusters
from cladify.online._state import State
from cladify.tree import Tree

__all__ = ["Changes", "OnlineTree"]

_BATCH = 2048  # rows that are searched at once


class Changes(NamedTuple):
    """Nodes by what became of them between a version and now.

    Ids of nodes that are gone are used again, as late as possible: one that is both in ``removed`` and in ``made`` is
    another node now.
    """

    made: np.ndarray
    removed: np.ndarray
    moved: np.ndarray  #: there before and now, under another parent
    touched: np.ndarray  #: there before and now, with something below that was made, removed or moved


class OnlineTree(ClusterMixin, InFolder):
    """Base of the online methods.

    Any thread may call: one call at a time works on an object, and others wait for it.

    A subclass stores its parameters (``metric``, ``search``, ``random_state``, ``n_jobs``, ``n_clusters`` and
    ``distance_threshold`` among them), adds the checks of its own to ``_checks``, says how many neighbours an arriving
    point needs in ``_n_near``, and puts leaves into the tree in ``_insert``.
    """

    _checks: ClassVar[dict[str, Check]] = {
        "search": choice("auto", "exact", "cells"),
        "n_clusters": optional(integer(low=1)),
        "distance_threshold": optional(number(low=0.0)),
    }
    metric: Any
    search: str
    random_state: int
    n_jobs: int | None
    n_clusters: int | None
    distance_threshold: float | None

    # --- changes ------------------------------------------------------------------------------------------------------

    @locked
    def fit(
        self, X: Any, y: Any = None, *, sample_weight: Any = None, progress: ProgressLike | Progress = None
    ) -> Self:
        """Forget everything, then take the rows of ``X`` one after another; a tree in a folder refuses."""
        if (store := self._writer()) is not None:
            raise FileError(
                f"fit() would discard what {store.folder} holds; call partial_fit to add, or close() before fit()."
            )
        state = self._new_state()
        self._check_names(X, reset=True)
        points = as_points(X, self.metric, sample_weight)
        rows = state.rows.check(points.rows, type(self).__name__)
        weight = np.ones(points.n) if points.weight is None else np.asarray(points.weight, dtype=np.float64)
        began = time.perf_counter()
        with reporting(progress) as report:
            self._add(state, list(range(points.n)), rows, weight, report)
        state.seconds = time.perf_counter() - began
        self._undo, self._state = None, state
        self.n_features_in_: int = points.d
        self.points_: Points = points  # as long as the items are these
        return self

    @locked
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

        All of them or none, whatever happens: see :meth:`save`.

        Parameters
        ----------
        X : array of shape (m, d)
        y : ignored
            For scikit-learn's conventions.
        ids : m whole numbers or strings, optional
            Names of the items in :meth:`remove`, :meth:`update` and :attr:`ids_`; by default they are counted.
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
        with self._change("add", named, X, weight), reporting(progress) as report:
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

    @locked
    def remove(self, ids: Any) -> Self:
        """Take these items out; an id that is not there is an error, and nothing changes.

        Their siblings take the places of their parents. Memory is used again by later items.
        """
        state = self._begin()
        known = state.items.known(ids)
        if len(known):
            with self._change("remove", known):
                self._remove(state, state.items.slots_of(known))
        return self

    @locked
    def update(self, ids: Any, X: Any, *, sample_weight: Any = None) -> Self:
        """Give these items other rows: they are taken out and come again, in their old places in :attr:`ids_`."""
        state = self._begin()
        X = state.rows.check(X, type(self).__name__)
        known = state.items.known(ids)
        if len(known) != len(X):
            raise InvalidInput(f"ids and X must be of equal length, got {len(known)} ids for {len(X)} rows.")
        weight = self._weights(sample_weight, len(X))
        if len(known):
            with self._change("update", known, X, weight):
                self._update(state, known, X, weight)
        return self

    def _update(self, state: State, known: list[Hashable], X: np.ndarray, weight: np.ndarray) -> None:
        self._remove(state, state.items.slots_of(known))
        for start in range(0, len(X), _BATCH):
            part = slice(start, start + _BATCH)
            self._take(state, known[part], X[part], weight[part])

    # --- questions ----------------------------------------------------------------------------------------------------

    @locked
    def __len__(self) -> int:
        return len(self._begin().items)

    @locked
    def __contains__(self, item: Hashable) -> bool:
        return item in self._begin().items

    @locked
    def holds(self, ids: Any, X: Any) -> bool:
        """Whether the tree holds exactly these rows under these ids, in float32."""
        state = self._begin()
        named = as_list(ids)
        if state.rows.n_features is None or any(item not in state.items for item in named):
            return False
        z, _ = state.rows.searched(state.rows.features(state.rows.check(X, type(self).__name__)))
        return np.array_equal(state.search.z(state.items.slots_of(named)), z)

    @property
    @locked
    def ids_(self) -> np.ndarray:
        """Ids of the items, in order of arrival: leaf i of :attr:`tree_` is item ``ids_[i]``."""
        return self._begin().items.ids.copy()

    @property
    @locked
    def tree_(self) -> Tree:
        """The tree as it is now, in O(n); later changes leave it alone."""
        return self._frozen(self._begin())[0]

    @property
    @locked
    def node_ids_(self) -> np.ndarray:
        """Which node of the changing tree, as in :meth:`changes`, each node of :attr:`tree_` is."""
        return self._frozen(self._begin())[1]

    @property
    @locked
    def version_(self) -> int:
        """A number that grows with every change of the tree; see :meth:`changes`."""
        return self._begin().version

    @locked
    def changes(self, since: int) -> Changes:
        """Which nodes were made, removed, moved or touched since version ``since`` (an earlier :attr:`version_`)."""
        state = self._begin()
        if not state.oldest_version <= since <= state.version:
            raise InvalidInput(
                f"Changes are known since version {state.oldest_version}, up to {state.version}; got {since}. "
                "Take the whole tree with tree_."
            )
        if state.tree is None:
            return Changes(*(np.empty(0, dtype=np.int32) for _ in range(4)))
        return Changes(*state.tree.changes(since - state.first_version))

    @property
    @locked
    def labels_(self) -> np.ndarray:
        """Cluster of every item, by ``n_clusters`` or ``distance_threshold``; without either, the two at the top."""
        return self._cut(self._begin(), None, None)

    @locked
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
        cut = self._cut(state, n_clusters, height)
        labels = copy.copy(state.labels)
        found = labels.update(state.items.ids.tolist(), cut)
        with self._change("labels", [], values=labels.dump()):
            state.labels = labels
        return found

    @locked
    def predict(self, X: Any, *, n_clusters: int | None = None, height: float | None = None) -> np.ndarray:
        """Cluster of each row: that of the nearest item. Nothing is added."""
        check_is_fitted(self, "n_features_in_")
        self._check_names(X, reset=False)
        state = self._begin()
        labels = self._cut(state, n_clusters, height)
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

    def _new_state(self) -> State:
        for name, check in self._checks.items():
            check(name, getattr(self, name))
        if self.n_clusters is not None and self.distance_threshold is not None:
            raise InvalidInput("Give n_clusters or distance_threshold, not both.")
        return State(self.metric, self.search, self.random_state, self.n_jobs)

    @locked
    def _count(self, kind: int) -> int:
        return self._begin().counts[kind]

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
        state.items.add(ids, slots, leaves, weight)
        self._keep(state, slots, X)
        found = np.where(near < 0, -1, state.items.leaf_of(near)).astype(np.int32)
        self._insert(state, leaves, found)

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

    def _frozen(self, state: State) -> tuple[Tree, np.ndarray]:
        if not len(state.items):
            raise InvalidInput(f"This {type(self).__name__} holds no items; call partial_fit first.")
        if state.frozen is None or state.frozen[0] != state.tree.version:
            n = len(state.items)
            parent, node, height = self._shape(state)
            height = np.asarray(_core.tree_largest_heights(parent, height, n))
            tree = Tree(parent, height, info=self._info(state, n))
            state.frozen = (state.tree.version, tree, node)
        return state.frozen[1], state.frozen[2]

    def _info(self, state: State, n: int) -> dict[str, Any]:
        return {
            "method": self._method,
            "params": {name: plain_value(value) for name, value in self.get_params(deep=False).items()},
            "metric": str(state.rows.similarity),
            "seed": self.random_state,
            "version": __version__,
            "n": n,
            "d": state.rows.n_features,
            "input": "rows",
            "seconds": state.seconds,
            "approximations": ["neighbours by cells"] if state.search.has_cells else [],
        }

    def _cut(self, state: State, n_clusters: int | None, height: float | None) -> np.ndarray:
        if n_clusters is None and height is None:
            n_clusters, height = self.n_clusters, self.distance_threshold
        tree = self._frozen(state)[0]
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
