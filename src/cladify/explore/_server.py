"""The local server of the explorer: static files, and questions answered by a :class:`~cladify.explore._view.View`.

It listens on the loopback interface. A page of another site cannot read it, because the ``Host`` of every request is
checked (DNS rebinding) and no other origin is allowed; it cannot write, because writing takes the token that only the
printed address holds. All texts go out as JSON and become text nodes in the page, never markup.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from importlib.resources import files
from threading import Lock
from typing import TYPE_CHECKING, Any

from cladify.errors import CladifyError, InvalidInput, MissingExtra

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

    from cladify.explore._document import Document

__all__ = ["POLICY", "make_app", "new_token"]

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


def new_token() -> str:
    """The secret that lets a page write."""
    return secrets.token_urlsafe(18)


def make_app(document: Document, *, token: str, hosts: tuple[str, ...] = (), frame: bool = False) -> Starlette:
    """The application that serves one document.

    Parameters
    ----------
    document : Document
    token : str
        What a request that writes must show.
    hosts : tuple of str
        Names under which the server may be asked besides those of the loopback interface.
    frame : bool
        Whether pages of this machine (a notebook) may show it in a frame.
    """
    try:
        from starlette.applications import Starlette
        from starlette.routing import Mount, Route
    except ImportError:
        raise MissingExtra("The explorer", "explore") from None

    names = {"127.0.0.1", "localhost", "[::1]", *hosts}
    policy = POLICY.format(ancestors="http://127.0.0.1:* http://localhost:*" if frame else "'none'")
    pages = _static_files()

    async def static(request: Request) -> Response:
        from starlette.responses import Response

        name = request.path_params.get("name") or "index.html"
        if name not in pages:
            return _error(404, f"There is no {name}.")
        content, kind = pages[name]
        return Response(content, media_type=kind)

    def question(answer: Callable[[Mapping[str, str]], Any]) -> Callable[..., Any]:
        from starlette.concurrency import run_in_threadpool

        async def endpoint(request: Request) -> Response:
            from starlette.responses import Response

            try:
                found = await run_in_threadpool(answer, request.query_params)
            except CladifyError as error:
                return _error(400, str(error))
            return found if isinstance(found, Response) else _json(found)

        return endpoint

    async def edit(request: Request) -> Response:
        from starlette.concurrency import run_in_threadpool

        if not secrets.compare_digest(request.headers.get("x-cladify-token", ""), token):
            return _error(403, "Editing needs the token of the address that cladify explore printed.")
        body = await request.body()
        try:
            if len(body) > _MOST_BODY:
                raise InvalidInput("An edit is at most 100 000 bytes.")
            return _json(await run_in_threadpool(document.edit, _parse(body)))
        except CladifyError as error:
            return _error(400, str(error))

    routes: list[Any] = [Route(f"/api/{name}", question(answer)) for name, answer in _questions(document).items()]
    if document.below is not None:
        routes.append(Mount("/below/{group:int}", _Below(document.below, token=token, hosts=hosts, frame=frame)))
    app: Any = Starlette(
        routes=[
            *routes,
            Route("/api/edit", edit, methods=["POST"]),
            Route("/", static),
            Route("/{name}", static),
        ]
    )
    app.add_middleware(_Guard, names=names, headers={**_HEADERS, "Content-Security-Policy": policy})
    return app


class _Below:
    """The same pages for what is below a group of the top: made when first asked for.

    The last few are kept, and all that were edited: their edits are nowhere else.
    """

    def __init__(self, below: Callable[[int], Document], **options: Any) -> None:
        self.below, self.options = below, options
        self.opened: dict[int, tuple[Document, Any]] = {}  # by group, the oldest first
        self.lock = Lock()

    def app(self, group: int) -> Any:
        with self.lock:
            if group not in self.opened:
                document = self.below(group)
                plain = [other for other, (known, _) in self.opened.items() if not known.taxonomy.edits.done]
                for other in plain[: max(0, len(plain) + 1 - _KEPT_BELOW)]:
                    del self.opened[other]
                self.opened[group] = document, make_app(document, **self.options)
            return self.opened[group][1]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        from starlette.concurrency import run_in_threadpool

        try:
            app = await run_in_threadpool(self.app, scope["path_params"]["group"])
        except CladifyError as error:
            app = _error(404, str(error))
        await app(scope, receive, send)


class _Guard:
    """Checks the name in the request, and adds the headers of safety to every answer."""

    def __init__(self, app: Any, names: set[str], headers: dict[str, str]) -> None:
        self.app = app
        self.names = names
        self.headers = [(key.lower().encode(), value.encode()) for key, value in headers.items()]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = dict(scope["headers"])
        host = given.get(b"host", b"").decode("latin-1")
        name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
        origin = given.get(b"origin", b"").decode("latin-1")

        async def guarded(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *self.headers]
            await send(message)

        if name not in self.names:
            await _error(421, "This server answers only to its own address.")(scope, receive, guarded)
        elif origin and origin not in (f"http://{host}", "null") and scope["method"] != "GET":
            await _error(403, "Another site may not write here.")(scope, receive, guarded)
        else:
            await self.app(scope, receive, guarded)


def _questions(document: Document) -> dict[str, Callable[[Mapping[str, str]], Any]]:
    """The page's questions by name; each takes the values of the address."""

    def view() -> Any:
        return document.view

    def node(values: Mapping[str, str]) -> int:
        return document.view.node(_whole(values, "node"))

    def children(values: Mapping[str, str]) -> Any:
        keys = [_number(part, "ids", int) for part in values.get("ids", "").split(",")[:100] if part]
        return {"children": view().families([view().node(key) for key in keys])}

    def cut(values: Mapping[str, str]) -> Any:
        return view().cut(**cut_of(values))

    def items(values: Mapping[str, str]) -> Any:
        offset, limit = _whole(values, "offset", default=0), _whole(values, "limit", default=50)
        return view().items_of(node(values), offset, limit, values.get("sort", "tree"))

    def path(values: Mapping[str, str]) -> Any:
        key = _whole(values, "node")  # an edit may have taken the node away: the page then goes elsewhere
        return {"path": view().path(view().node(key)) if view().has(key) else []}

    def points(values: Mapping[str, str]) -> Any:
        left, top, side = (_number(values.get(name, default), name, float) for name, default in _WINDOW.items())
        if not 0 < side <= 100:
            raise InvalidInput(f"side must be in (0, 100], got {side}.")
        return view().points((left, top, side))

    return {
        "meta": lambda values: document.meta(),
        "children": children,
        "card": lambda values: view().card(node(values)),
        "path": path,
        "items": items,
        "search": lambda values: document.search(values.get("q", "")[:200]),
        "cut": cut,
        "like": lambda values: view().like(_whole(values, "item", high=view().tree.n_leaves - 1)),
        "points": points,
        "compare": lambda values: document.compare(node(values)),
        "image": lambda values: _image(document, _whole(values, "item", high=view().tree.n_leaves - 1)),
        "export": lambda values: _download(document, values),
    }


