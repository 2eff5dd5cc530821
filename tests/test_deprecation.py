"""What is deprecated warns for one minor version, and goes when it was promised."""

import ast
import warnings
from pathlib import Path

import pytest

import cladify
from cladify._kit.deprecation import deprecated, removal, renamed
from cladify.errors import Deprecation, InvalidInput


@deprecated(since="0.4", instead="new(x)")
def old(x):
    """What it does."""
    return 2 * x


@renamed(since="0.9", k="n_clusters", eps="epsilon")
def cut(x, *, n_clusters=1, epsilon=0.1):
    return x, n_clusters, epsilon


def test_a_deprecated_function_works_and_says_what_to_use():
    with pytest.warns(
        Deprecation, match=r"^old is deprecated since cladify 0\.4 and goes in 0\.5; use new\(x\)\.$"
    ) as told:
        assert old(3) == 6
    assert told[0].filename == __file__, "the line of the caller is shown"
    assert old.__doc__ == "What it does." and old.__name__ == "old"


def test_an_old_keyword_is_the_new_one():
    with pytest.warns(
        Deprecation, match=r"^k= of cut is deprecated since cladify 0\.9 and goes in 0\.10; use n_clusters=\.$"
    ):
        assert cut("x", k=5) == ("x", 5, 0.1)
    with pytest.warns(Deprecation) as told:
        assert cut("x", k=5, eps=0.2) == ("x", 5, 0.2)
    assert len(told) == 2
    with pytest.raises(InvalidInput, match=r"got k= and n_clusters=, which are the same; give n_clusters="):
        cut("x", k=5, n_clusters=6)


def test_new_code_is_not_warned():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cut("x", n_clusters=2) == ("x", 2, 0.1)


def test_users_see_it_without_asking():
    """Python hides a DeprecationWarning that is not raised by ``__main__``; a FutureWarning it shows."""
    assert issubclass(Deprecation, FutureWarning) and not issubclass(Deprecation, DeprecationWarning)


def overdue(source: str, version: str) -> list[str]:
    """Versions since which something is deprecated that should be gone in ``version``."""
    now = tuple(map(int, version.split(".")[:2]))
    if "since=" not in source:
        return []
    found = [
        ast.literal_eval(keyword.value)
        for call in ast.walk(ast.parse(source))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in ("deprecated", "renamed")
        for keyword in call.keywords
        if keyword.arg == "since"
    ]
    return [since for since in found if tuple(map(int, removal(since).split("."))) <= now]


def test_nothing_outlives_its_promise():
    late = {
        path.name: since
        for path in Path(cladify.__file__).parent.rglob("*.py")
        if (since := overdue(path.read_text(encoding="utf-8"), cladify.__version__))
    }
    assert not late, f"remove what was deprecated since {late}"


def test_what_is_overdue_is_found():
    source = '@deprecated(since="0.4", instead="b()")\ndef a(): ...\n@renamed(since="0.5", k="n")\ndef c(n): ...'
    assert overdue(source, "0.4.7") == [] and overdue(source, "0.5.0") == ["0.4"]
    assert overdue(source, "0.6.0") == overdue(source, "1.0.0") == ["0.4", "0.5"]
