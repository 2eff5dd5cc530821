"""Options of ``--namer``, for the commands that name groups."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from cladify.cli._common import count, print_json

if TYPE_CHECKING:
    from cladify.taxonomy import Taxonomy

NamerName = Annotated[
    str | None,
    typer.Option(
        "--namer",
        metavar="NAMER",
        help="Names by a language model on a server: openai:MODEL@URL or ollama:MODEL; or module:function of yours.",
    ),
]
Cache = Annotated[
    Path | None,
    typer.Option(help="With --namer: a file that keeps its answers. Default for a model: TAXONOMY's name + .answers"),
]
About = Annotated[str | None, typer.Option(help="With a model: what the items are: 'bug reports of a browser'.")]
MaxCalls = Annotated[int | None, typer.Option(help="With a model: no more calls than this.", min=0)]
MaxTokens = Annotated[int | None, typer.Option(help="With a model: no more tokens than this.", min=0)]
KeyEnv = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="With a model: the environment variable with the key; default: OPENAI_API_KEY"),
]
AuditFile = Annotated[
    Path | None,
    typer.Option(help="With a model: a file of all questions and answers. Default: TAXONOMY's name + .audit.jsonl"),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="With a model: print calls and tokens, and send nothing.")]
Concurrency = Annotated[int, typer.Option(help="With a model: calls at the same time.", min=1, max=256)]
Timeout = Annotated[float, typer.Option(help="With a model: seconds that an answer may take.")]
Language = Annotated[str | None, typer.Option(help="With a model: language of the names; default: that of the items")]
PromptFile = Annotated[
    Path | None,
    typer.Option(help="With a model: a file with your own question; {data} stands for the group."),
]
#: Values of options that stand for nothing given.
_USUAL = {"concurrency": 4, "timeout": 120.0}


class Asked(NamedTuple):
    """Who gives the names, and the file that keeps the answers."""

    namer: Any
    cache: Path | None


def who_names(namer: str | None, out: Path, cache: Path | None, dry_run: bool, **options: Any) -> Asked | None:
    """What ``--namer`` and its options say; checked before anything is read or built."""
    from cladify._kit.atomic import check_writable
    from cladify._kit.openai import is_server_name
    from cladify.taxonomy import ModelNamer
    from cladify.taxonomy._names.answers import check_answers, check_audit
    from cladify.text._models import load_callable

    if namer is None or not is_server_name(namer):
        given = [name for name, value in options.items() if value is not None and value != _USUAL.get(name)]
        if dry_run or given:
            option = "--dry-run" if dry_run else f"--{given[0].replace('_', '-')}"
            raise typer.BadParameter(f"{option} is for names by a model: --namer openai:MODEL@URL or ollama:MODEL.")
        if cache is not None:
            check_answers(cache)
        return None if namer is None else Asked(load_callable(namer, "namer"), cache)
    cache = cache or out.with_suffix(".answers")
    audit = options.pop("audit") or out.with_suffix(".audit.jsonl")
    check_answers(cache)
    check_audit(audit)
    for path in (cache, audit):
        check_writable(path)
    prompt = options.pop("prompt", None)
    return Asked(ModelNamer(namer, audit=audit, prompt=_read(prompt), **options), cache)


def _read(prompt: Path | None) -> str | None:
    from cladify._kit.files import find_file, reading

    if prompt is None:
        return None
    with reading(find_file(prompt), "text"):
        return prompt.read_text(encoding="utf-8")


def print_cost(made: Taxonomy, asked: Asked, as_json: bool) -> None:
    """What names by a model will take."""
    cost = made.naming_cost(asked.namer, cache=asked.cache)
    if as_json:
        print_json(cost._asdict())
        return
    known = f"; {count(cost.known, 'answer')} known already" if cost.known else ""
    print(f"{count(cost.calls, 'call')}, about {count(cost.tokens, 'token')}{known}. Nothing was sent.")
