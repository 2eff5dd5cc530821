"""Options of `cladify taxonomy` that steer it."""

import json

import pytest
from taxonomy_texts import make_texts

from cladify.taxonomy import Taxonomy


@pytest.fixture
def posts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts, _ = make_texts(60)
    with open("posts.csv", "w") as file:
        file.write("id,body,team\n")
        file.writelines(f'{100 + i},"{text}",{"mine/one" if i % 20 == 0 else ""}\n' for i, text in enumerate(texts))
    return tmp_path


def test_levels_seeds_and_links(cladify, posts):
    (posts / "seeds.json").write_text(json.dumps({"Mine": [100, 103]}))
    (posts / "pairs.csv").write_text("100,101\n")
    done = cladify("taxonomy", "posts.csv", "--levels", "3,9", "--seeds", "seeds.json", "--cannot-link", "pairs.csv")
    assert done.code == 0, done.err
    made = Taxonomy.load("posts.taxonomy")
    assert "Mine" in made.names.values() and made.info["links"]["cannot_link_broken"] == 0
    assert made.path(0)[0] == made.path(3)[0] != made.path(1)[0]


def test_columns_of_names_and_of_labels(cladify, posts):
    done = cladify("taxonomy", "posts.csv", "--text", "body", "--seeds-column", "team", "--levels", "4")
    assert done.code == 0, done.err
    assert {"mine", "one"} & set(Taxonomy.load("posts.taxonomy").names.values())
    assert cladify("taxonomy", "posts.csv", "--text", "body", "--labels-column", "team").code == 0


@pytest.mark.parametrize(
    ("option", "content", "said"),
    [
        ("--seeds", "[1, 2]", "names with lists of examples"),
        ("--seeds", "{", "is not JSON"),
        ("--must-link", "100,101\n102\n", "line 2: two ids"),
        ("--cannot-link", "100,77\n", "77, which is not the id of an item"),
    ],
)
def test_bad_files_are_one_line(cladify, posts, option, content, said):
    (posts / "given").write_text(content)
    done = cladify("taxonomy", "posts.csv", option, "given")
    assert done.code == 1 and said in done.err and done.err.count("\n") == 1


def test_bad_levels_are_one_line(cladify, posts):
    done = cladify("taxonomy", "posts.csv", "--levels", "8;40")
    assert done.code == 2 and "--levels takes numbers" in done.err
