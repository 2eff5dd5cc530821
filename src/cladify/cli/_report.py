"""``cladify report``: how good a taxonomy is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cladify._kit.text import escape_controls
from cladify.cli._taxonomy import TaxonomyFile


def report(
    file: TaxonomyFile,
    labels: Annotated[
        Path | None, typer.Option(help="Labels to compare with, one a row: .txt .csv .tsv .jsonl .parquet .npy")
    ] = None,
    labels_column: Annotated[str | None, typer.Option("--labels-column", help="Column or key with the labels.")] = None,
    json_out: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Also everything as JSON.")] = None,
    html_out: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Also a page with plots.")] = None,
    resamples: Annotated[
        int, typer.Option(help="Trees of random halves of the items, to see what is found again; 0 for none.", min=0)
    ] = 2,
) -> None:
    """How good a taxonomy is, without labels and with: figures, and the ten groups to look at first.

    Example: [bold]cladify report posts.taxonomy --html report.html[/bold]
    """
    from cladify._kit.atomic import atomic_write
    from cladify.io import check_writable, read_labels
    from cladify.taxonomy import Taxonomy

    for out in (json_out, html_out):
        if out is not None:
            check_writable(out)
    given = None if labels is None else read_labels(labels, labels_column)
    made = Taxonomy.load(file).report(labels=given, resamples=resamples)
    if json_out is not None:
        with atomic_write(json_out, "w", encoding="utf-8") as target:
            target.write(made.to_json())
    if html_out is not None:
        made.save_html(html_out)
    print("\n".join(map(escape_controls, made.summary().splitlines())))
    if made.overall["n_measured"] != made.overall["n_items"]:
        print(f"\nmeasured on a sample of {made.overall['n_measured']} items")
    for out in (json_out, html_out):
        if out is not None:
            print(f"written: {out}")
