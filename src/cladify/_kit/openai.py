"""One door to servers that speak the OpenAI API: Ollama, llama.cpp, vLLM and the clouds.

``Server.parse("openai:MODEL@URL").post("embeddings", {...})`` returns the JSON object that the server answered. Calls
that may succeed later (429, 5xx, timeouts, closed connections, answers cut short) are repeated with growing pauses; a
``Retry-After`` is obeyed by all threads. Everything else is a :class:`Trouble`, an error of one line. The key comes
from an environment variable and appears in no message.
"""

from __future__ import annotations

import ipaddress
import json
import os
import random
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from queue import LifoQueue
from typing import Any, Self
from urllib.parse import urlsplit

from cladify._kit.params import check_float, check_int
from cladify._kit.text import printable
from cladify.errors import InvalidInput, ServerError

__all__ = ["Server", "Trouble", "is_server_name"]

#: Seconds before the first repetition of a failing call; each next one waits twice as long.
PAUSE = 1.0
#: The longest pause that a server may ask for, in seconds.
_MOST_PAUSE = 600.0
_MOST_BYTES = 1 << 28
_KEY_ENV = "OPENAI_API_KEY"
_OLLAMA = "http://localhost:11434/v1"

Send = Callable[[], dict[str, Any]]


class Trouble(ServerError):
    """A call that failed.

    Attributes
    ----------
    status : int
        What the server answered; 0 where no whole answer came.
    pause : float or None
        The least number of seconds after which to try again; None if that would not help.
    refused : bool
        Whether the server did no work for the call: it said no, or was not reached.
    """

    def __init__(self, message: str, status: int = 0, pause: float | None = None, reached: bool = True) -> None:
        super().__init__(message)
        self.status = status
        self.pause = pause
        self.reached = reached
        self.refused = status >= 300 or not reached


def is_server_name(name: Any) -> bool:
    """Whether a name is of the form that :meth:`Server.parse` takes.

    >>> is_server_name("ollama:llama3.2"), is_server_name("mymodule:function")
    (True, False)
    """
    return isinstance(name, str) and name.startswith(("openai:", "ollama:"))


