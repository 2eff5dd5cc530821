"""``cladify taxonomy`` and ``name``: trees that people read."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cladify.cli._common import (
    AsJson,
    Encoding,
    ExcelSafe,
    Items,
    ItemsColumn,
    Params,
    Quiet,
    Sheet,
    TaxonomyFile,
    Text,
    Vectors,
    columns,
    count,
    parse_params,
    peak_memory,
    print_json,
    read_named_items,
    seconds,
    show_progress,
)
from cladify.cli._namer import (
    About,
    AuditFile,
    Cache,
    Concurrency,
    DryRun,
    KeyEnv,
    Language,
    MaxCalls,
    MaxTokens,
    NamerName,
    PromptFile,
    Timeout,
    print_cost,
    who_names,
)
from cladify.cli._steer import (
    CannotLink,
    KnownColumns,
    LabelsColumn,
    Levels,
    MaxChildren,
    MustLink,
    Seeds,
    SeedsColumn,
    given_wishes,
)
from cladify.cli._table import check_output, write_output

if TYPE_CHECKING:
    from cladify.taxonomy import Taxonomy
    from cladify.taxonomy._sources import Options, Source

Ids = Annotated[
    str | None, typer.Option("--id", help="Column or key with the ids; one called id is found, if all are different.")
]
Depth = Annotated[int, typer.Option(help="Levels of the printed outline; 0 for none.", min=0)]
Groups = Annotated[int, typer.Option(help="Groups printed below each; the rest is counted.", min=1)]
Examples = Annotated[int, typer.Option(help="Items printed for each of the lowest groups.", min=0)]


def taxonomy(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="SOURCE",
            help="Texts: .csv .tsv .json .jsonl .parquet .xlsx .sqlite .txt, a folder, or - for standard input. "
            "Vectors: .npy .npz .h5ad .fvecs, or a table with a column of them.",
        ),
    ],
    text: Text = None,
    column: Vectors = None,
    ids: Ids = None,
    items: Items = None,
    items_column: ItemsColumn = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
    input_format: Annotated[
        str | None,
        typer.Option("--format", help="What standard input is: txt, csv, tsv, json or jsonl; found if not given."),
    ] = None,
    embedder: Annotated[
        str,
        typer.Option(
            help="auto, tfidf, sentence-transformers:NAME, model2vec:NAME, fastembed:NAME, openai:MODEL@URL, or "
            "module:function of yours."
        ),
    ] = "auto",
    obsp: Annotated[
        str | None, typer.Option(help="With .h5ad: a graph of neighbours in obsp, such as connectivities.")
    ] = None,
    method: Annotated[str, typer.Option("--method", "-m", help="How to build the tree; see: cladify methods")] = "auto",
    metric: Annotated[str, typer.Option(help="cosine, sqeuclidean, ...")] = "cosine",
    min_size: Annotated[int | None, typer.Option(help="No group smaller than this; default: √n / 3")] = None,
    levels: Levels = None,
    max_children: MaxChildren = 15,
    seeds: Seeds = None,
    seeds_column: SeedsColumn = None,
    labels_column: LabelsColumn = None,
    must_link: MustLink = None,
    cannot_link: CannotLink = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Where the taxonomy goes; default: SOURCE.taxonomy here")
    ] = None,
    table_out: Annotated[
        Path | None, typer.Option("--table", help="Also one row an item: .csv .tsv .jsonl .parquet .h5ad")
    ] = None,
    excel_safe: ExcelSafe = False,
    language: Annotated[
        str, typer.Option(help="Language of the texts, such as de or german: stop words and forms of words for names.")
    ] = "auto",
    namer: NamerName = None,
    cache: Cache = None,
    about: About = None,
    dry_run: DryRun = False,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    key_env: KeyEnv = None,
    audit: AuditFile = None,
    param: Params = None,
    random_state: Annotated[int, typer.Option("--random-state", "--seed", help="For methods that draw.")] = 0,
    n_jobs: Annotated[int, typer.Option("--n-jobs", "-j", help="Threads; -1 is all cores.")] = -1,
    depth: Depth = 2,
    groups: Groups = 15,
    examples: Examples = 2,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Texts, or vectors with items, to a named taxonomy.

    Example: [bold]cladify taxonomy posts.csv --text body[/bold]
    """
    from cladify.io import check_writable
    from cladify.taxonomy._sources import STDIN, TEXT_KINDS, Options, vector_column

    from_stdin = str(source) == STDIN
    if obsp is not None and source.suffix.lower() != ".h5ad":
        raise typer.BadParameter("--obsp names a graph in an .h5ad file.")
    out = out or Path("texts.taxonomy" if from_stdin else source.with_suffix(".taxonomy").name)
    check_writable(out)
    if table_out is not None:
        check_output(table_out, source)
    budget = {"max_calls": max_calls, "max_tokens": max_tokens}
    asked = who_names(namer, out, cache, dry_run, audit=audit, about=about, key_env=key_env, **budget)
    start = perf_counter()
    show = show_progress(quiet or as_json)
    options: dict[str, Any] = {
        "method": method,
        "metric": metric,
        "min_size": min_size,
        "max_children": max_children,
        **given_wishes(levels, seeds, must_link, cannot_link),
        "random_state": random_state,
        "n_jobs": n_jobs,
        "progress": show,
        **({} if language == "auto" else {"language": language}),
        **parse_params(param),
    }
    if column is None and not from_stdin:
        column = vector_column(source)
    reading = Options(encoding, sheet)
    is_text = source.is_dir() or source.suffix.lower() in TEXT_KINDS
    as_texts = from_stdin or (column is None and is_text)
    known = KnownColumns(seeds_column, labels_column)
    if as_texts:
        made, summary = _of_texts(
            source, text, ids, items, items_column, input_format, reading, embedder, known, options
        )
    else:
        made, summary = _of_vectors(source, text, ids, items, items_column, column, obsp, reading, known, options)
    read = perf_counter()
    made.save(out)  # before the namer, which may fail: nothing is lost
    if asked is not None and dry_run:
        print_cost(made, asked, as_json)
        return
    if asked is not None:
        try:
            made.name(asked.namer, cache=asked.cache, progress=show)
        finally:
            made.save(out)
    if table_out is not None:
        write_output(made.table(form="arrow"), table_out, source, excel_safe=excel_safe)
    if as_json:
        print_json({**_described(made, out), "seconds": read - start, "peak_bytes": peak_memory()})
    elif not quiet:
        print(f"{summary}, {seconds(read - start)}, {peak_memory() / 1e6:.0f} MB of memory at most\n")
        _print_outline(made, depth, groups, examples)
        print(f"\nlevels: {', '.join(_level(level) for level in made.levels)}")
        print(f"taxonomy: {out}" + (f", table: {table_out}" if table_out is not None else ""))


