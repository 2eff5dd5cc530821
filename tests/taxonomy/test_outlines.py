"""Markdown, OPML and Mermaid."""

from xml.etree import ElementTree

import pytest

from cladify.taxonomy import Taxonomy

HOSTILE = ['a <b>"&', "*star* [link](x)", "# no; title", "quote\" 'x'"]


@pytest.fixture
def made(tmp_path):
    taxonomy = Taxonomy.from_texts(["red apple", "green apple", "old engine", "new engine"] * 3, min_size=4)
    for v, name in zip(taxonomy.levels[0].nodes, HOSTILE, strict=False):
        taxonomy.rename(v, name)
    return taxonomy


def test_markdown_escapes_its_marks(made, tmp_path):
    made.export(tmp_path / "x.md")
    lines = (tmp_path / "x.md").read_text().splitlines()
    assert lines[0] == "# all items (12)"
    assert '- a \\<b\\>"\\& (6)' in lines and "- \\*star\\* \\[link\\]\\(x\\) (6)" in lines


def test_opml_is_xml_with_every_name(made, tmp_path):
    made.export(tmp_path / "x.opml")
    body = ElementTree.parse(tmp_path / "x.opml").getroot().find("body")
    assert sorted(e.get("text") for e in body.iter("outline")) == sorted(made.names.values())
    assert [e.get("size") for e in body] == ["12"]


def test_mermaid_has_no_mark_of_its_own_in_a_label(made, tmp_path):
    made.export(tmp_path / "x.mmd")
    lines = (tmp_path / "x.mmd").read_text().splitlines()
    assert lines[0] == "mindmap" and len(lines) == 1 + len(made.names)
    for line in lines[1:]:
        label = line.split('["', 1)[1].removesuffix('"]')
        assert not set(label) & set('"<>[]`')


def test_hidden_groups_are_left_out(made, tmp_path):
    made.hide(made.levels[0].nodes[0])
    made.export(tmp_path / "x.md")
    assert "star" in (tmp_path / "x.md").read_text() and "\\<b" not in (tmp_path / "x.md").read_text()
