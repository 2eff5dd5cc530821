"""The native core is laid out like the package, and a source file has its compile options set in one place."""

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
CORE = ROOT / "core"


def test_folders_have_the_names_of_the_packages_they_serve() -> None:
    packages = {path.name for path in (ROOT / "src" / "cladify").iterdir() if path.is_dir()}
    assert {path.relative_to(CORE).parts[0] for path in CORE.rglob("*.hpp")} - packages == {"common", "mutable"}


def test_a_folder_has_one_bindings_file_and_headers_know_nothing_of_python() -> None:
    folders = {path.parent for path in CORE.rglob("*.hpp")}
    assert {path.relative_to(CORE) for path in CORE.rglob("*.cpp")} == {
        (folder / "bind.cpp").relative_to(CORE) for folder in folders
    }
    with_python = [path for path in CORE.rglob("*.hpp") if re.search(r"nanobind|Python\.h|bind\.hpp", path.read_text())]
    assert with_python == [CORE / "common" / "bind.hpp"]


def test_options_of_a_source_file_are_set_once() -> None:
    """The second setting replaces the first: -fno-math-errno was lost that way."""
    text = (ROOT / "CMakeLists.txt").read_text()
    settings = re.findall(
        r"set_source_files_properties\(\s*\"?(?:\$\{\w+\}/)?([\w/.]+)\"?\s+PROPERTIES\s+([^)]*)\)", text
    )
    assert text.count("set_source_files_properties") == len(settings) > 0
    assert max(Counter(file for file, _ in settings).values()) == 1
    kernel = dict(settings)["core/hyperbolic/bind.cpp"]
    assert "-fno-math-errno" in kernel
    assert "-fno-trapping-math" in kernel
