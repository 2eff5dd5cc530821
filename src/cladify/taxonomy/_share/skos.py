"""SKOS, the standard for taxonomies (https://www.w3.org/TR/skos-reference/), as RDF Turtle and JSON-LD.

A group is a ``skos:Concept`` with its name as ``prefLabel`` and its keywords as ``hiddenLabel``; the root stands as the
``ConceptScheme``'s only top concept. An item is a resource with a ``dcterms:title`` whose ``dcterms:subject`` is its
group. What SKOS has no word for (heights, levels, which groups are hidden) has one of cladify's own, so that nothing of
it is lost.
"""

from __future__ import annotations

import json
import math
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from cladify._kit.files import PathLike, find_file, reading
from cladify._kit.memory import check_memory
from cladify.errors import FileError, InvalidInput, MissingExtra
from cladify.taxonomy._share.scheme import Group, Item, Scheme

__all__ = ["KINDS", "check_base", "read_skos", "write_jsonld", "write_turtle"]

KINDS = (".ttl", ".jsonld")
BASE = "urn:cladify:taxonomy:"
PREFIXES = {
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "dct": "http://purl.org/dc/terms/",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "cladify": "urn:cladify:terms:",
}
#: Bytes of memory that a byte of RDF takes while it is read, about.
_MEMORY = 30
_LANGUAGES = ("", "en")


def check_base(base: str | None) -> str:
    """The beginning of all addresses; raises where it is not one."""
    base = BASE if base is None else base
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]+", base):
        raise InvalidInput(f"base must be an address such as https://example.org/topics/, got {base[:60]!r}.")
    return base


# --- out --------------------------------------------------------------------------------------------------------------


class _Literal(str):
    """A text with a datatype."""

    kind = ""


