"""Reading vectors: time, and memory beside the array itself."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.case import Case
from benchmarks.data import clustered

SIZES = {"n": 200_000, "d": 128}
LONG = {"n": 1_000_000}


def _folder() -> Path:
    folder = Path(tempfile.gettempdir()) / "cladify-bench-io"
    folder.mkdir(exist_ok=True)
    return folder


def _total(result: Any) -> float:
    return float(np.asarray(result, dtype=np.float32).sum(dtype=np.float64))


parquet = Case("read-parquet", "Vectors from a Parquet column of lists; peak should be one copy", SIZES, LONG)
wide = Case("read-parquet-columns", "Vectors from float columns of a Parquet file", SIZES, LONG)
text = Case("read-csv", "Vectors from CSV text", {"n": 20_000, "d": 128}, {"n": 200_000})


@parquet.prepare
def parquet_data(n: int, d: int) -> dict[str, Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    X = clustered(n, d)
    path = _folder() / "lists.parquet"
    pq.write_table(
        pa.table({"e": pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), d)}), path, row_group_size=50_000
    )
    return {"path": str(path)}


@wide.prepare
def wide_data(n: int, d: int) -> dict[str, Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    X = clustered(n, d)
    path = _folder() / "columns.parquet"
    pq.write_table(pa.table({f"x{j}": X[:, j] for j in range(d)}), path, row_group_size=50_000)
    return {"path": str(path)}


@text.prepare
def text_data(n: int, d: int) -> dict[str, Any]:
    path = _folder() / "text.csv"
    np.savetxt(path, clustered(n, d), delimiter=",", fmt="%.7g")
    return {"path": str(path)}


for case in (parquet, wide, text):
    case.quality("sum")(_total)


@parquet.contestant("cladify", needs=("cladify.io", "pyarrow.parquet"))
@wide.contestant("cladify", needs=("cladify.io", "pyarrow.parquet"))
@text.contestant("cladify", needs=("cladify.io", "pyarrow.csv"))
def cladify(path: str) -> Any:
    from cladify.io import read_vectors

    return read_vectors(path)


@parquet.contestant("pyarrow read_table", needs="pyarrow.parquet")
def pyarrow_lists(path: str, d: int) -> Any:
    import pyarrow.parquet as pq

    return pq.read_table(path)["e"].combine_chunks().flatten().to_numpy().reshape(-1, d)


@parquet.contestant("pandas stack", needs=("pandas", "pyarrow.parquet"))
def pandas_lists(path: str) -> Any:
    import pandas as pd

    return np.stack(pd.read_parquet(path)["e"].to_numpy())


@wide.contestant("pandas", needs=("pandas", "pyarrow.parquet"))
def pandas_wide(path: str) -> Any:
    import pandas as pd

    return pd.read_parquet(path).to_numpy()


@text.contestant("pandas", needs="pandas")
def pandas_text(path: str) -> Any:
    import pandas as pd

    return pd.read_csv(path, header=None).to_numpy()


@text.contestant("numpy loadtxt")
def numpy_text(path: str) -> Any:
    return np.loadtxt(path, delimiter=",")
