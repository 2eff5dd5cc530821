"""Where names live: private ones stay in their package, public modules are exported, imports stand at the top, and the
tests of a module are found by its name.
"""

import ast
from importlib import import_module
from pathlib import Path

import pytest

import cladify

SOURCE = Path(cladify.__file__).parent
FILES = {path.relative_to(SOURCE): ast.parse(path.read_text()) for path in sorted(SOURCE.rglob("*.py"))}
PRIVATE = ("_kit", "cli")  # packages whose modules are all private
#: Modules that are exported elsewhere, or public under their own name; and those that are not yet in order.
ELSEWHERE = {"data/similarity.py": "cladify.similarity", "hyperbolic/torch.py": "cladify.hyperbolic.torch"}
NOT_YET = {"distributed/graph_parts.py", "distributed/tree_folder.py"}
#: Imports inside functions, and why; beside these only optional extras and `cli`, whose commands start quickly.
LATE = {
    "_costs.py": 1,  # `import cladify` needs no NumPy
    "_fit.py": 2,  # Dask, an optional extra
    "embed/_named.py": 1,  # PyTorch, an optional extra
    "methods.py": 2,  # `import cladify` needs no NumPy
    "papers/_chami.py": 1,  # PyTorch, an optional extra
}
#: Folders whose imports inside functions are not yet gone, and how many there are at most.
TO_DO = {"distributed": 6, "explore": 9, "io": 1, "online": 7, "plot": 11, "taxonomy": 25}


def package(path: Path) -> str:
    return path.parts[0] if len(path.parts) > 1 else ""


def imported(node: ast.AST) -> list[tuple[str, str]]:
    """Module and name of everything of cladify that a statement imports."""
    if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "cladify":
        return [(node.module, alias.name) for alias in node.names]
    if isinstance(node, ast.Import):
        return [(alias.name, "") for alias in node.names if alias.name.split(".")[0] == "cladify"]
    return []


def test_private_names_stay_in_their_package():
    found = []
    for path, tree in FILES.items():
        for module, name in (pair for node in ast.walk(tree) for pair in imported(node)):
            other = [*module.split("."), ""][1]
            is_module = (SOURCE.parent / module.replace(".", "/") / f"{name}.py").exists()
            if name.startswith("_") and not name.startswith("__") and not is_module and other != package(path):
                found.append(f"{path}: from {module} import {name}")
    assert not found, found


def test_public_modules_are_exported_by_their_package():
    found = []
    for path in FILES:
        name = path.as_posix()
        if len(path.parts) != 2 or path.stem.startswith("_") or path.parts[0] in PRIVATE or name in NOT_YET:
            continue
        try:
            part = import_module(f"cladify.{path.parts[0]}.{path.stem}")
        except cladify.errors.MissingExtra:
            continue
        whole = import_module(ELSEWHERE.get(name, f"cladify.{path.parts[0]}"))
        missing = sorted(set(part.__all__) - set(whole.__all__))
        if missing:
            found.append(f"{path}: {', '.join(missing)}")
    assert not found, found


def late_imports(tree: ast.AST) -> int:
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    inner = {id(node): node for function in functions for node in ast.walk(function)}
    return sum(bool(imported(node)) for node in inner.values())


@pytest.mark.parametrize("folder", sorted({package(path) for path in FILES} - {"cli"}))
def test_imports_stand_at_the_top(folder):
    counts = {path: late_imports(tree) for path, tree in FILES.items() if package(path) == folder}
    late = {path.as_posix(): count for path, count in counts.items() if count > LATE.get(path.as_posix(), 0)}
    assert sum(late.values()) <= TO_DO.get(folder, 0), late


TESTS = Path(__file__).parent
#: Test folders beside those of the packages.
OTHER_FOLDERS = {"benchmarks", "core"}
#: Test files that are not about one module: what they are about stands in their first line.
THEMES = {
    "agglomerate": {"theory"},
    "cli": {"dask", "fit", "look", "main", "outputs", "overlap", "safety", "wrong_uses"},
    "distributed": {"damage", "lost"},
    "divide": {"box", "degenerate", "interrupt", "printed"},
    "embed": {"elbo", "guide", "training"},
    "explore": {"browser", "browser_edits", "browser_kinds", "browser_map", "guards", "jupyterlab", "versions"},
    "io": {"fuzz", "hostile"},
    "metrics": {"labels", "large"},
    "neighbors": {"conformance"},
    "online": {"attacks", "changes", "histories", "kills", "mutable", "removal", "printed"},
    "plot": {"pictures"},
    "refinement": {"sources"},
    "taxonomy": {"numbered", "safety", "stateful"},
    "tree": {"large"},
}


def modules(folder: str) -> set[str]:
    """Names of the modules and packages in a package, without the underscore."""
    return {path.stem.lstrip("_") for path in (SOURCE / folder).rglob("*") if path.suffix == ".py" or path.is_dir()}


@pytest.mark.parametrize(
    "folder", sorted({path.parent.name for path in TESTS.glob("*/test_*.py")} - OTHER_FOLDERS), ids=str
)
def test_tests_are_found_by_the_name_of_their_module(folder):
    assert (SOURCE / folder / "__init__.py").exists(), f"tests/{folder} has no package of that name"
    names = {path.stem.removeprefix("test_") for path in (TESTS / folder).glob("test_*.py")}
    themes = THEMES.get(folder, set())
    assert names - modules(folder) == themes, "name the file after its module, or state its theme in THEMES"
