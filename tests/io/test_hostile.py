"""Files that mislead: cells that are no numbers, quotes that swallow rows, bytes of other files."""

import warnings

import numpy as np
import pytest

from cladify.errors import FileError
from cladify.io import read_items, read_labels, read_vectors


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("a,b,c\n" + "1,2,3\n" * 1000 + "5,oops,7\n", None, r"column 'b' has 1 cell .* \(row 1000: 'oops'\)"),
        ("a,b,c\n" + "1,2,3\n" * 1000 + "5,oops,7\n", ["a", "b"], r"column 'b' has 1 cell .* \(row 1000: 'oops'\)"),
        ("a,b\n" + "1,2\n" * 400_000 + "5,oops\n", None, r"column 'b' has 1 cell .* \(row 400000: 'oops'\)"),
        ('a,b\n"1,000",2\n3,4\n', None, r"column 'a' has 1 cell .* \(row 0: '1,000'\)"),
        ("a;b\n1,5;2\n2,5;3\n", None, r"column 'a' has 2 cells .* \(row 0: '1,5', row 1: '2,5'\)"),
        ("a,b\n1,?\n" + "2,3\n" * 9 + "4,?\n5,?\n6,?\n", None, "column 'b' has 4 cells .* and 1 more"),
        ("a,b\n1,$5\n2,$6\n", None, "column 'b' has 2 cells"),
        (
            'a,b\n1,"2\n' + "3,4\n" * 100_000,
            None,
            "line 2: the quote that opens a cell is never closed, .* 100001 line",
        ),
        ('a,b\n1,"2\n3,4\n5,"6\n7,8\n', None, "line 2: the quote that opens a cell is closed in the middle"),
        ('a,b\n1,"2\n3,4\n5,"\n', None, r"column 'b' has 1 cell .*row 0: '2\\n3,4\\n5,'"),
    ],
)
def test_no_column_and_no_row_is_dropped_in_silence(tmp_path, text, column, message) -> None:
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(FileError, match=message) as caught:
        read_vectors(tmp_path / "x.csv", column=column)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('name,a,b\n"x ""y"" z",1,2\n5" pipe,3,4\n', [[1, 2], [3, 4]]),
        ('name,a,b\n"two\nlines",1,2\nplain,3,4\n', [[1, 2], [3, 4]]),
        ('"a","b"\n"1","2"\n"3",NA\n', [[1, 2], [3, np.nan]]),
        ("date,phone,a\n2024-01-01,12-34,1\n2024-01-02,12-35,2\n", [[1], [2]]),
    ],
)
def test_texts_beside_numbers_are_left_out(tmp_path, text, expected) -> None:
    (tmp_path / "x.csv").write_text(text)
    np.testing.assert_array_equal(read_vectors(tmp_path / "x.csv"), expected)


def test_a_first_line_above_a_megabyte(tmp_path) -> None:
    names, row = (",".join(cells) for cells in ([f"gene{i:0120d}" for i in range(10_000)], ["1.5"] * 10_000))
    assert len(names) > 1 << 20
    (tmp_path / "x.csv").write_text(f"{names}\n{row}\n{row}\n")
    assert read_vectors(tmp_path / "x.csv").shape == (2, 10_000)


@pytest.mark.parametrize(
    "text",
    [
        "name,a,b\nx,1,2.5\ny,,NA\n",
        "1,2,3\n4,5,-6e3\n",
        '"n",a,b,none\n"x, y",1, 2 ,\n"two\nlines",3,inf,\n',
        "a,b,c\n1,2,3\n4,oops,6\n5,7,8\n",
        "a,b\n1,2\n3\n",
        "a,a\n1,2\n",
        "day,flag,a\n2024-01-01,true,1\n",
    ],
)
def test_types_of_wide_tables_are_those_of_narrow_ones(tmp_path, monkeypatch, text) -> None:
    (tmp_path / "x.csv").write_text(text)

    def answer():
        try:
            return read_vectors(tmp_path / "x.csv").tolist()
        except FileError as error:
            return str(error)

    narrow = answer()
    monkeypatch.setattr("cladify.io._csv._WIDE", 0)
    assert str(answer()) == str(narrow)  # nan is not equal to itself


