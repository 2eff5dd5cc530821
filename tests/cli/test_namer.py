"""``--namer`` with a model on a server."""

import json
from pathlib import Path

import numpy as np
import pytest
from mock_server import MockServer
from taxonomy_texts import make_texts

from cladify.taxonomy import Taxonomy


@pytest.fixture
def posts(cladify, monkeypatch):
    monkeypatch.setattr("cladify._kit.openai.PAUSE", 0.001)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    Path("posts.txt").write_text("\n".join(make_texts(90)[0]) + "\n")
    assert cladify("taxonomy", "posts.txt", "-q").code == 0
    assert not list(Path().glob("*.answers")) and not list(Path().glob("*.audit.jsonl"))


def named(payload):
    number = sum(payload["messages"][-1]["content"].encode())
    return json.dumps({"name": f"Name {'abcdefghij'[number % 10]}{number}"})


def test_names_by_a_model(cladify, posts):
    n_groups = len(Taxonomy.load("posts.taxonomy").names) - 1
    with MockServer(named) as mock:
        options = ("--namer", mock.name(), "--about", "things", "--language", "en")
        done = cladify("name", "posts.taxonomy", *options, "--dry-run")
        assert done.code == 0 and done.out.startswith(f"{n_groups} calls, about ") and "Nothing was sent." in done.out
        cost = cladify("name", "posts.taxonomy", *options, "--dry-run", "--json").json
        assert cost["calls"] == n_groups and cost["known"] == 0 and not mock.calls
        assert not Path("posts.answers").exists()
        done = cladify("name", "posts.taxonomy", *options)
        assert done.code == 0 and "Name " in done.out and done.err == ""
        assert len(mock.calls) == n_groups and "The items are: things." in mock.calls[0].content
        assert Path("posts.answers").exists() and Path("posts.audit.jsonl").exists()
        done = cladify("name", "posts.taxonomy", *options, "--dry-run")
        assert done.out == f"0 calls, about 0 tokens; {n_groups} answers known already. Nothing was sent.\n"
    names = Taxonomy.load("posts.taxonomy").names
    assert sum(name.startswith("Name ") for name in names.values()) == n_groups


def test_of_a_new_taxonomy(cladify, posts):
    with MockServer(named) as mock:
        done = cladify("taxonomy", "posts.txt", "--namer", mock.name(), "-o", "new.taxonomy", "--max-calls", 3)
        assert done.code == 0 and len(mock.calls) == 3
        assert "warning: the budget of 3 calls is used up" in done.err and done.err.count("\n") == 1
        done = cladify("taxonomy", "posts.txt", "--namer", mock.name(), "-o", "new.taxonomy", "--dry-run")
        assert "3 answers known already" in done.out and len(mock.calls) == 3
    assert Path("new.answers").exists() and Path("new.audit.jsonl").exists()


def test_a_question_of_ones_own(cladify, posts):
    Path("ask.txt").write_text("Wie heißt das hier? {data}")
    with MockServer(named) as mock:
        done = cladify("name", "posts.taxonomy", "--namer", mock.name(), "--prompt", "ask.txt", "-q")
        assert done.code == 0 and mock.calls[0].content.startswith('Wie heißt das hier? {"keywords": [')
    Path("ask.txt").write_text("{data} {colour}")
    done = cladify("name", "posts.taxonomy", "--namer", "ollama:m", "--prompt", "ask.txt")
    assert done.code == 1 and "the field {colour}; known are {about}, {language}, {data}" in done.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--namer", "openai:gpt-4o"), "a model on a server is openai:MODEL@URL or ollama:MODEL"),
        (("--namer", "openai:m@http://127.0.0.1:9/v1"), "cannot reach http://127.0.0.1:9/v1"),
        (("--namer", "ollama:m", "--key-env", "NOT_SET_HERE"), "NOT_SET_HERE has no key in it"),
        (("--namer", "ollama:m", "--prompt", "none.txt"), "none.txt does not exist"),
        (("--namer", "ollama:m", "--cache", "posts.txt"), "posts.txt is not a file of answers"),
        (("--namer", "ollama:m", "--audit", "posts.txt"), "posts.txt is not an audit"),
        (("--namer", "ollama:m", "--timeout", "0"), "timeout must be"),
        (("--dry-run",), "--dry-run is for names by a model"),
        (("--namer", "os:getcwd", "--about", "x"), "--about is for names by a model"),
        (("--max-calls", "3"), "--max-calls is for names by a model"),
    ],
)
def test_what_cannot_be_is_one_line(cladify, posts, options, message):
    before = Path("posts.taxonomy").read_bytes(), Path("posts.txt").read_bytes()
    done = cladify("name", "posts.taxonomy", *options, "--retries", "1")
    assert done.code in (1, 2) and message in done.err and done.err.count("\n") == 1
    assert Path("posts.txt").read_bytes() == before[1]
    assert Taxonomy.load("posts.taxonomy").names


@pytest.mark.parametrize(
    ("fault", "message"), [("404", "does not know the model 'test'"), ("401", "no key was sent"), ("400", "mock 400")]
)
def test_a_server_that_refuses_is_one_line(cladify, posts, fault, message):
    with MockServer(named, [fault] * 9) as mock:
        done = cladify("name", "posts.taxonomy", "--namer", mock.name())
        assert done.code == 1 and message in done.err and done.err.count("\n") == 1


def test_numbers_are_nothing_to_name(cladify, posts):
    Taxonomy.fit(np.random.default_rng(0).normal(size=(60, 4)), metric="sqeuclidean").save("n.taxonomy")
    done = cladify("name", "n.taxonomy", "--namer", "ollama:m", "--dry-run")
    assert done.code == 1 and "only numbers" in done.err


def test_nothing_is_sent_without_the_flag(cladify, posts, monkeypatch):
    monkeypatch.setattr("cladify._kit.openai.Server._exchange", lambda *_: pytest.fail("a call was sent"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    assert cladify("taxonomy", "posts.txt", "-q").code == 0
    assert cladify("name", "posts.taxonomy", "--texts", "posts.txt", "-q").code == 0
    assert cladify("name", "posts.taxonomy", "--namer", "ollama:m", "--dry-run").code == 0
