"""``cladify taxonomy`` and ``name``: trees that people read."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cladify._kit.system import peak_memory
from cladify.cli._about import about_json, levels_text, outline_of
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
    from cladify.taxonomy._sources import Options

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
            help="A table: .csv .tsv .json .jsonl .parquet .arrow .xlsx .sqlite .duckdb .txt; a folder of them, of "
            "texts, of images or of Lance; hf://datasets/NAME, or - for standard input. Vectors: .npy .npz .h5ad",
        ),
    ],
    text: Text = None,
    column: Vectors = None,
    ids: Ids = None,
    label: Annotated[
        str | None, typer.Option(help="Column of known classes: kept, and compared with by: cladify report")
    ] = None,
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
    from cladify.taxonomy._sources import STDIN, TEXT_KINDS, Options

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
    reading = Options(encoding, sheet)
    known = KnownColumns(seeds_column, labels_column)
    is_table = from_stdin or source.is_dir() or source.suffix.lower() in TEXT_KINDS or str(source).startswith("hf:/")
    if is_table:
        made, summary = _of_table(
            source, text, ids, label, items, items_column, column, input_format, reading, embedder, known, options
        )
    else:
        if text is not None or ids is not None or label is not None:
            raise typer.BadParameter("--text, --id and --label name columns of a table.")
        known.refuse(source)
        made, summary = _of_vectors(source, items, items_column, column, obsp, options)
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
        print(f"\nlevels: {levels_text(made)}")
        print(f"taxonomy: {out}" + (f", table: {table_out}" if table_out is not None else ""))


def _of_table(
    source: Path,
    text: str | None,
    ids: str | None,
    label: str | None,
    items: Path | None,
    items_column: str | None,
    column: str | None,
    kind: str | None,
    reading: Options,
    embedder: str,
    known: KnownColumns,
    options: dict[str, Any],
) -> tuple[Taxonomy, str]:
    """Of texts, of vectors with texts beside them, or of vectors alone, whatever the table has."""
    from cladify.taxonomy import Taxonomy
    from cladify.taxonomy._sources import STDIN, read_source, read_table

    address = _address(source)
    if address == STDIN:
        table = read_source(address, text, ids=ids, kind=kind, options=reading)
    else:
        table = read_table(address, text, ids=ids, label=label, vectors=columns(column), options=reading)
    n = table.n_rows
    shown: Any = table.column(items_column) if items is None and items_column is not None else None
    if items is not None:
        shown = read_named_items(items, items_column, n, f"rows in {table.path}")
    if table.vectors is not None and source.is_file():
        options = options | {"vectors_at": {"path": str(source.resolve()), "column": table.vector_names}}
    options = options | known.values(table, is_folder=source.is_dir())
    made = Taxonomy.of_source(table, embedder=embedder, items=shown, **options)
    where = "" if source.suffix == ".txt" else f" ({table.taken()})"
    if table.vectors is None:
        what = f"{count(n, 'text')}{where}{_oddities(made)}, {made.info['embedder']}"
    else:
        what = f"{count(n, 'vector')} of {count(table.vectors.shape[1], 'dimension')}{where}"
    return made, f"{table.path}: {what}, {made.info['method']}"


def _address(source: Path) -> str:
    """The source as it was written: a path takes a slash out of ``hf://``."""
    return str(source).replace("hf:/", "hf://", 1) if str(source).startswith("hf:/") else str(source)


def _oddities(made: Taxonomy) -> str:
    """How many texts are empty or repeat another, if any."""
    told = made.info.get("texts", {})
    empty = told.get("empty", 0)
    repeated = max(made.n_items - told.get("different", made.n_items) - max(empty - 1, 0), 0)
    said = [f"{number} {what}" for number, what in ((empty, "empty"), (repeated, "that repeat another")) if number]
    return "".join(f", {part}" for part in said)


def _of_vectors(
    source: Path,
    items: Path | None,
    items_column: str | None,
    column: str | None,
    obsp: str | None,
    options: dict[str, Any],
) -> tuple[Taxonomy, str]:
    from cladify.io import read_vectors
    from cladify.taxonomy import Taxonomy
    from cladify.taxonomy._h5ad import read_obs, read_obsp

    X = read_obsp(source, obsp) if obsp is not None else read_vectors(source, column=columns(column))
    n = X.shape[0]
    shown: Any = read_named_items(items, items_column, n, f"vectors in {source}")
    if source.suffix.lower() == ".h5ad" and items is None:
        shown = read_obs(source, items_column)
    at = {"path": str(source.resolve()), "column": columns(column)}
    made = Taxonomy.fit(X, shown, vectors_at=at if obsp is None else None, **options)
    return made, f"{source}: {count(n, 'vector')} of {count(X.shape[1], 'dimension')}, {made.info['method']}"


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
    if depth > 0:
        print(outline_of(made, depth, groups, examples, nodes=nodes))


def _described(made: Taxonomy, out: Path) -> dict[str, Any]:
    return {
        "file": str(out),
        **about_json(made),
        "info": made.info,
        "taxonomy": made.to_dict(nested=True),
    }
