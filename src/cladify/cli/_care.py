"""``cladify check``, ``backup`` and ``rescue``: files and folders that must last."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from cladify._kit.text import escape_controls
from cladify.cli._common import AsJson, print_json

Kept = Annotated[
    Path,
    typer.Argument(
        metavar="PATH", help="A .taxonomy, a tree, a .dag, a graph, a model, or the folder of a tree or an online tree."
    ),
]


def check(path: Kept, as_json: AsJson = False) -> None:
    """Say what a file or folder is, and whether it is whole: kind, version, counts, last change, problems.

    The exit code is 1 where there are problems. Example: [bold]cladify check topics/[/bold]
    """
    found = {"file": str(path), **_check(path)}
    if as_json:
        print_json(found)
    else:
        problems = found.pop("problems")
        for key, value in found.items():
            shown = ", ".join(f"{k} {v}" for k, v in value.items()) if isinstance(value, dict) else value
            print(escape_controls(f"{key.replace('_', ' '):12} {shown}"))
        print(escape_controls("\n".join(f"problem: {problem}" for problem in problems)) or "whole")
        found["problems"] = problems
    if found["problems"]:
        raise typer.Exit(1)


def backup(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of an online tree.")],
    to: Annotated[Path, typer.Argument(metavar="TO", help="A folder that is not there yet.")],
    as_json: AsJson = False,
) -> None:
    """Copy the folder of an online tree as it is at one moment, also while it is written to.

    Example: [bold]cladify backup topics/ topics-monday/[/bold]
    """
    _check_new(to)
    _package("online").backup(folder, to)
    _done("copied", folder, to, {}, as_json)


def rescue(
    path: Kept,
    to: Annotated[Path, typer.Argument(metavar="TO", help="Where what is whole goes; not there yet.")],
    as_json: AsJson = False,
) -> None:
    """Save what is whole of a damaged file or folder, under another name.

    Example: [bold]cladify rescue posts.taxonomy posts-saved.taxonomy[/bold]
    """
    from cladify.errors import FileError

    _check_new(to)
    kind = _kind(path)
    if kind == "online tree":
        found = _package("online").rescue(path, to)
    elif kind == "taxonomy":
        found = _package("taxonomy").rescue(path, to)
    else:
        raise FileError(f"{path} is a {kind}: of these nothing can be rescued but a whole file; build it again.")
    _done("rescued", path, to, found, as_json)


def _package(name: str) -> Any:
    """A package that is slow to import, when it is needed."""
    return import_module(f"cladify.{name}")


def _check_new(to: Path) -> None:
    from cladify.errors import FileError

    if to.exists() or to.is_symlink():
        raise FileError(f"{to} exists; give a name that is not there yet.")


def _done(what: str, path: Path, to: Path, found: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json({"file": str(path), "to": str(to), **found})
    else:
        figures = "".join(f", {key.replace('_', ' ')}: {value}" for key, value in found.items())
        print(escape_controls(f"{path}: {what} to {to}{figures}"))


def _kind(path: Path) -> str:
    """The kind of a file or folder, by its content; a damaged file may be told by its name alone."""
    from cladify._kit.container import formats_in
    from cladify._kit.files import find_file

    if path.is_dir():
        return "tree folder" if (path / "tree.json").is_file() else "online tree"
    with open(find_file(path), "rb") as file:
        start = file.read(16)
    formats = formats_in(path)
    for kind, mark in (("taxonomy", "cladify-taxonomy"), ("dag", "cladify-dag"), ("tree", "cladify-tree")):
        if mark in formats:
            return kind
    by_name = {".taxonomy": "taxonomy", ".dag": "dag", ".tree": "tree", ".cladify": "tree", ".npz": "graph"}
    by_name |= {".safetensors": "model"}
    if path.suffix.lower() in by_name:
        return by_name[path.suffix.lower()]
    if start.startswith(b"PK"):
        return "graph"
    return "model" if start[8:9] == b"{" else "tree"


def _check(path: Path) -> dict[str, Any]:
    from cladify.errors import CladifyError

    kind = _kind(path)
    if kind == "online tree":
        return dict(_package("online").check(path))
    if kind == "taxonomy":
        return dict(_package("taxonomy").check(path))
    changed = datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat(timespec="seconds")
    try:
        figures, problems = _OWN[kind](path), []
    except CladifyError as error:
        figures, problems = {}, [str(error)]
    return {"kind": kind, "version": None, **figures, "last_change": changed, "problems": problems}


def _check_tree(path: Path) -> dict[str, Any]:
    """A tree or a graph of clusters: its reader checks checksums and every rule."""
    from cladify.io import read_hierarchy

    tree = read_hierarchy(path)
    return {**_version(path), "counts": {"leaves": tree.n_leaves, "nodes": tree.n_nodes}}


def _version(path: Path) -> dict[str, Any]:
    """The version of the format and of the cladify that wrote an archive."""
    import zipfile

    from cladify._kit.container import formats_in

    formats = sorted(formats_in(path))
    if not formats:
        return {}
    with zipfile.ZipFile(path) as archive:
        meta = json.loads(archive.read(f"{formats[0]}.json"))
    return {"version": meta.get("version"), "written_by": f"cladify {meta.get('cladify')}"}


def _check_tree_folder(path: Path) -> dict[str, Any]:
    """The top, and group after group what is below it."""
    from cladify.distributed import TreeFolder
    from cladify.errors import FileError

    tree = TreeFolder(path)
    for group in range(tree.top.n_leaves):
        leaves = len(tree.members(group))
        if leaves != int(tree.size[group]):
            raise FileError(f"{path} is damaged: group {group} has {leaves} leaves, its top says {tree.size[group]}.")
    return {"version": 1, "counts": {"leaves": tree.n_leaves, "groups": tree.top.n_leaves}}


def _check_graph(path: Path) -> dict[str, Any]:
    from cladify.neighbors import NeighborGraph

    graph = NeighborGraph.load(path)
    return {"counts": {"nodes": len(graph.indptr) - 1, "edges": len(graph.indices)}}


def _check_model(path: Path) -> dict[str, Any]:
    from cladify import embed
    from cladify.embed._storage import read_header

    header = read_header(path)
    model = {"VAE": embed.VAE, "VaDE": embed.VaDE}.get(header["model"], embed.VAE).load(path)
    return {"version": header["format"], "model": header["model"], "counts": {"columns": model.n_features_in_}}


_OWN = {
    "tree": _check_tree,
    "dag": _check_tree,
    "tree folder": _check_tree_folder,
    "graph": _check_graph,
    "model": _check_model,
}
