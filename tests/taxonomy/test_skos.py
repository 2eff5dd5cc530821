"""SKOS and JSON, out and back; files of other programs and hostile ones."""

import json
import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cladify._kit.text import printable
from cladify.cli import run
from cladify.errors import CladifyWarning, FileError, InvalidInput
from cladify.taxonomy import Taxonomy
from cladify.taxonomy._share.scheme import Group, Item, Scheme, scheme_of
from cladify.tree import Tree

rdflib = pytest.importorskip("rdflib")

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | st.sampled_from(
    ['"', "\\", 'a"""b', "a\nb\r\nc", "\u2028", "\x00", "</script>", "'", "é😀", "a\\u0041", " lead", "@en", "^^x"]
)
VALUES = TEXTS | st.none()
NAMES = TEXTS.map(lambda text: printable(text) or "x")


@st.composite
def schemes(draw):
    """A random taxonomy of hostile names and items."""
    n = draw(st.integers(2, 12))
    parent, open_nodes, following = [-1] * (2 * n), list(range(n)), n
    while len(open_nodes) > 1:
        k = draw(st.integers(2, min(4, len(open_nodes))))
        for node in open_nodes[:k]:
            parent[node] = following
        open_nodes = [*open_nodes[k:], following]
        following += 1
    groups = {
        v: Group(
            draw(NAMES),
            None if parent[v] < 0 else parent[v],
            draw(st.lists(NAMES, max_size=3, unique=True)),
            float(v),
            draw(st.booleans()) and parent[v] >= 0,
        )
        for v in range(n, following)
    }
    kind = draw(st.sampled_from([VALUES, st.integers(-(2**40), 2**40), st.floats(allow_nan=False), st.booleans()]))
    ids = draw(
        st.lists(st.integers(0, 99) | st.text("abc\n\"'", max_size=4).filter(str), min_size=n, max_size=n, unique=True)
    )
    ids = [str(value) for value in ids]
    ids = [f"{i}{value}" for i, value in enumerate(ids)]
    names = draw(st.sampled_from([(), ("ticket",), (None,), ("a", "b")]))
    items = [Item(parent[i], draw(kind), tuple([ids[i]] * len(names))) for i in range(n)]
    return Scheme(groups, items, names, [(2, 0.5)])


def same(a, b):
    assert np.array_equal(a.tree.parent, b.tree.parent) and np.array_equal(a.tree.height, b.tree.height)
    assert a.names == b.names and a._now.hidden == b._now.hidden
    assert [a.keywords(v) for v in a.names] == [b.keywords(v) for v in b.names]
    assert [level.n_clusters for level in a.levels] == [level.n_clusters for level in b.levels]
    assert a.ids == b.ids and a.id_names == b.id_names
    for x, y in zip(a.items, b.items, strict=True):
        assert x == y and type(x) is type(y)


@settings(max_examples=25, deadline=None)
@given(schemes())
def test_nothing_is_lost(tmp_path_factory, scheme):
    made = Taxonomy._of_scheme(scheme)
    same(made, Taxonomy.from_dict(json.loads(json.dumps(made.to_dict(nested=False, items=True)))))
    folder = tmp_path_factory.mktemp("skos")
    for ending in (".ttl", ".jsonld"):
        made.export(folder / f"x{ending}")
        same(made, Taxonomy.from_skos(folder / f"x{ending}"))


def test_another_reader_of_rdf_sees_what_was_written(taxonomy, tmp_path):
    found = []
    for ending, form in ((".ttl", "turtle"), (".jsonld", "json-ld")):
        taxonomy.export(tmp_path / f"x{ending}", base="https://example.org/t/")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # rdflib's own
            graph = rdflib.Graph().parse(tmp_path / f"x{ending}", format=form)
        skos = rdflib.SKOS
        assert sorted(map(str, graph.objects(None, skos.prefLabel))) == sorted(taxonomy.names.values())
        assert len(set(graph.subject_objects(skos.broader))) == len(taxonomy.names) - 1
        assert len(list(graph.subjects(rdflib.DCTERMS.subject))) == taxonomy.n_items
        for concept in graph.subjects(rdflib.RDF.type, skos.Concept):  # S13 and S14 of the reference
            labels = [set(graph.objects(concept, kind)) for kind in (skos.prefLabel, skos.hiddenLabel)]
            assert len(labels[0]) == 1 and not labels[0] & labels[1]
            assert str(concept).startswith("https://example.org/t/")
        found.append({tuple(map(str, triple)) for triple in graph})
    assert found[0] == found[1]


ANIMALS = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix : <http://example.org/> .
:animals a skos:Concept ; skos:prefLabel "animaux"@fr, "animals"@en ; skos:narrower :birds .
:birds a skos:Concept ; skos:prefLabel "birds" .
:cats a skos:Concept ; skos:prefLabel "cats"@en ; skos:altLabel "felines"@en ; skos:broader :animals .
:lion a skos:Concept ; skos:prefLabel "lion" ; skos:broader :cats . # ]
:tiger a skos:Concept ; skos:broader :cats ; skos:prefLabel \"\"\"tiger "big"\"\"\" .
:tools a skos:Concept ; skos:prefLabel "tools" .
:hammers a skos:Concept ; skos:prefLabel "hammers" ; skos:broader :tools .
:mallet a skos:Concept ; skos:prefLabel "mallet" ; skos:broader :hammers .
:sledge a skos:Concept ; skos:prefLabel "sledge" ; skos:broader :hammers .
"""


SCHEME = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix cladify: <urn:cladify:terms:> .
<a:a> a skos:Concept . <a:b> a skos:Concept . <a:s> a skos:ConceptScheme """


