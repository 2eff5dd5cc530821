"""A budget of calls and tokens that is never passed: what a call may cost is set aside before it is sent."""

from __future__ import annotations

import threading

from cladify._kit.params import check_int
from cladify.errors import CladifyError

__all__ = ["Budget", "Spent"]


class Spent(CladifyError):
    """The budget has no room for another call."""


class Budget:
    """Calls and tokens spent, and set aside for calls under way. Threads share one."""

    def __init__(self, max_calls: int | None = None, max_tokens: int | None = None) -> None:
        self.max_calls = None if max_calls is None else check_int("max_calls", max_calls, low=0)
        self.max_tokens = None if max_tokens is None else check_int("max_tokens", max_tokens, low=0)
        self.calls = 0
        self.tokens = 0
        self._held = 0
        self._changed = threading.Condition()

    def reserve(self, most: int) -> None:
        """Set aside one call and the most tokens it may take; waits for calls under way where that may free enough."""
        with self._changed:
            while self.max_tokens is not None and self.tokens + self._held + most > self.max_tokens and self._held:
                self._changed.wait()
            if self.max_calls is not None and self.calls >= self.max_calls:
                raise Spent(f"the budget of {self.max_calls} calls is used up")
            if self.max_tokens is not None and self.tokens + most > self.max_tokens:
                raise Spent(f"the rest of the budget of {self.max_tokens} tokens is too small for another call")
            self.calls += 1
            self._held += most

    def settle(self, most: int, used: int) -> None:
        """Count what a call has used in place of what was set aside for it."""
        with self._changed:
            self._held -= most
            self.tokens += used
            self._changed.notify_all()
