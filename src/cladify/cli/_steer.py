"""Options that steer ``cladify taxonomy``: levels, named groups, known labels and links."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from cladify.cli._common import numbers

if TYPE_CHECKING:
    from cladify.taxonomy._sources import Source

Levels = Annotated[
    str | None,
    typer.Option("--levels", metavar="K,K,...", help="As many groups a level as asked for, such as 8,40,200."),
]
MaxChildren = Annotated[int, typer.Option(help="No group is split into more groups than this.", min=2)]
Seeds = Annotated[
    Path | None,
    typer.Option(help='Named groups: a JSON file, {"Billing": ["invoice wrong", ...]}, of examples, terms or ids.'),
]
SeedsColumn = Annotated[
    str | None,
    typer.Option("--seeds-column", help="Column with the names of groups, A/B for B within A, empty where not known."),
]
LabelsColumn = Annotated[
    str | None,
    typer.Option("--labels-column", help="Column with known labels that guide the tree, empty where not known."),
]
MustLink = Annotated[Path | None, typer.Option(help="Items that belong together: a file of two ids a line, as CSV.")]
CannotLink = Annotated[Path | None, typer.Option(help="Items that do not: a file of two ids a line, as CSV.")]


class KnownColumns(NamedTuple):
    """The columns that were named for seeds and for labels."""

    seeds: str | None
    labels: str | None

    def values(self, table: Source, *, is_folder: bool = False) -> dict[str, Any]:
        """Their values, as options of a taxonomy. Of the paths of a folder's documents the folders count."""
        found = {name: table.column(column) for name, column in self._asdict().items() if column is not None}
        if is_folder and self.seeds == "path":
            found["seeds"] = [str(path).rpartition("/")[0] or None for path in found["seeds"]]
        return found

    def refuse(self, source: Path) -> None:
        """Where a source has no columns."""
        if any(self):
            raise typer.BadParameter(f"--seeds-column and --labels-column name columns of a table; {source} is none.")


def given_wishes(levels: str | None, seeds: Path | None, must: Path | None, cannot: Path | None) -> dict[str, Any]:
    """Options of a taxonomy, without those that were not given."""
    found = {
        "levels": None if levels is None else numbers("--levels", levels),
        "seeds": None if seeds is None else _read_seeds(seeds),
        "must_link": None if must is None else _read_pairs(must),
        "cannot_link": None if cannot is None else _read_pairs(cannot),
    }
    return {name: value for name, value in found.items() if value is not None}


def _read_seeds(path: Path) -> dict[str, list[Any]]:
    from cladify.errors import FileError

    try:
        found = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise FileError(f"{path} is not JSON: {error}.") from None
    if not isinstance(found, dict) or not all(isinstance(examples, list) for examples in found.values()):
        raise FileError(f'{path} must be names with lists of examples, such as {{"Billing": ["invoice wrong"]}}.')
    return found


def _read_pairs(path: Path) -> list[tuple[Any, Any]]:
    """Two ids a line; whole numbers are numbers, as in a table that is read."""
    import csv

    from cladify.errors import FileError

    pairs: list[tuple[Any, Any]] = []
    with open(path, encoding="utf-8-sig", newline="") as file:
        for line, row in enumerate(csv.reader(file), 1):
            if row and len(row) != 2:
                raise FileError(f"{path}, line {line}: two ids are expected, got {len(row)} values.")
            if row:
                pairs.append((_id(row[0]), _id(row[1])))
    return pairs


def _id(text: str) -> Any:
    text = text.strip()
    return int(text) if text.isascii() and text.isdigit() and str(int(text)) == text else text
