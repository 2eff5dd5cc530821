"""The native core, at the best instruction-set level this processor runs.

The same sources are built once for plain x86-64 (or any other processor) and once for x86-64-v3 (AVX2 and FMA); which
one to use is decided here, so that one wheel serves every machine. Level v4 is v3 with int8 products (AVX-512 VNNI) to
screen pairs, which are part of both builds. ``CLADIFY_ISA=base`` or ``v3`` forces a lower level. An installation that
stays on its machine may have only one of them (``CLADIFY_ONE_LEVEL``).
"""

import os
from contextlib import suppress
from importlib import import_module
from typing import Any

_wanted = os.environ.get("CLADIFY_ISA", "v4")
try:
    _native: Any = import_module("cladify._core_base")
except ModuleNotFoundError:
    _native = import_module("cladify._core_v3")
if _native.supports_v3() and _wanted != "base":
    with suppress(ModuleNotFoundError):
        _native = import_module("cladify._core_v3")

ISA: str = "v4" if _wanted == "v4" and _native.can_screen() else _native.__name__.rsplit("_", 1)[-1]


def __getattr__(name: str) -> Any:
    return getattr(_native, name)