def _of_texts(
    source: Path,
    text: str | None,
    ids: str | None,
    items: Path | None,
    items_column: str | None,
    kind: str | None,
    reading: Options,
    embedder: str,
    known: KnownColumns,
    options: dict[str, Any],
) -> tuple[Taxonomy, str]:
    from cladify.taxonomy import Taxonomy
    from cladify.taxonomy._sources import read_source

    table = read_source(str(source), text, ids=ids, kind=kind, options=reading)
    n = len(table.table)
    shown: Any = table.column(items_column) if items is None and items_column is not None else None
    if items is not None:
        shown = read_named_items(items, items_column, n, f"texts in {table.path}")
    given = {"ids": table.ids, "columns": table.kept, **known.values(table, is_folder=source.is_dir())}
    made = Taxonomy.from_texts(table.texts, items=shown, embedder=embedder, **given, **options)
    made.info["source"] = {"path": table.path, "column": table.text_column}
    where = "" if source.suffix == ".txt" else f" ({_taken(table)})"
    return made, f"{table.path}: {count(n, 'text')}{where}, {made.info['embedder']}, {made.info['method']}"


def _taken(table: Source, vectors: str | None = None) -> str:
    """Which column was taken for what."""
    taken = {"vectors": vectors, "texts": table.text_column, "ids": table.id_column}
    said = [f"{what}: {name}" for what, name in taken.items() if name is not None]
    others = len(table.kept.column_names)
    return ", ".join([*said, *([f"{count(others, 'more column')} kept"] if others else [])])


def _of_vectors(
    source: Path,
    text: str | None,
    ids: str | None,
    items: Path | None,
    items_column: str | None,
    column: str | None,
    obsp: str | None,
    reading: Options,
    known: KnownColumns,
    options: dict[str, Any],
) -> tuple[Taxonomy, str]:
    from cladify.io import read_vectors
    from cladify.taxonomy import Taxonomy
    from cladify.taxonomy._h5ad import read_obs, read_obsp
    from cladify.taxonomy._sources import TEXT_KINDS

    is_h5ad = source.suffix.lower() == ".h5ad"
    X = read_obsp(source, obsp) if obsp is not None else read_vectors(source, column=columns(column))
    n = X.shape[0]
    shown: Any = read_named_items(items, items_column, n, f"vectors in {source}")
    texts: Any = None
    given: dict[str, Any] = {}
    where = ""
    if is_h5ad and items is None:
        shown = read_obs(source, items_column)
    elif (
        source.suffix.lower() in TEXT_KINDS
        and (table := _beside(source, text or items_column, ids, reading)) is not None
    ):
        texts = table.texts if text is not None or items_column is None else None
        if items is None:
            shown = table.column(items_column or table.text_column)
        given = {"ids": table.ids, "columns": table.kept, **known.values(table)}
        where = f" ({_taken(table, column)})"
    else:
        known.refuse(source)
    at = {"path": str(source.resolve()), "column": columns(column)}
    made = Taxonomy.fit(X, shown, texts=texts, vectors_at=at if obsp is None else None, **given, **options)
    shape = f"{count(n, 'vector')} of {count(X.shape[1], 'dimension')}"
    return made, f"{source}: {shape}{where}, {made.info['method']}"


