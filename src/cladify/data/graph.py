"""`NeighborGraph`: the one graph type, points as nodes and similarities as edge weights, in CSR form.

**Weights.** A weight is a similarity: larger is nearer, and a missing edge stands for 0. Every edge also has a
distance, the height that the metric gives the pair (:meth:`cladify.similarity.Similarity.height`):

============================= ======================== =================================
metric                        weight                   distance
============================= ======================== =================================
cosine                        ½ + ½cos, in [0, 1]      1 − cos
rbf, laplacian, jaccard       the value, in [0, 1]     1 − value
dot, other similarities       the value                −value (an order, not a distance)
every distance d              s / (s + d), in (0, 1]   d
============================= ======================== =================================

where ``s`` is the graph's ``scale``, the median of its positive distances, so that weights do not change with the unit
of the data. Graphs of a distance or of cosine keep the distances themselves and make the weights from them on first
use: the way back is exact, also for near duplicates.

Rows are sorted by column, as in SciPy's canonical CSR; :meth:`NeighborGraph.nearest` gives each row's best edge.
"""

from __future__ import annotations

import json
import os
from typing import Any, Literal

import numpy as np

from cladify import _core
from cladify._kit.arrays import read_npz
from cladify._kit.atomic import atomic_write
from cladify._kit.parallel import resolve_jobs
from cladify._kit.params import check_choice
from cladify._kit.progress import Progress, ProgressLike
from cladify.data._connect import connect
from cladify.data._graph_rules import check_graph, frozen, precision
from cladify.data._heights import HeightRule
from cladify.data._vectors import as_csr, is_sparse
from cladify.data.similarity import Kind, Similarity, get_similarity
from cladify.errors import FileError, InvalidInput

__all__ = ["NeighborGraph"]

_FORMAT = "cladify.NeighborGraph/1"
_HOW = ("max", "min", "mean", "mutual")


