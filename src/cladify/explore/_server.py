"""The local server of the explorer: static files, and questions answered from one version of a document.

It listens on the loopback interface. A page of another site cannot read it, because the ``Host`` of every request is
checked (DNS rebinding) and no other origin is allowed; it cannot write, because writing takes a token (see
:mod:`cladify.explore._access`). All texts go out as JSON and become text nodes in the page, never markup. Every answer,
also an error, carries the security headers.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from importlib.resources import files
from threading import Lock
from typing import TYPE_CHECKING, Any

from cladify.errors import CladifyError, InvalidInput, Stale
from cladify.explore._access import Access
from cladify.explore._export import export
from cladify.explore._select import plane_of, selected, selection
from cladify.explore._values import cut_of, real, whole, whole_number

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from cladify.explore._document import Document, Version

__all__ = ["POLICY", "make_app"]

#: Nothing from elsewhere, nothing inline.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors {ancestors}"
)
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_MOST_BODY = 100_000
_KEPT_BELOW = 8
_WINDOW = {"left": "0", "top": "0", "side": "1"}
_log = logging.getLogger("cladify.explore")


def make_app(document: Document, *, token: str | Access, hosts: tuple[str, ...] = (), frame: bool = False) -> Any:
    """The application that serves one document.

    Parameters
    ----------
    document : Document
    token : str or Access
        A request that writes must show this token.
    hosts : tuple of str
        Names under which the server may be asked besides those of the loopback interface.
    frame : bool
        Whether pages of this machine (a notebook) may show it in a frame.
    """
    access = token if isinstance(token, Access) else Access(token)
    policy = POLICY.format(ancestors="http://127.0.0.1:* http://localhost:*" if frame else "'none'")
    return _Guard(
        _router(document, access, frame),
        names={"127.0.0.1", "localhost", "[::1]", *hosts},
        headers={**_HEADERS, "Content-Security-Policy": policy},
    )


def _router(document: Document, access: Access, frame: bool) -> Any:
    """The routes of one document, without the guard."""
    from starlette.concurrency import run_in_threadpool
    from starlette.responses import Response
    from starlette.routing import Mount, Route, Router

    pages = _static_files()

    async def static(request: Request) -> Response:
        name = request.path_params.get("name") or "index.html"
        if name not in pages:
            return _error(404, f"There is no {name[:100]}.")
        content, kind = pages[name]
        return Response(content, media_type=kind)

    def question(answer: Callable[[Version, Mapping[str, str]], Any]) -> Callable[..., Any]:
        async def endpoint(request: Request) -> Response:
            now = document.now  # one version answers the whole question
            try:
                found = await run_in_threadpool(answer, now, request.query_params)
            except CladifyError as error:
                found = _error(400, str(error))
            answered = found if isinstance(found, Response) else _json(found)
            answered.headers["X-Cladify-Version"] = now.name
            return answered

        return endpoint

    async def meta(request: Request) -> Response:
        now = document.now
        return _json({**await run_in_threadpool(document.meta, now), "can_edit": access.may_edit(request)})

    async def version(request: Request) -> Response:
        try:
            return _json(await run_in_threadpool(document.refresh))
        except CladifyError as error:
            return _error(400, str(error))

    async def session(request: Request) -> Response:
        body = await _body(request)
        if isinstance(body, Response):
            return body
        if not access.take(body.get("code")):
            return _error(403, "This address was used before; only reading works. Start cladify explore again to edit.")
        # A frame of a page of another site has no cookies: it keeps the token in memory.
        answer = _json({"token": access.token} if frame else {})
        answer.set_cookie(access.cookie, access.token, httponly=True, samesite="strict")
        return answer

    async def edit(request: Request) -> Response:
        if not access.may_edit(request):
            return _error(403, "Editing needs an address that cladify explore printed; each works once.")
        action = await _body(request)
        if isinstance(action, Response):
            return action
        try:
            return _json(await run_in_threadpool(document.edit, action))
        except Stale as error:
            return _error(409, str(error), version=document.now.name)
        except CladifyError as error:
            return _error(400, str(error))

    return Router(
        [
            *(Route(f"/api/{name}", question(answer)) for name, answer in _questions(document).items()),
            Route("/api/meta", meta),
            Route("/api/version", version),
            Route("/api/session", session, methods=["POST"]),
            Route("/api/edit", edit, methods=["POST"]),
            *([] if document.below is None else [Mount("/below/{group}", _Below(document.below, access, frame))]),
            Route("/", static),
            Route("/{name}", static),
        ]
    )


class _Below:
    """The same pages for the tree below a group of the top, made when first asked for.

    The last few are kept, and all that were edited, as their edits are nowhere else.
    """

    def __init__(self, below: Callable[[int], Document], access: Access, frame: bool) -> None:
        self.below, self.access, self.frame = below, access, frame
        self.opened: dict[int, tuple[Document, Any]] = {}  # by group, the oldest first
        self.lock = Lock()

    def app(self, text: str) -> Any:
        group = whole_number(text, "group")
        with self.lock:
            if group not in self.opened:
                document = self.below(group)
                plain = [other for other, (known, _) in self.opened.items() if not known.taxonomy.edits.done]
                for other in plain[: max(0, len(plain) + 1 - _KEPT_BELOW)]:
                    del self.opened[other]
                self.opened[group] = document, _router(document, self.access, self.frame)
            return self.opened[group][1]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        from starlette.concurrency import run_in_threadpool

        try:
            app = await run_in_threadpool(self.app, scope["path_params"]["group"])
        except CladifyError as error:
            app = _error(404, str(error))
        await app(scope, receive, send)


class _Guard:
    """Checks host and origin of a request, adds the security headers to every answer, and answers for exceptions."""

    def __init__(self, app: Any, names: set[str], headers: dict[str, str]) -> None:
        self.app = app
        self.names = names
        self.headers = [(key.lower().encode(), value.encode()) for key, value in headers.items()]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = False

        async def guarded(message: Any) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message["headers"] = [*message["headers"], *self.headers]
            await send(message)

        try:
            await (self._refusal(scope) or self.app)(scope, receive, guarded)
        except Exception:
            _log.exception("A request to %s failed.", scope["path"][:200])
            if not started:
                await _error(500, "The server failed to answer; the terminal says why.")(scope, receive, guarded)

    def _refusal(self, scope: Any) -> Any:
        """The answer to a request that names another host, or that another site wants to write with."""
        given = {key: value.decode("latin-1") for key, value in scope["headers"]}
        host = given.get(b"host", "")
        name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
        if name not in self.names:
            return _error(421, "This server answers only to its own address.")
        foreign = given.get(b"origin", f"http://{host}") != f"http://{host}"
        foreign |= given.get(b"sec-fetch-site", "same-origin") not in ("same-origin", "none")
        if foreign and scope["method"] not in ("GET", "HEAD"):
            return _error(403, "Another site may not write here.")
        return None


def _questions(document: Document) -> dict[str, Callable[[Version, Mapping[str, str]], Any]]:
    """The page's questions by name; each takes a version of the document and the values of the address."""

    def node(now: Version, values: Mapping[str, str]) -> int:
        return now.view.node(whole(values, "node"))

    def item(now: Version, values: Mapping[str, str]) -> int:
        return whole(values, "item", high=now.view.tree.n_leaves - 1)

    def children(now: Version, values: Mapping[str, str]) -> Any:
        keys = [whole_number(part, "ids") for part in values.get("ids", "").split(",")[:100] if part]
        return {"children": now.view.families([now.view.node(key) for key in keys])}

    def items(now: Version, values: Mapping[str, str]) -> Any:
        offset, limit = whole(values, "offset", default=0), whole(values, "limit", default=50)
        return now.view.items_of(node(now, values), offset, limit, values.get("sort", "tree"))

    def path(now: Version, values: Mapping[str, str]) -> Any:
        key = whole(values, "node")  # an edit may have removed the node: the page then goes elsewhere
        return {"path": now.view.path(now.view.node(key)) if now.view.has(key) else []}

    def points(now: Version, values: Mapping[str, str]) -> Any:
        left, top, side = (real(values, name, default) for name, default in _WINDOW.items())
        if not 0 < side <= 100:
            raise InvalidInput(f"side must be in (0, 100], got {side}.")
        column = whole(values, "column", high=len(now.view.columns) - 1) if "column" in values else None
        plane, passed = plane_of(now.view), selected(now.view, values)
        return _download(plane.points((left, top, side), passed=passed, column=column), "application/octet-stream")

    def counts(now: Version, values: Mapping[str, str]) -> Any:
        columns = now.view.columns
        shown = now.view.is_shown if now.view.hidden else None
        return columns.counts(columns.filters(values.get("filter", "")), shown)

    def texts(now: Version, values: Mapping[str, str]) -> Any:
        last = now.view.tree.n_leaves
        places = [whole_number(part, "places") for part in values.get("places", "").split(",")[:200] if part]
        return {"texts": [now.view.short(place) if place < last else "" for place in places]}

    def chosen(now: Version, values: Mapping[str, str]) -> Any:
        offset, limit = whole(values, "offset", default=0), whole(values, "limit", default=50)
        return selection(now.view, values, offset, limit)

    def image(now: Version, values: Mapping[str, str]) -> Any:
        return _download(*document.image(item(now, values)))

    def exported(now: Version, values: Mapping[str, str]) -> Any:
        root = int(now.view.keys[now.view.tree.root])
        v = now.view.node(whole(values, "node", default=root))
        what, form = values.get("what", ""), values.get("format", "")
        return _download(*export(now, what, form, v, cut_of(values), selected(now.view, values)))

    return {
        "children": children,
        "card": lambda now, values: now.view.card(node(now, values)),
        "path": path,
        "items": items,
        "search": lambda now, values: document.search(now, values.get("q", "")[:200]),
        "cut": lambda now, values: now.view.cut(**cut_of(values)),
        "like": lambda now, values: now.view.like(item(now, values)),
        "points": points,
        "islands": lambda now, values: {"islands": [] if now.view.plane is None else now.view.plane.islands},
        "counts": counts,
        "selection": chosen,
        "hits": lambda now, values: now.view.hits(values.get("q", "")[:200]),
        "texts": texts,
        "at": lambda now, values: now.view.at(whole(values, "place", high=now.view.tree.n_leaves - 1)),
        "flows": lambda now, values: document.flows(now, **cut_of(values)),
        "report": lambda now, values: document.report(now),
        "compare": lambda now, values: document.compare(now, node(now, values)),
        "image": image,
        "export": exported,
    }


