"""Write `api.md` from the packages: python docs/make_api.py"""

import ast
from pathlib import Path

import cladify

PAGE = Path(__file__).with_name("api.md")
#: In the order in which users meet them; `hyperbolic.torch` is imported by its own name, as it needs PyTorch.
MODULES = [
    "taxonomy",
    "text",
    "tree",
    "explore",
    "methods",
    "agglomerate",
    "divide",
    "graphtree",
    "graph",
    "hyperbolic",
    "hyperbolic.torch",
    "overlap",
    "online",
    "embed",
    "entities",
    "flat",
    "objectives",
    "refinement",
    "metrics",
    "plot",
    "maps",
    "neighbors",
    "data",
    "similarity",
    "io",
    "datasets",
    "distributed",
    "errors",
]


def source(module: str) -> ast.Module:
    path = Path(cladify.__file__).parent / module.replace(".", "/")
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(file.read_text(encoding="utf-8"))


def constants(module: str) -> dict[str, ast.expr]:
    """The names that a module assigns at its top level. Read rather than imported: extras may be missing."""
    found = {}
    for node in source(module).body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            found[ast.unparse(target)] = node.value
    return found


def names_of(module: str) -> list[str]:
    return list(ast.literal_eval(constants(module)["__all__"]))


def address(module: str, name: str) -> str | None:
    """Where mkdocstrings finds a name: in its own module where the package loads it on first use."""
    for value in constants(module).values():
        if module in {"embed", "distributed"} and isinstance(value, ast.Dict):
            where = ast.literal_eval(value)[name]
            return f"{where}.{name}" if where.startswith("cladify.") else None
    return f"cladify.{module}.{name}"


def summary(module: str) -> str:
    """The first sentence of a module's docstring."""
    text = ast.get_docstring(source(module)) or ""
    return " ".join(text.split("\n\n")[0].split()).replace(":mod:", "").replace(":class:", "")


def page() -> str:
    """The page as it should be."""
    lines = [
        "# Reference",
        "",
        "Everything that may be imported, written from the packages by `python docs/make_api.py`.",
        "Names with an underscore are private and may change.",
        "",
        "## cladify",
        "",
        "The names that most programs need, described below in the packages that they come from.",
        "",
        ", ".join(f"`{name}`" for name in sorted(cladify.__all__) if name not in MODULES) + ".",
        "",
        "::: cladify._fit.fit",
    ]
    seen: set[str] = set()
    for module in MODULES:
        names = names_of(module)
        lines += [
            "",
            f"## cladify.{module}",
            "",
            summary(module),
            "",
            ", ".join(f"`{name}`" for name in names) + ".",
            "",
        ]
        for name in names:
            where = address(module, name)
            if where and (module == "hyperbolic.torch" or name not in seen):
                lines.append(f"::: {where}")
                if name == "Taxonomy":
                    lines += ["    options:", "      inherited_members: true"]
            seen.add(name)
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