def test_items_are_what_the_file_says(tmp_path) -> None:
    (tmp_path / "x.csv").write_text("item,y\n007,1.0\n1.50,2.0\n,3.0\nNA,4\n")
    assert read_items(tmp_path / "x.csv") == ["007", "1.50", "", "NA"]
    assert read_labels(tmp_path / "x.csv").tolist() == [1, 2, 3, 4]


def test_h5ad_takes_no_bytes_of_other_files(tmp_path) -> None:
    h5py = pytest.importorskip("h5py")
    (tmp_path / "secret").write_bytes(bytes(range(80)))
    with h5py.File(tmp_path / "other.h5ad", "w") as other:
        other["X"] = np.ones((20, 4))
        other["obsm/X_pca"] = np.ones((20, 2))
    layout = h5py.VirtualLayout((20, 4), "f8")
    layout[:] = h5py.VirtualSource(tmp_path / "other.h5ad", "X", (20, 4))
    makers = {
        "external": lambda f: f.create_dataset("X", (20, 4), "u1", external=[(str(tmp_path / "secret"), 0, 80)]),
        "virtual": lambda f: f.create_virtual_dataset("X", layout),
        "link": lambda f: f.__setitem__("X", h5py.ExternalLink(str(tmp_path / "other.h5ad"), "X")),
        "soft": lambda f: f.__setitem__("X", h5py.SoftLink("/elsewhere")),
        "group": lambda f: f.__setitem__("obsm", h5py.ExternalLink(str(tmp_path / "other.h5ad"), "obsm")),
        "sparse": lambda f: f.create_group("X").__setitem__("data", h5py.ExternalLink("other.h5ad", "X")),
    }
    for name, make in makers.items():
        path = tmp_path / f"{name}.h5ad"
        with h5py.File(path, "w") as file:
            make(file)
        with pytest.raises(FileError, match=r"the file itself is read|is a link"):
            read_vectors(path, column="X_pca" if name == "group" else None)


def test_h5ad_shapes_without_bytes(tmp_path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "x.h5ad", "w") as file:
        file.create_dataset("X", (10_000, 10_000), "f4", chunks=(100, 100))  # 400 MB, none of them written
    with pytest.raises(FileError, match="promises 400000000 bytes, 0 are there"):
        read_vectors(tmp_path / "x.h5ad")


def test_a_forged_model_takes_no_memory(tmp_path) -> None:
    torch = pytest.importorskip("torch")
    import json
    import resource

    from safetensors.torch import save_file

    from cladify.embed import VAE

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        VAE(n_epochs=1, hidden="small").fit(np.random.default_rng(0).normal(size=(50, 6))).save(tmp_path / "m")
    from safetensors import safe_open

    with safe_open(str(tmp_path / "m"), framework="pt") as file:
        header = json.loads(file.metadata()["cladify"])
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    large = {**header["parameters"], "hidden": [10**6, 10**6]}
    many = {**header["parameters"], "hidden": [1] * 10**5}
    for change in (
        {"n_features": 10**7},
        {"n_features": -1},
        {"n_features": float("inf")},
        {"format": "x"},
        {"format": 2},
        {"parameters": large},
        {"parameters": many},
        {"parameters": {**header["parameters"], "n_latent": "2"}},
    ):
        save_file(tensors, tmp_path / "f", metadata={"cladify": json.dumps(header | change)})
        with pytest.raises(FileError) as caught:
            VAE.load(tmp_path / "f")
        assert "\n" not in str(caught.value)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 << 10
    assert isinstance(VAE.load(tmp_path / "m").network_, torch.nn.Module)