def cut_of(values: Mapping[str, str]) -> dict[str, Any]:
    """The cut that an address asks for."""
    if "level" in values:
        return {"level": _whole(values, "level")}
    if "height" in values:
        return {"height": _number(values["height"], "height", float)}
    return {"n": max(1, _whole(values, "n", default=1))}


def _image(document: Document, row: int) -> Any:
    from starlette.responses import Response

    content, kind = document.image(row)
    return Response(content, media_type=kind)


def _download(document: Document, values: Mapping[str, str]) -> Any:
    from starlette.responses import Response

    from cladify.explore._export import export

    content, kind, name = export(document, values.get("what", ""), values.get("format", ""), values, cut_of(values))
    return Response(content, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'})


def _static_files() -> dict[str, tuple[bytes, str]]:
    """The page's own files, read once: no path of a request ever reaches the file system."""
    found = {}
    for file in files("cladify.explore").joinpath("static").iterdir():
        ending = "." + file.name.rsplit(".", 1)[-1]
        if ending in _TYPES:
            found[file.name] = (file.read_bytes(), _TYPES[ending])
    return found


def _parse(body: bytes) -> dict[str, Any]:
    import json

    try:
        action = json.loads(body)
    except (ValueError, RecursionError):
        raise InvalidInput("An edit is a JSON object.") from None
    if not isinstance(action, dict):
        raise InvalidInput("An edit is a JSON object.")
    return action


def _whole(values: Mapping[str, str], name: str, *, default: int | None = None, high: int | None = None) -> int:
    if name not in values:
        if default is None:
            raise InvalidInput(f"The address lacks {name}=.")
        return default
    value = _number(values[name], name, int)
    if value < 0 or (high is not None and value > high):
        raise InvalidInput(
            f"{name} must be in [0, {high}], got {value}." if high is not None else f"{name} is below 0."
        )
    return value


def _number(text: str, name: str, kind: Any) -> Any:
    import math

    try:
        value = kind(text)
        if not math.isfinite(value):
            raise ValueError
        return value
    except (ValueError, OverflowError):
        raise InvalidInput(f"{name} must be a number, got {text[:40]!r}.") from None


def _json(data: Any, status: int = 200) -> Any:
    import json

    from starlette.responses import Response

    # NaN is no JSON: a browser would refuse the whole answer.
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Response(text.encode("utf-8", "replace"), status_code=status, media_type="application/json")


def _error(status: int, message: str) -> Any:
    return _json({"error": " ".join(message.split())}, status)
