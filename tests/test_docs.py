"""The documentation says what is true: its Python runs, its options exist, its links lead somewhere."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

from ramify.cli import app

ROOT = Path(__file__).resolve().parents[1]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), ROOT / "benchmarks" / "README.md"]


def blocks(page: Path, language: str) -> list[str]:
    found = re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    return [text for name, text in found if name == language]


def test_the_example_in_the_readme_runs(tmp_path: Path) -> None:
    (code,) = blocks(ROOT / "README.md", "python")
    assert len(code.splitlines()) <= 10
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "numpy." in done.stdout and (tmp_path / "numpy.tree").exists()


def test_the_example_of_refinement_runs() -> None:
    (code,) = blocks(ROOT / "docs" / "refine.md", "python")
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("mw (cosine, 500 leaves") == 2 and "'after'" in done.stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        assert "://" in target or (page.parent / target).exists(), f"{page.name} links to {target}"


def commands() -> dict[str, set[str]]:
    group = typer.main.get_command(app)
    return {
        name: {option for parameter in command.params for option in parameter.opts if option.startswith("--")}
        for name, command in group.commands.items()
    }


def test_every_command_and_option_is_documented() -> None:
    sections = re.split(r"^## `ramify ", (ROOT / "docs" / "cli.md").read_text(), flags=re.MULTILINE)
    documented = {section.split()[0].rstrip("`"): section for section in sections[1:]}
    known = commands()
    assert set(documented) == set(known)
    for name, options in known.items():
        missing = {option for option in options if option not in documented[name] and option != "--help"}
        assert not missing, f"docs/cli.md does not mention {missing} of ramify {name}"
        mentioned = set(re.findall(r"(--[a-z][a-z-]+)", documented[name]))
        assert mentioned <= options | {"--items"}, (
            f"docs/cli.md has options that ramify {name} does not: {mentioned - options}"
        )


def test_commands_in_the_readme_exist() -> None:
    known = commands()
    lines = [
        line for block in blocks(ROOT / "README.md", "") for line in block.splitlines() if line.startswith("ramify ")
    ]
    assert lines
    for line in lines:
        words = line.split()
        assert {word for word in words if word.startswith("--")} <= known[words[1]], line


def test_pictures_are_small() -> None:
    for picture in (ROOT / "docs").glob("*.png"):
        assert os.path.getsize(picture) < 200_000