class Server:
    """A model on a server. Threads may share one.

    Parameters
    ----------
    model, url : str
        The model's name and the address of the API, which usually ends in ``/v1``.
    key_env : str, optional
        The environment variable with the key, which must be set then. By default ``OPENAI_API_KEY`` is used where it
        is set, and is not sent over plain http to another machine.
    retries : int
        How often a call that failed is tried again.
    timeout : float
        Seconds that an answer may take.
    connections : int
        The most calls at the same time.

    Examples
    --------
    >>> server = Server.parse("ollama:llama3.2:3b")
    >>> server.model, server.url
    ('llama3.2:3b', 'http://localhost:11434/v1')
    """

    def __init__(
        self,
        model: str,
        url: str,
        *,
        key_env: str | None = None,
        retries: int = 5,
        timeout: float = 120.0,
        connections: int = 4,
    ) -> None:
        self.model = model
        self.url = url.rstrip("/")
        self.retries = check_int("retries", retries, low=0)
        self.timeout = check_float("timeout", timeout, low=0, open_low=True)
        self.connections = check_int("connections", connections, low=1, high=256)
        self._local = _check_url(url)
        self._key_env = key_env or _KEY_ENV
        self._key = os.environ.get(self._key_env, "")
        if key_env is not None and not self._key:
            raise InvalidInput(f"the environment variable {key_env} has no key in it; set it: export {key_env}=...")
        if key_env is None and not self._local and url.startswith("http:"):
            self._key = ""
        if not (self._key.isascii() and self._key.isprintable()):
            raise InvalidInput(f"the key in the environment variable {self._key_env} has characters that no key has.")
        #: Clients of one connection each, made when they are first used. A call has one for itself until its guard is
        #: done, so that a connection is used again only when the answer before has been kept.
        self._clients: LifoQueue[Any] = LifoQueue()
        for _ in range(self.connections):
            self._clients.put(None)
        self._reached = False
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._not_before = 0.0

    @classmethod
    def parse(cls, name: str, **options: Any) -> Self:
        """The server that ``openai:MODEL@URL`` or ``ollama:MODEL`` names; options as for the class."""
        kind, _, rest = name.partition(":")
        model, at, url = rest.partition("@http")
        if kind == "ollama" and not at:
            at, url = "@http", _OLLAMA.removeprefix("http")
        if kind not in ("openai", "ollama") or not model.strip() or not at:
            raise InvalidInput(
                f"a model on a server is openai:MODEL@URL or ollama:MODEL, got {printable(name)[:80]!r}."
            )
        return cls(model.strip(), f"http{url}", **options)

    def post(self, path: str, payload: dict[str, Any], guard: Callable[[Send], dict[str, Any]] | None = None) -> Any:
        """The answer to a call, an object of JSON.

        Each attempt is made as ``guard(send)``, which may count it, refuse it by an error of its own, or keep the
        answer; by default it is made as it is.
        """
        for attempt in range(self.retries + 1):
            try:
                self._wait()
                return self._attempt(path, payload, guard or _plain)
            except Trouble as error:
                early = not (error.reached or self._reached)  # most likely a wrong address
                if error.pause is None or early or self._closed.is_set():
                    raise
                if attempt == self.retries:
                    message = f"{error} It was tried {attempt + 1} times." if attempt else str(error)
                    raise Trouble(message, error.status) from None
                backoff = PAUSE * 2**attempt * random.uniform(0.75, 1.25)
                if error.status == 429:  # all threads wait
                    with self._lock:
                        self._not_before = max(self._not_before, time.monotonic() + max(backoff, error.pause))
                else:
                    self._closed.wait(max(backoff, error.pause))
        raise AssertionError

    def _attempt(self, path: str, payload: dict[str, Any], guard: Callable[[Send], dict[str, Any]]) -> dict[str, Any]:
        import httpx2 as httpx

        client = self._clients.get()
        try:
            client = client or self._make_client(httpx)
            return guard(lambda: self._send(httpx, client, path, payload))
        finally:
            self._clients.put(client)

    def close(self) -> None:
        """End pauses; no call is sent any more, and those under way are still answered."""
        self._closed.set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        for client in [self._clients.get() for _ in range(self.connections)]:
            if client is not None:
                client.close()

    def _wait(self) -> None:
        while not self._closed.is_set():
            left = self._not_before - time.monotonic()
            if left <= 0:
                return
            self._closed.wait(left)
        raise Trouble("the call was given up.")

    def _send(self, httpx: Any, client: Any, path: str, payload: dict[str, Any]) -> dict[str, Any]:
        body = json.dumps({"model": self.model, **payload}, ensure_ascii=False).encode("utf-8", "replace")
        try:
            status, headers, content = self._exchange(httpx, client, f"{self.url}/{path}", body)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            message = f"cannot reach {self.url} ({_reason(error)}); is the server running, and the address right?"
            raise Trouble(message, pause=0.0, reached=False) from None
        except httpx.TimeoutException:
            raise Trouble(f"{self.url} gave no answer within {self.timeout:g} s.", pause=0.0) from None
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise Trouble(f"{self.url} closed the connection ({_reason(error)}).", pause=0.0) from None
        except httpx.InvalidURL as error:
            raise InvalidInput(f"{self.url} is not an address: {_reason(error)}.") from None
        self._reached = True
        try:
            answer = json.loads(content)
        except (ValueError, RecursionError):
            answer = None
        if status >= 300:
            raise self._refusal(status, headers.get("retry-after"), answer)
        if not isinstance(answer, dict):
            raise Trouble(f"{self.url} gave an answer that is not a JSON object.", pause=0.0)
        return answer

    def _exchange(self, httpx: Any, client: Any, url: str, body: bytes) -> tuple[int, Any, bytes]:
        """Status, headers and content of one exchange, which ends at the time limit however slowly bytes come."""
        end = time.monotonic() + self.timeout
        parts, size = [], 0
        with client.stream("POST", url, content=body) as response:
            for part in response.iter_bytes():
                parts.append(part)
                size += len(part)
                if size > _MOST_BYTES:
                    raise Trouble(f"{self.url} gave an answer of more than {_MOST_BYTES >> 20} MB.")
                if time.monotonic() > end:
                    raise httpx.ReadTimeout("the answer is not complete")
            return response.status_code, response.headers, b"".join(parts)

    def _make_client(self, httpx: Any) -> Any:
        headers = {"Content-Type": "application/json", "User-Agent": "cladify"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        return httpx.Client(
            headers=headers,
            timeout=httpx.Timeout(self.timeout, connect=min(10.0, self.timeout), pool=None),
            limits=httpx.Limits(max_connections=1),
            trust_env=not self._local,  # what is for this machine goes through no proxy
        )

    def _refusal(self, status: int, retry_after: str | None, answer: Any) -> Trouble:
        told, code = _explanation(answer)
        said = f"{status}: {told}" if told else str(status)
        if status in (401, 403):
            key = "no key was sent" if not self._key else f"the key of {self._key_env} was sent"
            return Trouble(
                f"{self.url} refused the call ({said}); {key}: put the right one into an environment variable and "
                "give its name (--key-env NAME).",
                status,
            )
        if status == 404:
            return Trouble(
                f"{self.url} does not know the model {self.model!r}, or the address is wrong ({said}); check both.",
                status,
            )
        again = status in (408, 409, 425, 429) or status >= 500
        pause = _seconds(retry_after) if again and code != "insufficient_quota" else None
        if pause is not None and pause > _MOST_PAUSE:
            return Trouble(f"{self.url} asks to wait {pause:.0f} s ({said}); try again then.", status)
        return Trouble(f"{self.url} refused the call ({said}).", status, pause)


def _plain(send: Send) -> dict[str, Any]:
    return send()


def _check_url(url: str) -> bool:
    """Whether an address is of this machine; raises where it is no address that can be used."""
    shown = printable(url)[:80]
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host or parts.scheme not in ("http", "https") or not url.isprintable() or " " in url:
        raise InvalidInput(f"the address of a server is like http://localhost:11434/v1, got {shown!r}.")
    if parts.username or parts.password:
        raise InvalidInput(
            f"the address of {host} has a key or password in it; put it into an environment variable and give its name "
            "(--key-env NAME)."
        )
    if parts.query or parts.fragment:
        raise InvalidInput(f"the address of a server has no ? or #, got {shown!r}.")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _explanation(answer: Any) -> tuple[str, str]:
    """What a server says about a call that failed, and its code for that."""
    error = answer.get("error", answer) if isinstance(answer, dict) else answer
    if not isinstance(error, dict):
        return (printable(error)[:200] if isinstance(error, str) else ""), ""
    return printable(error.get("message") or error.get("detail"))[:200].rstrip("."), str(error.get("code") or "")


def _seconds(retry_after: str | None) -> float:
    """The pause that a ``Retry-After`` asks for: seconds, or a date."""
    if not retry_after:
        return 0.0
    try:
        pause = float(retry_after)
    except ValueError:
        try:
            when = parsedate_to_datetime(retry_after)
        except ValueError:
            return 0.0
        pause = (when.replace(tzinfo=when.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
    return pause if 0 < pause < 1e9 else 0.0


def _reason(error: Exception) -> str:
    return printable(error)[:120].rstrip(".") or type(error).__name__
