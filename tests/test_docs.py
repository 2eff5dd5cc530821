"""The documentation says what is true: its Python runs, its options exist, its links lead somewhere."""

import os
import re
import subprocess
import sys
from pathlib import Path
from textwrap import indent

import pytest
import typer.main

from cladify.cli import app
from cladify.methods import METHODS

ROOT = Path(__file__).resolve().parents[1]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), ROOT / "benchmarks" / "README.md"]


def blocks(page: Path, language: str) -> list[str]:
    found = re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    return [text for name, text in found if name == language]


def test_the_examples_in_the_readme_run(tmp_path: Path) -> None:
    examples = blocks(ROOT / "README.md", "python")
    assert all(len(code.splitlines()) <= 10 for code in examples)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "\n".join(examples)],
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


def test_the_examples_of_gradients_run(tmp_path: Path) -> None:
    fit, draw = blocks(ROOT / "docs" / "hyperbolic.md", "python")
    options = {"cwd": tmp_path, "capture_output": True, "text": True, "timeout": 120}
    done = subprocess.run([sys.executable, "-W", "error", "-c", fit], **options)
    assert done.returncode == 0, done.stderr
    assert "(200, 2)" in done.stdout and done.stdout.endswith("True\n")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "import matplotlib; matplotlib.use('Agg')\n" + draw], **options
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "digits.png").exists() and (tmp_path / "digits.html").stat().st_size > 10_000


def test_the_examples_of_online_trees_run() -> None:
    for code in blocks(ROOT / "docs" / "online.md", "python"):
        done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        assert "nodes made" in done.stdout or "[0 1 3 4]" in done.stdout


def test_the_example_of_entities_runs() -> None:
    (code,) = blocks(ROOT / "docs" / "entities.md", "python")
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert all(float(score) > 0.9 for score in done.stdout.split())


def test_the_examples_of_taxonomies_run(tmp_path: Path) -> None:
    outputs = []
    for code in blocks(ROOT / "docs" / "taxonomy.md", "python"):
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout)
    assert "90 items" in outputs[0] and "fruit" in outputs[0] and "Fruit" in outputs[1]


@pytest.mark.parametrize("name", ["index", "overlap", "tutorial", "gallery"])
def test_the_examples_of_a_page_run_one_after_the_other(name: str, tmp_path: Path) -> None:
    code = "\n".join(blocks(ROOT / "docs" / f"{name}.md", "python"))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=tmp_path,
        env={**os.environ, "MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for picture in re.findall(r'savefig\("(\w+\.png)"', code):
        assert (tmp_path / picture).stat().st_size > 3000


def test_no_page_has_python_that_no_test_runs() -> None:
    run = {
        "README",
        "entities",
        "refine",
        "hyperbolic",
        "online",
        "taxonomy",
        "overlap",
        "index",
        "tutorial",
        "gallery",
        "scale",
    }
    assert {page.stem for page in PAGES if blocks(page, "python")} <= run


def test_the_page_of_defaults_lists_every_method() -> None:
    code = "import runpy; print(runpy.run_path('docs/make_defaults.py')['page'](), end='')"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    page = (ROOT / "docs" / "defaults.md").read_text()
    for text in (done.stdout, page):  # as it would be now (`make docs` writes it), and as it is
        assert all(f"| `{name}` |" in text for name in METHODS), "run: python docs/make_defaults.py"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        assert "://" in target or (page.parent / target).exists(), f"{page.name} links to {target}"


def commands() -> dict[str, set[str]]:
    group = typer.main.get_command(app)
    return {
        name: {
            option
            for parameter in command.params
            for option in parameter.opts + parameter.secondary_opts
            if option.startswith("--")
        }
        for name, command in group.commands.items()
    }


def test_every_command_and_option_is_documented() -> None:
    sections = re.split(r"^## `cladify ", (ROOT / "docs" / "cli.md").read_text(), flags=re.MULTILINE)
    documented = {section.split()[0].rstrip("`"): section for section in sections[1:]}
    known = commands()
    assert set(documented) == set(known)
    for name, options in known.items():
        missing = {option for option in options if option not in documented[name] and option != "--help"}
        assert not missing, f"docs/cli.md does not mention {missing} of cladify {name}"
        mentioned = set(re.findall(r"(--[a-z][a-z-]+)", documented[name]))
        assert mentioned <= options | {"--items"}, (
            f"docs/cli.md has options that cladify {name} does not: {mentioned - options}"
        )


def test_commands_in_the_readme_exist() -> None:
    known = commands()
    pages = [ROOT / "README.md", *ROOT.glob("docs/*.md")]
    lines = [
        line
        for page in pages
        for block in blocks(page, "")
        for line in block.splitlines()
        if line.startswith("cladify ") and "COMMAND" not in line
    ]
    assert lines
    for line in lines:
        words = line.split()
        assert {word for word in words if word.startswith("--")} <= known[words[1]], line


def test_pictures_are_small() -> None:
    for picture in [*(ROOT / "docs").glob("*.png"), *(ROOT / "docs" / "pictures").iterdir()]:
        assert os.path.getsize(picture) < 200_000


def test_the_example_of_dask_runs(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    code, folder = blocks(ROOT / "docs" / "scale.md", "python")
    # The second goes on where the first one ends, in the main process.
    (tmp_path / "example.py").write_text(code + indent(folder, "    "))
    done = subprocess.run(
        [sys.executable, "-W", "error", "example.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    (n, recall), (groups, leaves), *_ = map(str.split, done.stdout.splitlines())
    assert n == leaves == "2000" and float(recall) > 0.9 and int(groups) <= 200
