"""``cladify dedupe``: a table in, the same rows with entities out, and answers back."""

import csv
from pathlib import Path

import pytest

ROWS = [
    ["7", "Crédit Générale S.A.", "Lyon"],
    ["3", "CREDIT GENERALE SA", "Lyon"],
    ["5", "", "Oslo"],
    ["9", "Nordic Tools Oy", "Turku"],
    ["1", "Nordic Tool Oy", "Turku"],
    ["2", "Harbour Dairy", "Perth"],
]


@pytest.fixture
def table(cladify):
    with Path("names.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["id", "name", "city"], *ROWS])
    return "names.csv"


def read(path):
    with Path(path).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_every_column_stays_in_order_and_entities_come_after(cladify, table):
    done = cladify("dedupe", table, "--text", "name", "--out", "out.csv")
    assert done.code == 0, done.err
    rows = read("out.csv")
    assert list(rows[0]) == ["id", "name", "city", "entity", "canonical_name", "confidence"]
    assert [[row["id"], row["name"], row["city"]] for row in rows] == ROWS
    assert [row["entity"] for row in rows] == ["0", "0", "1", "2", "2", "3"]
    assert rows[1]["canonical_name"] == rows[0]["canonical_name"] == "Crédit Générale S.A."
    assert "6 rows are 4 entities" in done.out


def test_a_review_list_is_filled_in_and_read_back(cladify, table):
    assert cladify("dedupe", table, "--text", "name", "--json").json["entities"] == 4
    review = read("names-review.csv")
    assert {"same", "chance", "name_a", "name_b"} == set(review[0])
    for row in review:
        if {row["name_a"], row["name_b"]} == {"Nordic Tools Oy", "Nordic Tool Oy"}:
            row["same"] = "No"
    with Path("names-review.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(review[0]))
        writer.writeheader()
        writer.writerows(review)
    done = cladify("dedupe", table, "--text", "name", "--same-as", "names-review.csv", "--json").json
    assert (done["entities"], done["answers"]) == (5, 1)
    asked = [{row["name_a"], row["name_b"]} for row in read("names-review-next.csv")]
    assert {"Nordic Tools Oy", "Nordic Tool Oy"} not in asked
    assert read("names-review.csv") == review


def test_several_columns_with_weights(cladify, table):
    done = cladify("dedupe", table, "--text", "name,city:0.5", "--review-pairs", 0, "--json")
    assert done.json["review"] is None
    assert not Path("names-review.csv").exists()
    rows = read("names-deduped.csv")
    assert rows[0]["entity"] == rows[1]["entity"]
    assert rows[2]["canonical_name"] == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--text", "nam"], "no column 'nam'"),
        (["--text", "name:0"], "a weight above 0"),
        (["--text", "name", "--out", "names.csv"], "would be overwritten"),
        (["--text", "name", "--out", "out.doc"], "known endings are"),
        (["--text", "name", "--same-as", "said.csv"], "line 2: 'same' must be yes, no or empty, got 'perhaps'"),
        (["--text", "city", "--same-as", "said.csv"], "city_a"),
    ],
)
def test_errors_are_one_line(cladify, table, arguments, message):
    Path("said.csv").write_text("same,name_a,name_b\nperhaps,a,b\n")
    done = cladify("dedupe", table, *arguments)
    assert done.code in (1, 2)
    assert message in done.err
    assert done.err.count("\n") == 1
    assert not Path("names-deduped.csv").exists()