def _download(content: bytes, kind: str, name: str = "") -> Any:
    from starlette.responses import Response

    headers = {"Content-Disposition": f'attachment; filename="{name}"'} if name else None
    return Response(content, media_type=kind, headers=headers)


def _static_files() -> dict[str, tuple[bytes, str]]:
    """The page's own files, read once: no path of a request ever reaches the file system."""
    found = {}
    for file in files("cladify.explore").joinpath("static").iterdir():
        ending = "." + file.name.rsplit(".", 1)[-1]
        if ending in _TYPES:
            found[file.name] = (file.read_bytes(), _TYPES[ending])
    return found


async def _body(request: Request) -> Any:
    """The JSON object in the body of a request, or the answer that refuses it; reading stops at the limit."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MOST_BODY:
            answer = _error(413, f"A request has at most {_MOST_BODY} bytes.")
            answer.headers["Connection"] = "close"  # the rest is not read
            return answer
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        data = None
    return data if isinstance(data, dict) else _error(400, "The body must be a JSON object.")


def _json(data: Any, status: int = 200) -> Any:
    from starlette.responses import Response

    # NaN is no JSON: a browser would refuse the whole answer.
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Response(text.encode("utf-8", "replace"), status_code=status, media_type="application/json")


def _error(status: int, message: str, **more: Any) -> Any:
    return _json({"error": " ".join(message.split()), **more}, status)
