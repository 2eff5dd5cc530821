"""What the columns of a taxonomy are for a person."""

import datetime as dt

import pyarrow as pa
import pytest

from cladify.taxonomy import Taxonomy
from cladify.taxonomy._kinds import column_kind

MANY = [f"note {i} of {i % 7} about a broken wheel" for i in range(100)]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2, None], "number"),
        ([1.5, None], "number"),
        ([True, False], "category"),
        ([dt.date(2026, 1, 31)], "time"),
        ([dt.datetime(2026, 1, 31, 12)], "time"),
        (["2026-01-31", "", None, "2026-02-28"], "time"),
        (["2026-01-31T10:00:00Z"], "time"),
        (["open", "closed"] * 20, "category"),
        (["open", "open"], "category"),
        (["ann", "bob", "cid"], "text"),
        (MANY, "text"),
        (["https://x.org/a", "http://y.org"], "link"),
        (["https://x.org/a", "no link"], "text"),
        (["a.png", "dir/b.JPEG", None, "https://x.org/c.webp?x=1"], "image"),
        (["data:image/png;base64,AAAA"], "image"),
        (["", None], "text"),
        ([None, None], "text"),
        ([["a", "b"], ["c"]], "text"),
        ([b"bytes"], "text"),
        ([dt.time(1, 2)], "time"),
        ([dt.timedelta(seconds=3)], "number"),
        (["long " * 30] * 50, "text"),
    ],
)
def test_kinds(values, kind):
    assert column_kind(pa.array(values)) == kind
    assert column_kind(pa.chunked_array([values[:1], values[1:]], type=pa.array(values).type)) == kind


def test_a_dictionary_is_read_by_its_values():
    assert column_kind(pa.array(["a", "b"] * 10).dictionary_encode()) == "category"


def test_a_long_column_is_sampled_over_its_whole_length():
    texts = ["2026-01-31"] * 40_000 + [f"free text {i}" for i in range(40_000)]
    assert column_kind(pa.array(texts)) == "text"


def test_a_taxonomy_says_its_kinds(tmp_path):
    columns = {"when": ["2026-01-31"] * 4, "url": ["https://x.org"] * 4}
    made = Taxonomy.from_texts(["red apple", "blue plum", "red car", "blue car"], columns=columns)
    made.save(tmp_path / "t.taxonomy")
    assert Taxonomy.load(tmp_path / "t.taxonomy").column_kinds == made.column_kinds == {"when": "time", "url": "link"}