def test_concepts_of_another_program(tmp_path):
    path = tmp_path / "animals.ttl"
    path.write_text(ANIMALS)
    made = Taxonomy.from_skos(path)
    assert sorted(made.items) == ["birds", "lion", "mallet", "sledge", 'tiger "big"']
    assert sorted(made.names.values()) == ["all items", "animals", "cats", "tools > hammers"]
    assert made.names_of(made.path(made.items.index("lion"))) == ["animals", "cats"]
    cats = next(v for v, name in made.names.items() if name == "cats")
    assert made.keywords(cats) == ["felines"]
    made.save(tmp_path / "a.taxonomy")
    assert Taxonomy.load(tmp_path / "a.taxonomy").names == made.names


def test_groups_alone_and_empty_groups(taxonomy, tmp_path):
    taxonomy.export(tmp_path / "g.ttl", items=False)
    again = Taxonomy.from_skos(tmp_path / "g.ttl")
    assert set(again.items) | set(again.names.values()) >= set(taxonomy.names.values())
    scheme = scheme_of(taxonomy._now)
    scheme.groups["empty"] = Group("empty", taxonomy.tree.root)
    with pytest.warns(CladifyWarning, match="1 groups without items"):
        assert Taxonomy._of_scheme(scheme).n_items == taxonomy.n_items


@pytest.mark.parametrize(
    ("name", "text", "match"),
    [
        ("a.ttl", "no turtle at all", "is not SKOS in ttl"),
        ("a.ttl", "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .", "no skos:Concept"),
        ("a.ttl", "[" * 5000, "is not SKOS"),
        ("a.ttl", '<a:a> <a:b> "' + "\\u00", "is not SKOS"),
        ("a.jsonld", "{", "is not SKOS in jsonld"),
        ("a.jsonld", "[" * 100_000, "is not SKOS in jsonld"),
        ("a.jsonld", '{"@context": "http://127.0.0.1:9/x"}', "lies elsewhere"),
        ("a.jsonld", '[{"x": {"@context": ["http://127.0.0.1:9/x"]}}]', "lies elsewhere"),
        ("a.jsonld", '{"@context": {"@import": "http://127.0.0.1:9/x"}}', "lies elsewhere"),
        ("a.rdf", "<rdf/>", "read from .ttl and .jsonld"),
        ("a.ttl", SCHEME + '; cladify:levels "7" .', "none of its own"),
        ("a.ttl", SCHEME + '; cladify:idNames "3"^^rdf:JSON .', "none of its own"),
    ],
)
def test_hostile_files_are_one_line(tmp_path, name, text, match):
    (tmp_path / name).write_text(text)
    with pytest.raises(FileError, match=match) as error:
        Taxonomy.from_skos(tmp_path / name)
    assert "\n" not in str(error.value) and len(str(error.value)) < 400


def test_a_circle_is_refused(tmp_path):
    text = ANIMALS + ":animals skos:broader :lion ."
    (tmp_path / "c.ttl").write_text(text)
    with pytest.raises(FileError, match="lies in itself"):
        Taxonomy.from_skos(tmp_path / "c.ttl")


def test_a_long_chain_is_one_group():
    groups = {i: Group(f"g{i}", i + 1 if i < 50_000 else None) for i in range(50_001)}
    made = Taxonomy._of_scheme(Scheme(groups, [Item(0, "a"), Item(0, "b")]))
    assert len(made.names) == 1 and made.items == ["a", "b"]


@pytest.mark.parametrize(
    "data",
    [None, [], {}, {"groups": [{}]}, {"groups": [], "items": ["a"], "parent": []}, {"groups": 3, "items": 1}],
)
def test_what_is_not_a_dict_of_a_taxonomy(data):
    with pytest.raises(InvalidInput):
        Taxonomy.from_dict(data)


def test_items_alone_in_their_group():
    scheme = Scheme(
        {"a": Group("a"), "b": Group("b"), "c": Group("c")}, [Item("a", "x"), Item("b", "y"), Item("c", "z")]
    )
    assert Taxonomy._of_scheme(scheme).items == ["x", "y", "z"]
    one = Taxonomy._of_scheme(Scheme({"a": Group("a")}, [Item("a", "x")]))
    assert one.n_items == 1


def test_base_must_be_an_address(taxonomy, tmp_path):
    with pytest.raises(InvalidInput, match="base must be an address"):
        taxonomy.export(tmp_path / "x.ttl", base="> <evil")
    with pytest.raises(FileError, match="known endings"):
        taxonomy.export(tmp_path / "x.doc")


def test_convert_there_and_back(taxonomy, tmp_path):
    taxonomy.save(tmp_path / "x.taxonomy")
    for ending in ("ttl", "jsonld"):
        run(["convert", str(tmp_path / "x.taxonomy"), str(tmp_path / f"x.{ending}")])
        run(["convert", str(tmp_path / f"x.{ending}"), str(tmp_path / f"{ending}.taxonomy")])
        assert Taxonomy.load(tmp_path / f"{ending}.taxonomy").names == taxonomy.names
    (tmp_path / "x.json").write_text(json.dumps(taxonomy.to_dict(nested=False, items=True)))
    run(["convert", str(tmp_path / "x.json"), str(tmp_path / "json.taxonomy")])
    same(Taxonomy.load(tmp_path / "json.taxonomy"), taxonomy)


def test_heights_that_cannot_be_are_made_anew():
    scheme = Scheme({"r": Group("r", None, height=math.nan), "a": Group("a", "r", height=3.0)}, [])
    scheme.items = [Item("a", 1), Item("a", 2), Item("r", 3)]
    tree = Taxonomy._of_scheme(scheme).tree
    assert isinstance(tree, Tree) and tree.height.tolist() == [0, 0, 0, 1, 2]
