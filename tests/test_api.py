"""Everything a user may import stands in docs/api.md, and nothing else does."""

import importlib.util
import re
from importlib import import_module
from pathlib import Path

import pytest

import cladify

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")


def section(module: str) -> str:
    return PAGE.split(f"\n## {module}\n")[1].split("\n## ")[0]


def listed(module: str) -> set[str]:
    """The names in the list of a section, which ends the paragraph above the descriptions."""
    return set(re.findall(r"`(\w+)`", section(module).split("\n:::")[0].strip().split("\n\n")[-1]))


@pytest.mark.parametrize("module", sorted(set(cladify.__all__) & set(cladify._MODULES)))
def test_exported_members_are_listed(module: str) -> None:
    package = import_module(f"cladify.{module}")
    assert listed(f"cladify.{module}") == set(package.__all__), "run python docs/make_api.py"
    assert not [name for name in package.__all__ if name.startswith("_")]


def test_names_of_cladify_are_listed() -> None:
    assert listed("cladify") == set(cladify.__all__) - cladify._MODULES, "run python docs/make_api.py"
    for name in cladify.__all__:
        assert getattr(cladify, name) is not None
    headings = {heading.removeprefix("cladify.") for heading in re.findall(r"^## (.+)$", PAGE, flags=re.MULTILINE)}
    assert headings == {"cladify", "hyperbolic.torch", *cladify._MODULES}


def test_the_page_is_up_to_date() -> None:
    spec = importlib.util.spec_from_file_location("make_api", ROOT / "docs" / "make_api.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.page() == PAGE, "run python docs/make_api.py"


@pytest.mark.parametrize("name", sorted(set(cladify.__all__) - cladify._MODULES - {"__version__"}))
def test_public_names_have_a_docstring(name: str) -> None:
    assert getattr(cladify, name).__doc__
