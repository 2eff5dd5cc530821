"""A server on this machine that speaks the OpenAI API, and fails as real ones do."""

import itertools
import json
import socket
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

#: Seconds that the fault "slow" takes; clients of the tests have less patience.
SLOW = 1.0


@dataclass
class Call:
    """A request as the server saw it."""

    path: str
    payload: dict[str, Any]
    headers: dict[str, str]
    connection: int
    fault: str | None
    answered: bool = False
    acknowledged: bool = False  # the same connection has sent its next request

    @property
    def content(self) -> str:
        return self.payload["messages"][-1]["content"]


class _Quiet(ThreadingHTTPServer):
    def handle_error(self, *_: Any) -> None:
        """A client that was killed has closed its connection."""


@dataclass
class MockServer:
    """Answers with ``answer(payload)``: an object, the text of a chat message, or a status and a message.

    ``faults`` are used up call by call.

    Faults: "429", "429 SECONDS" (with Retry-After), any other status, "half" (a body cut short), "invalid" (not JSON),
    "slow", "close" (no answer at all), and "text: ..." (that text as the message).
    """

    answer: Callable[[dict[str, Any]], Any]
    faults: Iterable[str | None] = ()
    delay: float = 0.0
    before: Callable[[int], None] = lambda number: None  # called with the number of the request
    calls: list[Call] = field(default_factory=list)

    def __enter__(self) -> "MockServer":
        self._faults = itertools.chain(self.faults, itertools.repeat(None))
        self._lock = threading.Lock()
        self._last: dict[int, Call] = {}
        self.at_once = self.most_at_once = 0
        self._http = _Quiet(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}/v1"

    def name(self, model: str = "test") -> str:
        return f"openai:{model}@{self.url}"

    def _handler(mock) -> type[BaseHTTPRequestHandler]:
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def log_message(self, *_: Any) -> None:
                pass

            def do_POST(self) -> None:
                payload = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with mock._lock:
                    port = self.client_address[1]
                    if port in mock._last:
                        mock._last[port].acknowledged = mock._last[port].answered
                    call = Call(self.path, payload, dict(self.headers), port, next(mock._faults))
                    mock.calls.append(call)
                    mock._last[port] = call
                    mock.at_once += 1
                    mock.most_at_once = max(mock.at_once, mock.most_at_once)
                    mock.before(len(mock.calls))
                try:
                    time.sleep(mock.delay)
                    self._answer(call)
                except OSError:
                    self.close_connection = True
                finally:
                    with mock._lock:
                        mock.at_once -= 1

            def _answer(self, call: Call) -> None:
                fault = call.fault
                if fault == "close":
                    self.connection.shutdown(socket.SHUT_RDWR)
                    self.close_connection = True
                elif fault == "invalid":
                    self._send(200, b'{"choices": [{"mess')
                elif fault is not None and fault.split()[0].isdigit():
                    status, *pause = fault.split()
                    self._refuse(int(status), f"mock {status}", {"Retry-After": pause[0]} if pause else {})
                else:
                    if fault == "slow":
                        time.sleep(SLOW)
                    told = fault.removeprefix("text: ") if fault and fault.startswith("text: ") else None
                    answer = mock.answer(call.payload) if told is None else told
                    if isinstance(answer, tuple):
                        self._refuse(*answer)
                        return
                    body = json.dumps(chat(call.payload, answer) if isinstance(answer, str) else answer).encode()
                    self._send(200, body, cut=fault == "half")
                    call.answered = fault != "half"

            def _refuse(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
                self._send(status, json.dumps({"error": {"message": message}}).encode(), headers)

            def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None, cut: bool = False) -> None:
                self.send_response(status)
                for name, value in (headers or {}).items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body[: len(body) // 2] if cut else body)
                self.wfile.flush()
                if cut:
                    self.connection.shutdown(socket.SHUT_RDWR)
                    self.close_connection = True

        return Handler


def chat(payload: dict[str, Any], text: str) -> dict[str, Any]:
    """A chat completion with what it used, a token for every four bytes."""
    prompt = sum(len(message["content"].encode()) for message in payload["messages"]) // 4
    used = {"prompt_tokens": prompt, "completion_tokens": len(text.encode()) // 4 + 1}
    return {
        "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {**used, "total_tokens": sum(used.values())},
    }