def _literal(value: Any) -> _Literal | str:
    """Numbers and truth values in their own types, other values as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        text, kind = str(value).lower(), "xsd:boolean"
    elif isinstance(value, int):
        text, kind = str(value), "xsd:integer"
    elif isinstance(value, float) and math.isfinite(value):
        text, kind = repr(value), "xsd:double"
    else:
        text, kind = json.dumps(value, ensure_ascii=False, default=str), "rdf:JSON"
    found = _Literal(text)
    found.kind = kind
    return found


def _resources(scheme: Scheme, base: str) -> Iterator[tuple[str, str, list[tuple[str, str, list[Any]]]]]:
    """Address, type and (property, "iri" or "literal", values) of every resource."""
    tops = [key for key, group in scheme.groups.items() if group.parent is None]
    about: list[tuple[str, str, list[Any]]] = [
        ("skos:hasTopConcept", "iri", [f"{base}group/{key}" for key in tops]),
        ("cladify:levels", "literal", [[list(level) for level in scheme.levels]]),
        ("cladify:idNames", "literal", [list(scheme.id_names)]),
        ("cladify:hasItems", "literal", [scheme.has_items]),
    ]
    yield f"{base}scheme", "skos:ConceptScheme", about
    for key, group in scheme.groups.items():
        at_top = group.parent is None
        where = ("skos:topConceptOf" if at_top else "skos:broader", f"{base}scheme")
        yield (
            f"{base}group/{key}",
            "skos:Concept",
            [
                ("skos:inScheme", "iri", [f"{base}scheme"]),
                (where[0], "iri", [where[1] if at_top else f"{base}group/{group.parent}"]),
                ("skos:prefLabel", "literal", [group.name]),
                ("skos:hiddenLabel", "literal", _others(group)),
                ("cladify:keywords", "literal", [group.keywords] if group.keywords else []),
                ("cladify:height", "literal", [] if group.height is None else [group.height]),
                ("cladify:isHidden", "literal", [True] if group.is_hidden else []),
                ("cladify:rank", "literal", [] if group.rank is None else [group.rank]),
                ("cladify:node", "literal", [key] if isinstance(key, int) else []),
            ],
        )
    for row, item in enumerate(scheme.items):
        above = [f"{base}group/{item.group}"] if item.group in scheme.groups else []
        yield (
            f"{base}item/{row}",
            "cladify:Item",
            [
                ("dct:subject", "iri", above),
                ("dct:title", "literal", [] if item.value is None else [item.value]),
                ("dct:identifier", "literal", [item.ids[0] if len(item.ids) == 1 else item.ids] if item.ids else []),
                ("cladify:row", "literal", [row]),
            ],
        )


def _others(group: Group) -> list[str]:
    """Keywords that are not the name itself: labels of a concept are of one kind each (S13 of the reference)."""
    return [word for word in dict.fromkeys(group.keywords) if word != group.name]


def write_turtle(file: IO[str], scheme: Scheme, base: str) -> None:
    """The scheme as RDF Turtle."""
    file.writelines(f"@prefix {name}: <{address}> .\n" for name, address in PREFIXES.items())
    for address, kind, properties in _resources(scheme, base):
        lines = [f"\n<{address}> a {kind}"]
        for name, form, values in properties:
            if values:
                shown = (f"<{value}>" if form == "iri" else _turtle(_literal(value)) for value in values)
                lines.append(f"    {name} {', '.join(shown)}")
        file.write(" ;\n".join(lines) + " .\n")


def _turtle(text: _Literal | str) -> str:
    kind = f"^^{text.kind}" if isinstance(text, _Literal) else ""
    return f'"{_ESCAPED.sub(_escape, text)}"{kind}'


_ESCAPED = re.compile(r'[\\"\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]')


def _escape(found: re.Match[str]) -> str:
    mark = found[0]
    return {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(mark) or f"\\u{ord(mark):04X}"


def write_jsonld(file: IO[str], scheme: Scheme, base: str) -> None:
    """The scheme as JSON-LD."""
    file.write(f'{{"@context": {json.dumps(PREFIXES)},\n "@graph": [\n')
    separator = ""
    for address, kind, properties in _resources(scheme, base):
        entry: dict[str, Any] = {"@id": address, "@type": kind}
        for name, form, values in properties:
            if values:
                entry[name] = [{"@id": value} if form == "iri" else _json(_literal(value)) for value in values]
        file.write(separator + "  " + json.dumps(entry, ensure_ascii=False))
        separator = ",\n"
    file.write("\n]}\n")


def _json(text: _Literal | str) -> dict[str, str]:
    return {"@value": str(text), "@type": text.kind} if isinstance(text, _Literal) else {"@value": text}


# --- in ---------------------------------------------------------------------------------------------------------------


def read_skos(path: PathLike) -> Scheme:
    """The concepts in a file of RDF Turtle or JSON-LD, of cladify or of any other program.

    Of several broader concepts, the first by its address counts. A label without a language is preferred, then English.
    """
    kind = find_file(path).suffix.lower()
    if kind not in KINDS:
        raise FileError(f"{path}: SKOS is read from {' and '.join(KINDS)} files.")
    try:
        from rdflib import Graph
    except ImportError:
        raise MissingExtra("Reading SKOS", "skos") from None
    check_memory(_MEMORY * Path(path).stat().st_size, f"{path} as a graph", "leave the items out of it.")
    graph = Graph()
    with reading(path, "SKOS"), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # rdflib's own
        text = Path(path).read_text(encoding="utf-8-sig")
        try:
            if kind == ".jsonld":
                _refuse_remote(path, json.loads(text))
            graph.parse(data=text, format="turtle" if kind == ".ttl" else "json-ld")
        except FileError:
            raise
        except Exception as error:  # a parser has many ways to fail
            said = " ".join(str(error).split())[:120] or type(error).__name__
            raise FileError(f"{path} is not SKOS in {kind[1:]}: {said}") from None
        try:
            return _scheme(path, graph)
        except FileError:
            raise
        except (TypeError, ValueError, AttributeError):
            raise FileError(f"{path} has terms of cladify with values that are none of its own.") from None


def _refuse_remote(path: PathLike, data: Any) -> None:
    """Raise where a context lies elsewhere: a file alone sends nothing."""
    waiting = [data]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            contexts = value.get("@context", [])
            for context in contexts if isinstance(contexts, list) else [contexts]:
                if isinstance(context, str) or (isinstance(context, dict) and "@import" in context):
                    raise FileError(f"{path} has a context that lies elsewhere; put it into the file first.")
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)


def _scheme(path: PathLike, graph: Any) -> Scheme:
    from rdflib import Literal, Namespace
    from rdflib.namespace import RDF

    skos, dct, own = (Namespace(PREFIXES[name]) for name in ("skos", "dct", "cladify"))

    def one(subject: Any, term: Any, default: Any = None) -> Any:
        found = [value for value in graph.objects(subject, term) if isinstance(value, Literal)]
        return default if not found else _value(min(found, key=str))

    concepts = sorted(set(graph.subjects(RDF.type, skos.Concept)), key=str)
    if not concepts and not list(graph.subjects(RDF.type, own.Item)):
        raise FileError(f"{path} has no skos:Concept.")
    nodes = {concept: one(concept, own.node) for concept in concepts}
    is_own = all(isinstance(node, int) for node in nodes.values()) and len(set(nodes.values())) == len(concepts)
    keys: dict[Any, Any] = nodes if is_own else {concept: str(concept) for concept in concepts}
    groups: dict[Any, Group] = {}
    for concept in concepts:
        broader = set(graph.objects(concept, skos.broader)) | set(graph.subjects(skos.narrower, concept))
        above = sorted((str(other), other) for other in broader if other in keys and other != concept)
        hidden = [str(label) for term in (skos.altLabel, skos.hiddenLabel) for label in graph.objects(concept, term)]
        height = one(concept, own.height)
        groups[keys[concept]] = Group(
            _label(graph.objects(concept, skos.prefLabel)) or str(concept).rstrip("/").rsplit("/", 1)[-1],
            keys[above[0][1]] if above else None,
            one(concept, own.keywords) or sorted(set(hidden)),
            float(height) if isinstance(height, int | float) else None,
            one(concept, own.isHidden, False) is True,
            rank if isinstance(rank := one(concept, own.rank), int) else None,
        )
    schemes = sorted(set(graph.subjects(RDF.type, skos.ConceptScheme)), key=str)
    about = schemes[0] if schemes else None
    names = one(about, own.idNames, [])
    items = []
    for resource in set(graph.subjects(dct.subject, None)) | set(graph.subjects(RDF.type, own.Item)):
        subjects = sorted(str(found) for found in graph.objects(resource, dct.subject))
        group = next(
            (keys.get(found) for found in graph.objects(resource, dct.subject) if str(found) == subjects[0]), None
        )
        ids = one(resource, dct.identifier)
        row = one(resource, own.row)
        order = (0, row, "") if isinstance(row, int) else (1, 0, str(resource))
        items.append((order, Item(group, one(resource, dct.title), _ids(ids, len(names)))))
    items.sort(key=lambda entry: entry[0])
    levels = [(int(k), None if s is None else float(s)) for k, s in one(about, own.levels, [])]
    return Scheme(
        groups, [item for _, item in items], tuple(names), levels, one(about, own.hasItems, True) is not False
    )


def _label(labels: Any) -> str | None:
    found = sorted(labels, key=lambda label: (_rank(getattr(label, "language", None) or ""), str(label)))
    return str(found[0]) if found else None


def _rank(language: str) -> tuple[int, str]:
    return (_LANGUAGES.index(language) if language in _LANGUAGES else len(_LANGUAGES), language)


def _value(literal: Any) -> Any:
    """A literal as a Python value: of numbers, truth values and JSON; everything else is text."""
    kind = str(literal.datatype or "").rsplit("#", 1)[-1]
    text = str(literal)
    if kind == "boolean":
        return text in ("true", "1")
    read: dict[str, Any] = {"integer": int, "double": float, "decimal": float, "JSON": json.loads}
    try:
        return read.get(kind, str)(text)
    except ValueError:
        return text


def _ids(found: Any, n: int) -> tuple[Any, ...]:
    values = tuple(found) if n > 1 and isinstance(found, list) else (found,)
    return values if len(values) == n else (None,) * n
