"""Who may edit: a token in a header or in a cookie, which a page gets for a code that works once.

The token itself is never part of an address, so that it is in no history, no log and on no command line. An address
holds a code. The page exchanges the code for a cookie that scripts cannot read (``HttpOnly``) and that requests of
other sites do not carry (``SameSite=Strict``), and removes the code from the address bar. A page in a frame of a
notebook, where browsers keep no such cookie, gets the token itself and keeps it in memory.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import deque
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.requests import Request

__all__ = ["Access"]

_MOST_CODES = 64  # that wait to be used; older ones stop working


class Access:
    """The token of one server, and its codes.

    Parameters
    ----------
    token : str, optional
        By default a random one.
    """

    def __init__(self, token: str | None = None) -> None:
        self.token = secrets.token_urlsafe(18) if token is None else token
        # Browsers share cookies between the ports of a host: each server has a cookie of its own.
        self.cookie = "cladify-" + hashlib.sha256(self.token.encode()).hexdigest()[:12]
        self._codes: deque[str] = deque(maxlen=_MOST_CODES)
        self._lock = Lock()

    def new_code(self) -> str:
        """A code that can be exchanged for the token once."""
        code = secrets.token_urlsafe(18)
        with self._lock:
            self._codes.append(code)
        return code

    def take(self, code: object) -> bool:
        """Use a code up; False where it is unknown or was used before."""
        with self._lock:
            known = isinstance(code, str) and code in self._codes
            if known:
                self._codes.remove(str(code))
            return known

    def may_edit(self, request: Request) -> bool:
        """Whether a request shows the token."""
        given = request.headers.get("x-cladify-token") or request.cookies.get(self.cookie, "")
        return secrets.compare_digest(given.encode("utf-8", "replace"), self.token.encode())
