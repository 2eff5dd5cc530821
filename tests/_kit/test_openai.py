"""The door to servers of models, against one on this machine that fails as real ones do."""

import threading
import time
from email.utils import formatdate

import pytest
from mock_server import MockServer

from cladify._kit.openai import Server, Trouble
from cladify.errors import InvalidInput, ServerError


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    monkeypatch.setattr("cladify._kit.openai.PAUSE", 0.001)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def data(payload):
    return {"data": [payload["input"]]}


@pytest.mark.parametrize("fault", ["429", "429 0.01", "500", "503", "half", "invalid", "slow", "close"])
def test_what_passes_is_tried_again(fault):
    with MockServer(data, [fault, fault]) as mock, Server.parse(mock.name(), retries=2, timeout=0.3) as server:
        assert server.post("embeddings", {"input": "x"}) == {"data": ["x"]}
        assert [call.path for call in mock.calls] == ["/v1/embeddings"] * 3
        assert mock.calls[0].payload == {"model": "test", "input": "x"}


@pytest.mark.parametrize(
    ("fault", "n_calls", "message"),
    [
        ("500", 3, r"refused the call \(500: mock 500\). It was tried 3 times."),
        ("close", 3, "closed the connection .* tried 3 times"),
        ("invalid", 3, "not a JSON object. It was tried 3 times"),
        ("400", 1, r"refused the call \(400: mock 400\)"),
        ("404", 1, "does not know the model 'test', or the address is wrong"),
        ("401", 1, r"\(401: mock 401\); no key was sent: .*--key-env"),
        ("301", 1, "301"),
        ("429 86400", 1, "asks to wait 86400 s"),
    ],
)
def test_what_does_not_pass_is_one_line(fault, n_calls, message):
    with MockServer(data, [fault] * 5) as mock, Server.parse(mock.name(), retries=2) as server:
        with pytest.raises(ServerError, match=message) as caught:
            server.post("embeddings", {"input": "x"})
        assert len(mock.calls) == n_calls and "\n" not in str(caught.value)


def test_a_quota_that_is_used_up_is_not_waited_for():
    answer = {"error": {"message": "You exceeded your quota.", "code": "insufficient_quota"}}
    trouble = Server("m", "http://localhost")._refusal(429, "1", answer)
    assert trouble.pause is None and "You exceeded your quota" in str(trouble)


def test_no_server_is_said_at_once():
    with MockServer(data) as mock:
        name = mock.name()
    started = time.monotonic()
    with Server.parse(name, retries=50) as server, pytest.raises(Trouble, match=r"cannot reach http://127") as caught:
        server.post("embeddings", {"input": "x"})
    assert caught.value.refused and time.monotonic() - started < 5


def test_all_threads_wait_after_a_429(monkeypatch):
    sent = []
    with (
        MockServer(data, ["429 0.3"], before=lambda number: sent.append(time.monotonic())) as mock,
        Server.parse(mock.name()) as server,
    ):
        first = threading.Thread(target=server.post, args=("embeddings", {"input": "x"}))
        first.start()
        while not server._not_before:
            time.sleep(0.005)
        server.post("embeddings", {"input": "y"})
        first.join()
    assert len(sent) == 3 and min(sent[1:]) - sent[0] >= 0.29


def test_dates_are_pauses_too():
    trouble = Server("m", "http://localhost")._refusal(503, formatdate(time.time() + 100, usegmt=True), None)
    assert 90 < trouble.pause <= 101
    assert Server("m", "http://localhost")._refusal(503, "soon", None).pause == 0


def test_closing_ends_pauses():
    with MockServer(data, ["429 100"] * 2) as mock, Server.parse(mock.name()) as server:
        threading.Timer(0.1, server.close).start()
        with pytest.raises(Trouble, match=r"given up|refused the call"):
            server.post("embeddings", {"input": "x"})


def test_at_most_so_many_calls_at_once():
    with MockServer(data, delay=0.02) as mock, Server.parse(mock.name(), connections=3) as server:
        threads = [threading.Thread(target=server.post, args=("embeddings", {"input": i})) for i in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert mock.most_at_once <= 3 and len(mock.calls) == 12


def test_a_guard_sees_every_attempt():
    seen = []

    def guard(send):
        seen.append("asked")
        reply = send()
        seen.append(reply)
        return reply

    with MockServer(data, ["500", "close"]) as mock, Server.parse(mock.name()) as server:
        server.post("embeddings", {"input": "x"}, guard)
    assert seen == ["asked", "asked", "asked", {"data": ["x"]}]


class TestKey:
    def test_from_the_usual_variable(self, monkeypatch):
        monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
        with MockServer(data, ["401"]) as mock, Server.parse(mock.name()) as server:
            with pytest.raises(Trouble, match="the key of OPENAI_API_KEY was sent") as caught:
                server.post("embeddings", {"input": "x"})
            assert mock.calls[0].headers["Authorization"] == "Bearer sk-secret" and "secret" not in str(caught.value)

    def test_from_another_one(self, monkeypatch):
        monkeypatch.setenv("MY_KEY", "mine")
        with MockServer(data) as mock, Server.parse(mock.name(), key_env="MY_KEY") as server:
            server.post("embeddings", {"input": "x"})
            assert mock.calls[0].headers["Authorization"] == "Bearer mine"
        monkeypatch.delenv("MY_KEY")
        with pytest.raises(InvalidInput, match="MY_KEY has no key in it; set it: export MY_KEY="):
            Server.parse("openai:m@http://localhost/v1", key_env="MY_KEY")

    def test_none_is_needed(self):
        with MockServer(data) as mock, Server.parse(mock.name()) as server:
            server.post("embeddings", {"input": "x"})
            assert "Authorization" not in mock.calls[0].headers

    def test_the_usual_one_is_not_sent_in_the_clear(self, monkeypatch):
        monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
        assert Server.parse("openai:m@http://example.org/v1")._key == ""
        assert Server.parse("openai:m@https://example.org/v1")._key == "sk-secret"
        assert Server.parse("openai:m@http://example.org/v1", key_env="OPENAI_API_KEY")._key == "sk-secret"

    def test_with_a_line_break(self, monkeypatch):
        monkeypatch.setenv("OPENAI_API_KEY", "sk-1\nX-Evil: 1")
        with pytest.raises(InvalidInput, match="OPENAI_API_KEY has characters"):
            Server.parse("openai:m@http://localhost/v1")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("openai:gpt", "openai:MODEL@URL or ollama:MODEL"),
        ("openai:@http://localhost", "openai:MODEL@URL"),
        ("ollama:", "openai:MODEL@URL"),
        ("openai:m@localhost:1", "openai:MODEL@URL"),
        ("openai:m@ftp://localhost", "openai:MODEL@URL"),
        ("openai:m@http://localhost:99999", "like http://localhost:11434/v1"),
        ("openai:m@http://[::1", "like http://localhost:11434/v1"),
        ("openai:m@http://key@localhost", "has a key or password"),
        ("openai:m@http://a:b@localhost/v1", "has a key or password"),
        ("openai:m@http://localhost/v1?key=3", "no [?] or #"),
    ],
)
def test_names_that_are_none(name, message):
    with pytest.raises(InvalidInput, match=message) as caught:
        Server.parse(name)
    assert "a:b" not in str(caught.value)
