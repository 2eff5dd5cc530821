"""Columns in bins, filters and lassos, against counting one by one."""

import numpy as np
import pyarrow as pa
import pytest

from cladify.errors import InvalidInput
from cladify.explore import open_document, write_page
from cladify.explore._columns import MISSING, Columns, bins_of, shares
from tests.explore.conftest import KIND

RNG = np.random.default_rng(0)
N = 400
NUMBER = RNG.normal(size=N)
DAY = np.datetime64("2024-01-01") + RNG.integers(0, 700, N).astype("m8[D]")


@pytest.fixture(scope="module")
def three():
    kind = [None if i % 40 == 7 else str(value) for i, value in enumerate(KIND)]
    made = [
        bins_of("number", pa.array(NUMBER), "number"),
        bins_of("kind", pa.array(kind), "category"),
        bins_of("day", pa.array(DAY), "time"),
    ]
    return Columns(made, RNG.permutation(N))


def test_bins_hold_their_values(three):
    number, kind, day = three.columns
    assert kind.bins == ["red", "green", "<b>blue</b>"]
    for i, code in enumerate(kind.codes().tolist()):
        assert (code == MISSING) if i % 40 == 7 else (kind.bins[code] == KIND[i])
    for value, code in zip(NUMBER, number.codes().tolist(), strict=True):
        low, high = map(float, number.bins[code].split(" to "))
        ends = code in (0, len(number.bins) - 1)  # values beyond the middle 99 % are in the first and the last
        assert ends or low - 0.01 <= value <= high + 0.01
    for value, code in zip(DAY, day.codes().tolist(), strict=True):
        low, high = day.bins[code].split(" to ")
        assert code in (0, len(day.bins) - 1) or low <= str(value) <= high


def test_counts_under_filters_are_those_of_counting(three):
    filters = three.filters("1:0.2,0:10.11.12.13.14.15.16")
    found = three.counts(filters, None)
    codes = [three.code(i) for i in range(3)]
    in_kind, in_number = np.isin(codes[1], [0, 2]), np.isin(codes[0], np.arange(10, 17))
    assert found["total"] == (in_kind & in_number).sum() > 10
    others = [in_kind, in_number, in_kind & in_number]  # a column's own filter does not count
    for i, here in enumerate(others):
        bins = len(three.columns[i].bins)
        naive = [sum(code == b for code in codes[i][here].tolist()) for b in [*range(bins), MISSING]]
        assert found["columns"][i] == naive


@pytest.mark.parametrize("text", ["9:1", "a", "1:", "1:2;3", "1:1.-2", "-1:0", "0:1.1.", "0:9999"])
def test_a_filter_that_is_none_is_refused(three, text):
    with pytest.raises(InvalidInput, match="filter must be"):
        three.filters(text)


def test_columns_that_say_nothing_have_no_bins():
    assert bins_of("id", pa.array([f"row {i}" for i in range(300)]), "category") is None
    assert bins_of("same", pa.array(["x"] * 9), "category") is None
    assert bins_of("none", pa.array([None] * 9, pa.float64()), "number") is None
    assert bins_of("one", pa.array([2.5] * 9), "number").codes().tolist() == [0] * 9
    assert bins_of("year", pa.array([3, 1, 2, 1]), "number").bins == ["1", "2", "3"]
    many = bins_of("many", pa.array([f"v{i % 50}" for i in range(500)]), "category")
    assert many.bins[-1] == "20 others" and many.codes().max() == 30
    assert shares("c", lambda: np.array([0.0, 1.0]), 0.5).codes().tolist() == [0, 19]


@pytest.fixture(scope="module")
def client(colored):
    testing = pytest.importorskip("starlette.testclient")
    from cladify.explore._server import make_app

    document = open_document(colored, labels=[str(i % 3) for i in range(colored.n_items)])
    return testing.TestClient(make_app(document, token="t"), base_url="http://127.0.0.1")


def places(answer):
    count = int(np.frombuffer(answer.content, "<u4", 1, 28)[0])
    return np.frombuffer(answer.content, "<u4", count, 32), answer.content[32 + 8 * count :]


def test_the_page_hears_of_columns_labels_and_confidence(client):
    columns = client.get("/api/meta").json()["columns"]
    assert [(c["name"], c["kind"]) for c in columns] == [
        ("label", "category"),
        ("size", "number"),
        ("tone", "category"),
        ("day", "time"),
        ("confidence", "number"),
    ]
    counts = client.get("/api/counts?filter=0:1").json()
    assert counts["total"] == 40 and counts["columns"][0] == [40, 40, 40, 0]


def test_points_and_tables_keep_to_the_filter(client, colored):
    order = colored.tree.leaf_order
    place, codes = places(client.get("/api/points?filter=2:0&column=0"))
    assert {KIND[row] for row in order[place]} == {"red"}
    assert [int(order[p]) % 3 for p in place] == list(codes)
    table = client.get("/api/export?what=table&format=csv&filter=2:0").text.splitlines()
    assert len(table) == len(place) + 1 and '"tone"' in table[0]
    assert all('"red"' in line for line in table[1:])


def test_a_lasso_selects_what_is_in_it(client, colored):
    from matplotlib.path import Path

    plane = open_document(colored).view.plane
    corners = np.array([[0.1, 0.0], [0.9, 0.3], [0.4, 0.5], [0.8, 1.0], [0.0, 0.7]])
    truth = np.flatnonzero(Path(corners).contains_points(np.stack([plane.x, plane.y], axis=1)))
    polygon = ",".join(map(str, corners.ravel()))
    found = client.get(f"/api/selection?polygon={polygon}&limit=200").json()
    assert 5 < found["total"] == len(truth) < colored.n_items
    assert [item["row"] for item in found["items"]] == colored.tree.leaf_order[truth].tolist()
    assert sum(group["count"] for group in found["groups"]) <= found["total"]
    both = client.get(f"/api/selection?polygon={polygon}&filter=2:0").json()
    assert both["total"] == sum(KIND[row] == "red" for row in colored.tree.leaf_order[truth])
    for bad in ("1,2", "1,2,3,4,x,6", "1,2,3,4,5,nan", ",".join(["1"] * 200)):
        assert client.get(f"/api/selection?polygon={bad}").status_code == 400


def test_hits_are_the_items_that_search_finds(client, colored, texts):
    found = client.get("/api/hits?q=violin").json()
    rows = colored.tree.leaf_order[found["places"]]
    assert sorted(rows.tolist()) == [i for i, text in enumerate(texts) if "violin" in text]
    assert client.get("/api/hits?q=").json() == {"places": [], "total": 0}


def test_a_file_holds_labels_columns_and_pictures(colored, tmp_path):
    import json
    import re

    images = np.random.default_rng(0).integers(0, 255, (colored.n_items, 8, 8)).astype(np.uint8)
    labels = [f"class {i % 3}" for i in range(colored.n_items)]
    write_page(colored, tmp_path / "a.html", labels=labels, images=images)
    text = (tmp_path / "a.html").read_text()
    data = json.loads(re.search(r'id="cladify-data">(.*?)</script>', text, re.S)[1])
    assert [column["name"] for column in data["meta"]["columns"]][:2] == ["label", "size"]
    assert len(data["codes"]) == len(data["meta"]["columns"])
    assert {name for name, _, _ in data["classes"]["0"]} == {"class 0", "class 1", "class 2"}
    assert data["meta"]["images"] and all(url.startswith("data:image/png") for url in data["pictures"].values())
    assert "<b>" not in text.split("cladify-data")[1]
