"""Every public name shows how it is used: by an example in its docstring, or on a page that a test runs."""

import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

import cladify
from cladify.errors import MissingExtra

DOCS = Path(__file__).resolve().parents[1] / "docs"
CODE = re.compile(r"^```python\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
WORDS = {
    word
    for page in DOCS.rglob("*.md")
    for code in CODE.findall(page.read_text(encoding="utf-8"))
    for word in re.findall(r"\w+", code)
}


def public() -> dict[str, object]:
    """Whatever may be imported and called, by its name."""
    found = {}
    for module in sorted(cladify._MODULES):
        package = import_module(f"cladify.{module}")
        for name in package.__all__:
            try:
                thing = getattr(package, name)
            except MissingExtra:
                continue
            if callable(thing):
                found[f"{module}.{name}"] = thing
    return found


PUBLIC = public()


def parts(thing: object) -> list[object]:
    """Itself; of a class, its public methods and properties, too."""
    if not inspect.isclass(thing):
        return [thing]
    return [thing, *(inspect.getattr_static(thing, key) for key in dir(thing) if not key.startswith("_"))]


def results() -> str:
    """The types that calls give and take, and those of the fields of results."""
    functions = [
        getattr(part, "fget", getattr(part, "__func__", part)) for thing in PUBLIC.values() for part in parts(thing)
    ]
    return "\n".join(str(kind) for each in functions for kind in getattr(each, "__annotations__", {}).values())


RESULTS = results()


def is_shown(name: str) -> bool:
    thing = PUBLIC[name]
    short = name.rsplit(".", 1)[-1]
    if inspect.isclass(thing) and issubclass(thing, Exception):
        return True  # their tree is drawn in cladify.errors
    if any(">>>" in (inspect.getdoc(part) or "") for part in parts(thing)) or short in WORDS:
        return True
    return inspect.isclass(thing) and re.search(rf"\b{short}\b", RESULTS) is not None  # nobody makes it by hand


def test_every_public_name_has_an_example():
    missing = [name for name in PUBLIC if not is_shown(name)]
    assert not missing, f"show how these are used, in their docstring or in docs/howto.md: {missing}"


def test_a_name_without_an_example_is_found(monkeypatch):
    def nowhere_shown():
        """It says what it does, and no more."""

    monkeypatch.setitem(PUBLIC, "flat.nowhere_shown", nowhere_shown)
    with pytest.raises(AssertionError, match=r"flat\.nowhere_shown"):
        test_every_public_name_has_an_example()
