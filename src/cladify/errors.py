"""Everything cladify raises on purpose.

::

    CladifyError
     ├── InvalidInput      (ValueError)    data or a parameter that cannot be used as it is
     │    ├── InvalidTree                  arrays that break a rule of Tree
     │    ├── InvalidType  (TypeError)     data that are not numbers
     │    └── FileError                    a file that cannot be read as what it should be
     │         └── Stale                   a file that somebody else has changed meanwhile
     ├── NotEnoughMemory   (MemoryError)   the work would not fit; raised before it starts
     ├── ServerError                       a model's server that cannot be reached or refuses a call
     └── MissingExtra      (ImportError)   an optional part is not installed
    CladifyWarning          (UserWarning)   the result is not quite what was asked for; says what it is
     └── Deprecation        (FutureWarning) something that a later version no longer has; says which, and what to use

A message says what was expected, what came, where, and the way out.
"""

from __future__ import annotations

__all__ = [
    "CladifyError",
    "CladifyWarning",
    "Deprecation",
    "FileError",
    "InvalidInput",
    "InvalidTree",
    "InvalidType",
    "MissingExtra",
    "NotEnoughMemory",
    "ServerError",
    "Stale",
]


class CladifyError(Exception):
    """Root of all errors that cladify raises on purpose."""


class InvalidInput(CladifyError, ValueError):
    """Data or a parameter that cannot be used as it is."""


class InvalidTree(InvalidInput):
    """Arrays that break one of the numbered rules of :class:`cladify.Tree`."""


class InvalidType(InvalidInput, TypeError):
    """Data of a type that cannot be read as numbers."""


class FileError(InvalidInput):
    """A file that cannot be read as what it should be, or cannot be written."""


class Stale(FileError):
    """A file that another process or object has changed since it was read; nothing was written."""


class NotEnoughMemory(CladifyError, MemoryError):
    """The work needs more memory than there is; raised before the work starts."""


class ServerError(CladifyError):
    """A server of a model that cannot be reached, refuses a call, or gives no answer that can be used."""


class MissingExtra(CladifyError, ImportError):
    """A part is not installed; the message has the install line, with the extra that brings it if it is optional."""

    def __init__(self, what: str, extra: str = "") -> None:
        part, name = ("an optional part", f"cladify[{extra}]") if extra else ("a part that is missing here", "cladify")
        super().__init__(f"{what} needs {part}. Install it with: pip install '{name}'")


class CladifyWarning(UserWarning):
    """The result is not quite what was asked for; the message says what it is."""


class Deprecation(CladifyWarning, FutureWarning):
    """Something that a later version no longer has; the message says which version, and what to use instead."""
