"""Answers to hostile requests: each has the security headers, and none is read or parsed beyond its limits."""

import asyncio
import logging
import stat
import urllib.parse

import pytest

pytest.importorskip("starlette")

from starlette.testclient import TestClient

from cladify.explore import Explorer, explore, open_document
from cladify.explore._access import Access
from cladify.explore._server import make_app

TOKEN = "secret"
HEADERS = {
    "content-security-policy",
    "x-content-type-options",
    "referrer-policy",
    "cross-origin-resource-policy",
    "cache-control",
}


@pytest.fixture
def client(document):
    with TestClient(make_app(document, token=TOKEN), base_url="http://127.0.0.1:8765") as client:
        yield client


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("api/export?what=json&node=%C2%B2", 400),
        ("api/export?what=newick&node=" + "1" * 5000, 400),
        ("api/export?what=json&node=", 400),
        ("api/card?node=" + "9" * 19, 400),
        ("api/card?node=%D9%A1", 400),
        ("api/card?node=+1", 400),
        ("api/card?node=1_0", 400),
        ("api/children?ids=1,%C2%B2", 400),
        ("api/cut?height=inf", 400),
        ("api/cut?height=1e999", 400),
        ("api/cut?height=" + "1" * 5000, 400),
        ("api/points?left=%D9%A1", 400),
        ("api/nothing", 404),
        ("nothing", 404),
        ("api/edit", 405),
    ],
)
def test_bad_values_are_refused_with_the_headers(client, path, status):
    answer = client.get("/" + path)
    assert answer.status_code == status
    assert set(answer.headers) >= HEADERS
    assert len(answer.headers.get_list("content-security-policy")) == 1


@pytest.mark.parametrize("token", [b"\xe9", b"\xff" * 3000, b""])
def test_tokens_that_are_not_ascii(client, token):
    answer = client.post("/api/edit", content=b"{}", headers={"x-cladify-token": token})
    assert answer.status_code == 403
    assert set(answer.headers) >= HEADERS


def test_a_fault_is_answered_with_the_headers(client, document, monkeypatch, caplog):
    monkeypatch.setattr(type(document.view), "card", lambda *_: 1 / 0)
    with caplog.at_level(logging.ERROR, logger="cladify.explore"):
        answer = client.get("/api/card?node=0")
    assert answer.status_code == 500
    assert "ZeroDivisionError" in caplog.text and "Zero" not in answer.text
    assert set(answer.headers) >= HEADERS


def test_a_large_body_is_not_read(document):
    """The server stops reading at its limit: of 400 MB it takes the first 100 kB."""
    app, sent, answer = make_app(document, token=TOKEN), 0, []
    chunk = b"x" * 65536

    async def receive():
        nonlocal sent
        sent += len(chunk)
        return {"type": "http.request", "body": chunk, "more_body": sent < 400_000_000}

    async def send(message):
        answer.append(message)

    scope = {"type": "http", "method": "POST", "path": "/api/edit", "raw_path": b"/api/edit", "query_string": b""}
    scope["headers"] = [(b"host", b"localhost"), (b"x-cladify-token", TOKEN.encode())]
    asyncio.run(app(scope, receive, send))
    assert answer[0]["status"] == 413
    assert {name.decode() for name, _ in answer[0]["headers"]} >= HEADERS
    assert sent <= 200_000


def test_a_group_of_many_digits(tree_folder):
    document = open_document(tree_folder.folder)
    with TestClient(make_app(document, token=TOKEN), base_url="http://localhost") as client:
        for group in ("1" * 5000, "%C2%B2", "-1"):
            answer = client.get(f"/below/{group}/api/meta")
            assert answer.status_code == 404
            assert set(answer.headers) >= HEADERS
        assert len(client.get("/below/0/").headers.get_list("content-security-policy")) == 1


def test_a_code_gives_a_cookie_once(document):
    access = Access()
    root = int(document.view.keys[document.view.tree.root])
    action = {"op": "rename", "node": root, "name": "everything"}
    with TestClient(make_app(document, token=access), base_url="http://127.0.0.1:8765") as client:
        assert not client.get("/api/meta").json()["can_edit"]
        assert client.post("/api/session", json={"code": "wrong"}).status_code == 403
        assert client.post("/api/session", json={"code": ["x"]}).status_code == 403
        assert client.post("/api/edit", json=action).status_code == 403
        code = access.new_code()
        answer = client.post("/api/session", json={"code": code})
        assert answer.status_code == 200
        assert access.token not in answer.text
        cookie = answer.headers["set-cookie"].lower()
        assert "httponly" in cookie and "samesite=strict" in cookie
        assert client.post("/api/session", json={"code": code}).status_code == 403
        assert client.get("/api/meta").json()["can_edit"]
        for foreign in ({"origin": "http://127.0.0.1:9999"}, {"origin": "null"}, {"sec-fetch-site": "same-site"}):
            assert client.post("/api/edit", json=action, headers=foreign).status_code == 403
        assert client.post("/api/edit", json=action, headers={"origin": "http://127.0.0.1:8765"}).status_code == 200


def test_the_browser_is_given_a_private_file(taxonomy, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    explorer = explore(taxonomy, port=0, browser=True)
    try:
        (address,) = opened
        file = explorer._opened[0]
        assert address == file.as_uri()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert explorer.token not in file.read_text() + address
        assert "?code=" in file.read_text()
    finally:
        explorer.stop()
    assert not file.exists()


def test_addresses_hold_codes_and_no_token(taxonomy):
    explorer = Explorer(open_document(taxonomy), port=0)
    first, second = explorer.url, explorer.url
    explorer.stop()
    codes = [urllib.parse.parse_qs(urllib.parse.urlsplit(url).query)["code"][0] for url in (first, second)]
    assert codes[0] != codes[1]
    assert explorer.token not in first