def _beside(source: Path, text: str | None, ids: str | None, reading: Options) -> Source | None:
    """The texts and other columns of a file with vectors; None where it has no texts and none were asked for."""
    from cladify.errors import FileError
    from cladify.taxonomy._sources import read_source

    try:
        return read_source(source, text, ids=ids, options=reading)
    except FileError:
        if text is not None or ids is not None:
            raise
        return None


def name(
    file: TaxonomyFile,
    namer: NamerName = None,
    cache: Cache = None,
    about: About = None,
    language: Language = None,
    prompt: PromptFile = None,
    dry_run: DryRun = False,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    key_env: KeyEnv = None,
    audit: AuditFile = None,
    concurrency: Concurrency = 4,
    timeout: Timeout = 120.0,
    batch_size: Annotated[int, typer.Option(help="With a function: groups a call.", min=1)] = 20,
    retries: Annotated[int, typer.Option(help="With --namer: how often a failing call is tried again.", min=0)] = 5,
    texts: Annotated[Path | None, typer.Option(help="Make the names from other texts than the items.")] = None,
    text: Text = None,
    rename: Annotated[
        list[str] | None, typer.Option(metavar="NODE=NAME", help="Name one group by hand; may be given again.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Default: the same file.")] = None,
    depth: Depth = 2,
    groups: Groups = 15,
    examples: Examples = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Name the groups of a taxonomy again: by hand, from other texts, by a language model or a function of yours.

    Example: [bold]cladify name posts.taxonomy --namer ollama:llama3.2 --about "bug reports of a browser"[/bold]
    """
    from cladify.io import check_writable
    from cladify.taxonomy import Taxonomy
    from cladify.taxonomy._sources import read_source

    made = Taxonomy.load(file)
    out = out or file
    check_writable(out)
    budget = {"max_calls": max_calls, "max_tokens": max_tokens, "concurrency": concurrency, "timeout": timeout}
    question = {"about": about, "language": language, "prompt": prompt}
    asked = who_names(namer, out, cache, dry_run, audit=audit, key_env=key_env, **question, **budget)
    for pair in rename or ():
        node, equals, given = pair.partition("=")
        if not equals or not node.strip().isdigit():
            raise typer.BadParameter(f"--rename takes NODE=NAME, got {pair!r}.")
        made.rename(int(node), given)
    given_texts = None if texts is None else read_source(str(texts), text).texts
    show = show_progress(quiet or as_json)
    if asked is not None and dry_run:
        if given_texts is not None:
            made.name(texts=given_texts, progress=show)
        print_cost(made, asked, as_json)
        return
    try:
        if asked is not None or given_texts is not None:
            made.name(
                None if asked is None else asked.namer,
                texts=given_texts,
                batch_size=batch_size,
                retries=retries,
                cache=None if asked is None else asked.cache,
                progress=show,
            )
    finally:
        made.save(out)  # names given before a failure are kept
    if as_json:
        print_json({"file": str(out), "names": {str(v): given for v, given in made.names.items()}})
    elif not quiet:
        _print_outline(made, depth, groups, examples, nodes=True)
        print(f"\ntaxonomy: {out}")


def _print_outline(made: Taxonomy, depth: int, groups: int, examples: int, nodes: bool = False) -> None:
    if depth < 1:
        return
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    print(made.summary(depth=depth, max_children=groups, n_examples=examples, width=width, nodes=nodes))


def _level(level: Any) -> str:
    stable = "" if level.stability is None else f" ({level.stability:.2f})"
    return f"{level.n_clusters} groups{stable}"


def _described(made: Taxonomy, out: Path) -> dict[str, Any]:
    return {
        "file": str(out),
        "n_items": made.n_items,
        "n_groups": made.tree.n_nodes - made.n_items,
        "levels": [{"n_clusters": level.n_clusters, "stability": level.stability} for level in made.levels],
        "info": made.info,
        "taxonomy": made.to_dict(nested=True),
    }