class NeighborGraph:
    """Points and the similarities of some pairs of them.

    Parameters
    ----------
    indptr : int64 array of shape (n + 1,)
        Row ``i`` has the edges ``indptr[i]:indptr[i + 1]``.
    indices : int32 array of shape (n_edges,)
        The other end of each edge, ascending within a row.
    weight : float32 or float64 array of shape (n_edges,), optional
        Similarities.
    distance : float32 or float64 array of shape (n_edges,), optional
        Distances; at least one of the two is needed, and the other follows from it (see the top of this module).
    metric : str or Similarity
        The metric of the values; ``"precomputed"`` for values from elsewhere.
    kind : "similarity" or "distance", optional
        The kind of the metric, where its name is not known.
    symmetric : bool, optional
        Whether every edge has its reverse with the same value; found out where not given.
    scale : float, optional
        The ``s`` between weights and distances.
    info : dict, optional
        How the graph was made.

    Examples
    --------
    >>> import numpy as np, cladify
    >>> graph = cladify.neighbors(np.array([[0.0], [1.0], [5.0], [7.0]]), k=1)
    >>> graph
    NeighborGraph(4 points, 4 edges, metric='sqeuclidean')
    >>> graph.indices.tolist(), graph.distances().tolist()
    ([1, 0, 3, 2], [1.0, 1.0, 4.0, 4.0])
    >>> graph.components().tolist()
    [0, 0, 1, 1]
    """

    def __init__(
        self,
        indptr: Any,
        indices: Any,
        weight: Any = None,
        *,
        distance: Any = None,
        metric: str | Similarity = "precomputed",
        kind: Literal["similarity", "distance"] | None = None,
        symmetric: bool | None = None,
        scale: float | None = None,
        info: dict[str, Any] | None = None,
    ) -> None:
        if weight is None and distance is None:
            raise InvalidInput("a NeighborGraph needs the weight or the distance of its edges, got neither.")
        self.indptr = frozen(indptr, np.int64, "indptr")
        self.indices = frozen(indices, np.int32, "indices")
        self._weight = None if weight is None else frozen(weight, precision(weight), "weight")
        self._distance = None if distance is None else frozen(distance, precision(distance), "distance")
        self.metric = str(metric)
        self.similarity = _similarity(metric)
        self.kind: Kind = kind or ("similarity" if self.similarity is None else self.similarity.kind)
        self.to_height = HeightRule(0.0, 1.0 if self.kind == "distance" else -1.0)
        if self.similarity is not None:
            self.to_height = self.similarity.to_height
        self._scale = scale
        self.info: dict[str, Any] = dict(info or {})
        self._symmetric = symmetric
        self.validate()

    # --- size -------------------------------------------------------------------------------------------------------

    @property
    def n_points(self) -> int:
        return len(self.indptr) - 1

    @property
    def n_edges(self) -> int:
        """Stored edges; a symmetric graph stores both directions."""
        return len(self.indices)

    @property
    def shape(self) -> tuple[int, int]:
        return (self.n_points, self.n_points)

    @property
    def degree(self) -> np.ndarray:
        """Edges of each row."""
        return np.diff(self.indptr)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays held."""
        held = (self.indptr, self.indices, self._weight, self._distance)
        return sum(array.nbytes for array in held if array is not None)

    def __len__(self) -> int:
        return self.n_points

    def __repr__(self) -> str:
        return f"NeighborGraph({self.n_points} points, {self.n_edges} edges, metric={self.metric!r})"

    # --- values -----------------------------------------------------------------------------------------------------

    @property
    def weight(self) -> np.ndarray:
        """float32 similarity of each edge."""
        weight = self.values("weight")
        if weight.dtype == np.float64 and len(weight) and np.abs(weight).max() > np.finfo(np.float32).max:
            raise InvalidInput(
                f"the graph has similarities of up to {np.abs(weight).max():.1e}, too large for float32; divide the "
                "data by their largest value first."
            )
        return frozen(weight, np.float32, "weight")

    def _weights_of(self, distance: np.ndarray) -> np.ndarray:
        if self.kind != "distance":
            return self.to_height.value(distance)
        unit = 0.5 if self.scale > 1.0 else 1.0  # halves, so that the sum does not overflow
        return unit * self.scale / (unit * self.scale + unit * distance)

    def distances(self) -> np.ndarray:
        """Distance of each edge: the metric's own, 1 − cos for cosine; in the precision of the data."""
        return self.values("distance")

    def values(self, what: Literal["weight", "distance"]) -> np.ndarray:
        """The weights or the distances in the precision of the data, float32 or float64."""
        if what == "weight" and self._weight is None:
            assert self._distance is not None
            distance = self._distance.astype(np.float64, copy=False)
            self._weight = frozen(self._weights_of(distance), self._distance.dtype.type, "weight")
        if what == "distance" and self._distance is None:
            assert self._weight is not None
            weight = self._weight.astype(np.float64, copy=False)
            with np.errstate(divide="ignore"):
                distance = self.scale / weight - self.scale if self.kind == "distance" else self.to_height(weight)
            self._distance = frozen(distance, self._weight.dtype.type, "distance")
        found = self._weight if what == "weight" else self._distance
        assert found is not None
        return found

    @property
    def scale(self) -> float:
        """The ``s`` of ``weight = s / (s + distance)``."""
        if self._scale is None:
            self._scale = 1.0
            if self._distance is not None and len(self._distance):
                some = self._distance[:: max(1, len(self._distance) >> 20)].astype(np.float64)
                some = some[(some > 0) & np.isfinite(some)]
                if len(some):
                    with np.errstate(over="ignore"):  # the mean of the middle two
                        self._scale = min(float(np.median(some)), float(some.max()))
        return self._scale

    @property
    def symmetric(self) -> bool:
        """Whether every edge has its reverse with the same value."""
        if self._symmetric is None:
            value = self._values()
            edges = _core.symmetrize(self.indptr, self.indices, value, _CODE["max"], resolve_jobs(-1))
            same = len(edges[1]) == self.n_edges and np.array_equal(edges[1], self.indices)
            self._symmetric = bool(same and np.array_equal(edges[2], value))
        return self._symmetric

    def nearest(self) -> tuple[np.ndarray, np.ndarray]:
        """Each row's edge of largest weight (ties to the smaller id): its other end and its place, -1 without edges."""
        place = np.full(self.n_points, -1, dtype=np.int64)
        rows = np.flatnonzero(self.degree)
        if len(rows):
            value = self._nearness()
            best = np.maximum.reduceat(value, self.indptr[rows])
            owner = np.repeat(np.arange(self.n_points), self.degree)
            top = np.empty(self.n_points, dtype=value.dtype)
            top[rows] = best
            hit = np.flatnonzero(value == top[owner])
            place[owner[hit][::-1]] = hit[::-1]  # the first of a row is written last
        end = np.full(self.n_points, -1, dtype=np.int32)
        end[rows] = self.indices[place[rows]]
        return end, place

    def top(self, k: int) -> NeighborGraph:
        """The directed graph of each row's ``k`` edges of largest weight."""
        value = self._nearness()
        owner = np.repeat(np.arange(self.n_points), self.degree)
        order = np.lexsort((self.indices, -value, owner))
        rank = np.arange(self.n_edges) - self.indptr[owner]
        keep = np.sort(order[rank < k])
        degree = np.minimum(self.degree, k)
        return self._with(
            np.concatenate([[0], np.cumsum(degree)]),
            self.indices[keep],
            None if self._weight is None else self._weight[keep],
            None if self._distance is None else self._distance[keep],
            symmetric=None,
        )

    # --- both directions, components --------------------------------------------------------------------------------

    def symmetrize(
        self, how: Literal["max", "min", "mean", "mutual"] = "max", *, n_jobs: int | None = -1
    ) -> NeighborGraph:
        """The graph with both directions of every edge, with the same value. Linear time.

        Parameters
        ----------
        how : {"max", "min", "mean", "mutual"}
            An edge of either direction is kept with the larger (``"max"``) or the smaller (``"min"``) of its weights,
            or with ½(w_ij + w_ji), a missing direction counting as 0 (``"mean"``); or only edges that go both ways are
            kept (``"mutual"``). The two directions of a nearest-neighbour graph have the same weight, so that ``"max"``
            is the union of the neighbours.
        n_jobs : int, optional
            Threads; -1 is all cores.

        Examples
        --------
        >>> import numpy as np, cladify
        >>> graph = cladify.neighbors(np.array([[0.0], [1.0], [3.0]]), k=1)
        >>> graph.n_edges, graph.symmetrize().n_edges, graph.symmetrize("mutual").n_edges
        (3, 4, 2)
        """
        check_choice("how", how, _HOW)
        if self._symmetric:
            return self
        info = {**self.info, "symmetrized": how}
        threads = resolve_jobs(n_jobs)
        if self._distance is not None and how != "mean":
            # The larger weight is the smaller distance.
            flipped = {"max": "min", "min": "max", "mutual": "mutual_min"}[how]
            indptr, indices, value = _core.symmetrize(
                self.indptr, self.indices, self._distance, _CODE[flipped], threads
            )
            return self._with(indptr, indices, None, value, symmetric=True, info=info)
        indptr, indices, value = _core.symmetrize(self.indptr, self.indices, self.values("weight"), _CODE[how], threads)
        return self._with(indptr, indices, value, None, symmetric=True, info=info)

    def components(self) -> np.ndarray:
        """int32 component of each point, numbered in the order of their smallest points; directions do not matter."""
        return _core.components(self.indptr, self.indices)

    @property
    def is_connected(self) -> bool:
        return self.n_points <= 1 or bool(self.components().max() == 0)

    def connect(
        self, X: Any = None, *, n_jobs: int | None = -1, progress: ProgressLike | Progress = None
    ) -> NeighborGraph:
        """A graph with one component: this one and, where it falls apart, a few links more.

        With ``X``, every component but the largest is linked to the nearest point outside it, and so on until one
        component is left (Borůvka's rounds; each link goes both ways and has its true value). A component of more
        than 256 points searches from 256 of them, evenly spaced; with smaller ones the links are those of the minimum
        spanning tree over the components. Without ``X``, the first point of every component is linked to the
        first point of the largest one with weight 0 (distances: infinity). ``info["connected"]`` counts the links.

        Parameters
        ----------
        X : array or CSR of shape (n, d), optional
            The rows the graph was built from.
        n_jobs : int, optional
        progress : bool or callable, optional
        """
        return connect(self, X, n_jobs=n_jobs, progress=progress)

    # --- other forms ------------------------------------------------------------------------------------------------

    def to_scipy(self, values: Literal["weight", "distance"] = "weight") -> Any:
        """A ``scipy.sparse.csr_array`` of the weights or of the distances. Zeros stay stored entries."""
        from scipy.sparse import csr_array

        check_choice("values", values, ["weight", "distance"])
        data = self.values(values)
        return csr_array((data.copy(), self.indices.copy(), self.indptr.copy()), shape=self.shape)

    @classmethod
    def from_scipy(
        cls,
        matrix: Any,
        *,
        metric: str | Similarity = "precomputed",
        kind: Literal["similarity", "distance"] = "similarity",
    ) -> NeighborGraph:
        """A graph from a sparse n × n matrix of similarities or, with ``kind="distance"``, of distances.

        Every stored entry off the diagonal is an edge, zeros included.

        Examples
        --------
        >>> from scipy.sparse import csr_array
        >>> NeighborGraph.from_scipy(csr_array([[0, 2.0, 0], [2.0, 0, 1.0], [0, 1.0, 0]]))
        NeighborGraph(3 points, 4 edges, metric='precomputed')
        """
        check_choice("kind", kind, ["similarity", "distance"])
        if not is_sparse(matrix):
            raise InvalidInput(
                f"a graph needs a SciPy sparse matrix, got {type(matrix).__name__}; for vectors use cladify.neighbors."
            )
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise InvalidInput(f"a graph needs a square matrix, one row and column a point, got shape {matrix.shape}.")
        if matrix.dtype.kind not in "fiub":
            raise InvalidInput(f"the weights of a graph must be real numbers, got dtype {matrix.dtype}.")
        matrix = as_csr(matrix, "the graph")
        degree = np.diff(matrix.indptr).astype(np.int64)
        owner = np.repeat(np.arange(matrix.shape[0], dtype=np.int64), degree)
        inner = matrix.indices != owner
        values = matrix.data[inner]
        indptr = np.concatenate([[0], np.cumsum(np.bincount(owner[inner], minlength=matrix.shape[0]))])
        given = {"distance": values} if kind == "distance" else {"weight": values}
        kind_given = kind if str(metric).startswith("precomputed") else None
        return cls(indptr, matrix.indices[inner], **given, metric=metric, kind=kind_given, info={"method": "given"})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the graph to an ``.npz`` file (plain arrays, no pickles), whole or not at all."""
        header = {
            "format": _FORMAT,
            "metric": self.metric,
            "kind": self.kind,
            "height": self.to_height,
            "scale": self._scale,
            "symmetric": self._symmetric,
            "info": self.info,
            "value": "weight" if self._distance is None else "distance",
        }
        arrays = {"indptr": self.indptr, "indices": self.indices, str(header["value"]): self._values()}
        with atomic_write(path) as file:
            np.savez(file, allow_pickle=False, header=np.array(json.dumps(header, default=str)), **arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> NeighborGraph:
        """Read a graph that :meth:`save` wrote."""
        try:
            header = json.loads(read_npz(path, "header", (), ndim=0).item())
            if header["format"] != _FORMAT:
                raise ValueError(f"its format is {header['format']!r}, not {_FORMAT!r}")
            value = header["value"]
            graph = cls(
                read_npz(path, "indptr", (), ndim=1),
                read_npz(path, "indices", (), ndim=1),
                **{value: read_npz(path, value, (), ndim=1)},
                metric=header["metric"],
                kind=header["kind"],
                symmetric=header["symmetric"],
                scale=header["scale"],
                info=header["info"],
            )
            graph.to_height = HeightRule(*map(float, header["height"]))
        except FileNotFoundError:
            raise FileError(f"there is no file {path}.") from None
        except Exception as error:  # whatever a damaged archive makes zipfile, zlib, NumPy or json raise
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise FileError(f"{path} is not a graph that NeighborGraph.save wrote ({reason}).") from None
        return graph

    # --- rules ------------------------------------------------------------------------------------------------------

    def validate(self) -> None:
        """Raise where the arrays break a rule of the type.

        1. ``indptr`` starts at 0, never decreases and ends at the number of edges.
        2. Every index is a point.
        3. Indices ascend within a row, each at most once.
        4. No point is its own neighbour.
        5. There is one value an edge, and none is NaN; distances are not negative.
        """
        check_graph(self.indptr, self.indices, self._weight, self._distance, self.kind)

    def with_edges(
        self, rows: np.ndarray, columns: np.ndarray, distance: np.ndarray, *, info: dict[str, Any] | None = None
    ) -> NeighborGraph:
        """The graph with some more edges, given by their distances; none of them may be there already."""
        if self._distance is not None:
            values = np.asarray(distance)
        else:
            values = self._weights_of(distance)
        values = values.astype(self._values().dtype)
        owner = np.concatenate([np.repeat(np.arange(self.n_points), self.degree), rows])
        indices = np.concatenate([self.indices, columns])
        order = np.lexsort((indices, owner))
        both = np.concatenate([self._values(), values])[order]
        indptr = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=self.n_points))])
        weight, kept = (None, both) if self._distance is not None else (both, None)
        return self._with(indptr, indices[order], weight, kept, symmetric=None, info=info)

    def _nearness(self) -> np.ndarray:
        """A value an edge that is larger where it is nearer."""
        return self.values("weight") if self._distance is None else -self._distance

    def _values(self) -> np.ndarray:
        value = self._distance if self._distance is not None else self._weight
        assert value is not None
        return value

    def _with(
        self,
        indptr: np.ndarray,
        indices: np.ndarray,
        weight: np.ndarray | None,
        distance: np.ndarray | None,
        *,
        symmetric: bool | None,
        info: dict[str, Any] | None = None,
    ) -> NeighborGraph:
        """A graph of other edges, of the same metric and scale."""
        graph = object.__new__(NeighborGraph)
        graph.indptr = frozen(indptr, np.int64, "indptr")
        graph.indices = frozen(indices, np.int32, "indices")
        graph._weight = None if weight is None else frozen(weight, precision(weight), "weight")
        graph._distance = None if distance is None else frozen(distance, precision(distance), "distance")
        graph.metric, graph.similarity = self.metric, self.similarity
        graph.kind, graph.to_height = self.kind, self.to_height
        graph._scale = self.scale if self.kind == "distance" else None
        graph._symmetric = symmetric
        graph.info = dict(self.info if info is None else info)
        return graph


#: How the core combines the two directions of an edge.
_CODE = {"max": 0, "min": 1, "mean": 2, "mutual": 3, "mutual_min": 4}


def _similarity(metric: str | Similarity) -> Similarity | None:
    """The metric's object, or None for values from elsewhere and functions known by name only."""
    if isinstance(metric, Similarity):
        return None if metric.is_given else metric
    try:
        similarity = get_similarity(metric)
        return None if similarity.is_given else similarity
    except InvalidInput:  # the name of a user's function
        return None
