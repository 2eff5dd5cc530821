"""ARCHITECTURE.md leads to files that exist, and covers the papers and what users do."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
PATHS = sorted(set(re.findall(r"`((?:src|core|tests|docs|benchmarks|examples)/[^`\s]*|[A-Z]+\.md)`", TEXT)))


def table(heading: str) -> list[str]:
    """The rows of the table below a heading."""
    section = TEXT.split(f"## {heading}\n")[1].split("\n## ")[0]
    return [line for line in section.splitlines() if line.startswith("| ")][2:]


@pytest.mark.parametrize("path", PATHS)
def test_every_path_exists(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.parametrize(
    ("heading", "least"),
    [("Where each section of the papers is", 30), ("Where each task of a user is", 20)],
)
def test_every_row_names_a_file(heading: str, least: int) -> None:
    rows = table(heading)
    assert len(rows) >= least
    assert all(any(f"`{path}`" in row for path in PATHS) for row in rows)


def test_every_paper_has_sections() -> None:
    rows = table("Where each section of the papers is")
    assert {paper for row in rows for paper in re.findall(r"\b([NCMZH]) [0-9A-E]", row.split("|")[1])} == set("NCMZH")


def test_every_package_is_in_the_picture() -> None:
    picture = re.search(r"```\n(.*?)```", TEXT, flags=re.DOTALL)[1]
    for package in (ROOT / "src" / "cladify").glob("*/__init__.py"):
        assert re.search(rf"\b{package.parent.name}\b", picture), package.parent.name
