"""A type of the native core has one definition: the linker takes two of one name for the same, and picks one's code."""

import re
from collections import defaultdict
from pathlib import Path

CORE = Path(__file__).parents[2] / "core"


def definitions(text: str) -> list[str]:
    """Full names of the types that are defined outside of other types and of unnamed namespaces."""
    names, spaces = [], []
    for line in text.splitlines():
        if opened := re.match(r"namespace ?([\w:]*) ?\{", line):
            spaces.append(opened[1])
        elif line.startswith("}  // namespace"):
            spaces.pop()
        elif (defined := re.match(r"(?:struct|class|enum class) (\w+)[^;<]*\{", line)) and "" not in spaces:
            names.append("::".join([*spaces, defined[1]]))
    return names


def test_no_type_has_two_definitions() -> None:
    places = defaultdict(list)
    for file in sorted([*CORE.rglob("*.hpp"), *CORE.rglob("*.cpp")]):
        for name in definitions(file.read_text()):
            places[name].append(str(file.relative_to(CORE)))
    assert len(places) > 100
    assert {name: files for name, files in places.items() if len(files) > 1} == {}
