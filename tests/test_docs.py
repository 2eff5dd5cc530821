"""The documentation says what is true: its Python runs, its options exist, its links lead somewhere."""

import os
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import indent

import pytest
import typer.main

from cladify.cli import app
from cladify.methods import METHODS

ROOT = Path(__file__).resolve().parents[1]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "benchmarks" / "README.md"]


def blocks(page: Path, language: str) -> list[str]:
    found = re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    return [text for name, text in found if name == language]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """``run(code)``: what an example prints, run in an empty folder; warnings are errors, as everywhere in tests."""
    monkeypatch.chdir(tmp_path)

    def example(code: str) -> str:
        exec(compile(code, "example", "exec"), {"__name__": "example"})
        return capsys.readouterr().out

    return example


@pytest.fixture
def no_window() -> Iterator[None]:
    """Pictures go to files."""
    pytest.importorskip("matplotlib").use("agg")
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def test_the_examples_in_the_readme_run(run: Callable[[str], str], tmp_path: Path) -> None:
    examples = blocks(ROOT / "README.md", "python")
    assert all(len(code.splitlines()) <= 10 for code in examples)
    assert "numpy." in run("\n".join(examples)) and (tmp_path / "numpy.tree").exists()


def test_the_readme_names_the_papers() -> None:
    for page in (ROOT / "README.md", ROOT / "docs" / "index.md", ROOT / "ARCHITECTURE.md"):
        text = page.read_text(encoding="utf-8")
        for title in (
            "*Objective-Based Hierarchical Clustering of Deep Embedding Vectors* (2021)",
            "*Hierarchical Clustering for Euclidean Data* (2019)",
            "*Incremental Non-Greedy Clustering at Scale* (2022)",
            "*Unsupervised Embedding of Hierarchical Structure in Euclidean Space* (2020)",
            "*From Trees to Continuous Embeddings and Back: Hyperbolic Hierarchical Clustering* (2020)",
        ):
            assert title in text, page.name


def test_the_example_of_refinement_runs(run: Callable[[str], str]) -> None:
    (code,) = blocks(ROOT / "docs" / "refine.md", "python")
    printed = run(code)
    assert printed.count("mw (cosine, 500 leaves") == 2 and "'after'" in printed


@pytest.mark.usefixtures("no_window")
def test_the_examples_of_gradients_run(run: Callable[[str], str], tmp_path: Path) -> None:
    fit, draw = blocks(ROOT / "docs" / "hyperbolic.md", "python")
    printed = run(fit)
    assert "(200, 2)" in printed and printed.endswith("True\n")
    run(draw)
    assert (tmp_path / "digits.png").exists() and (tmp_path / "digits.html").stat().st_size > 10_000


def test_the_examples_of_online_trees_run(run: Callable[[str], str]) -> None:
    for code in blocks(ROOT / "docs" / "online.md", "python"):
        printed = run(code)
        assert "nodes made" in printed or "[0 1 3 4]" in printed


def test_the_example_of_dedupe_runs(run: Callable[[str], str]) -> None:
    (code,) = blocks(ROOT / "docs" / "dedupe.md", "python")
    assert run(code).startswith("[0 0 0 1 2]")


def test_the_example_of_entities_runs(run: Callable[[str], str]) -> None:
    (code,) = blocks(ROOT / "docs" / "entities.md", "python")
    assert all(float(score) > 0.9 for score in run(code).split())


def test_the_examples_of_taxonomies_run(run: Callable[[str], str]) -> None:
    first, joined, edited, named, *_ = [run(code) for code in blocks(ROOT / "docs" / "taxonomy.md", "python")]
    assert "90 items" in first and "fruit" in first and edited.strip() == "2" and "Fruit" in named
    assert "red cherry" in joined and "engine" in joined


@pytest.mark.usefixtures("no_window")
@pytest.mark.parametrize(
    "name",
    [
        "index",
        "overlap",
        "tutorial",
        "tutorials/images",
        "tutorials/embeddings",
        "howto",
        "gallery",
        "update",
        "coming-from/bertopic",
        "coming-from/hdbscan",
        "coming-from/scikit-learn",
        "coming-from/scipy",
    ],
)
def test_the_examples_of_a_page_run_one_after_the_other(name: str, run: Callable[[str], str], tmp_path: Path) -> None:
    code = "\n".join(blocks(ROOT / "docs" / f"{name}.md", "python"))
    run(code)
    for picture in re.findall(r'savefig\("(\w+\.png)"', code):
        assert (tmp_path / picture).stat().st_size > 3000


@pytest.mark.filterwarnings("ignore::cladify.CladifyWarning")  # what is said of texts that are so few and so alike
def test_the_examples_of_steering_run(run: Callable[[str], str]) -> None:
    """The page speaks of data that the reader has; these are some of the kind."""
    data = """
import numpy as np
import cladify
topics = ("invoice charged twice", "forgot my password", "parcel is late")
texts = [f"{topic} {word} {i % 9}" for topic in topics for i in range(80) for word in ("why", "again", "help")]
ids = [f"t{i}" for i in range(len(texts))]
ids[:4] = "a17", "b3", "c9", "ticket-4711"
X = np.random.default_rng(0).normal(size=(len(ids), 4)) + 9 * np.eye(4)[np.arange(len(ids)) % 3]
labels = ["refund", None, None] * (len(ids) // 3)
"""
    code = "\n".join(blocks(ROOT / "docs" / "steer.md", "python"))
    run(f"{data}\n{code}\nassert {{'Billing', 'Login'}} <= set(seeded.names.values())")


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "coming-from").glob("*.md")), ids=lambda page: page.stem)
def test_what_others_do_runs_where_they_are_installed(page: Path, run: Callable[[str], str]) -> None:
    for code in blocks(page, "py"):
        for module in re.findall(r"^(?:import|from) (\w+)", code, flags=re.MULTILINE):
            pytest.importorskip(module, exc_type=ImportError)
        run(code)


def test_no_page_has_python_that_no_test_runs() -> None:
    tests = Path(__file__).read_text(encoding="utf-8")
    for page in PAGES:
        if blocks(page, "python"):
            name = page.relative_to(ROOT / "docs").with_suffix("").as_posix() if "docs" in page.parts else page.stem
            assert f'"{name}"' in tests or f'"{name}.md"' in tests, f"no test runs the Python of {page.name}"


def test_the_page_of_defaults_lists_every_method() -> None:
    page = (ROOT / "docs" / "defaults.md").read_text(encoding="utf-8")
    for text in (
        runpy.run_path(str(ROOT / "docs" / "make_defaults.py"))["page"](),
        page,
    ):  # as it would be, and as it is
        assert all(f"| `{name}` |" in text for name in METHODS), "run: python docs/make_defaults.py"


def test_a_study_has_a_date_and_a_command() -> None:
    for study in (ROOT / "docs" / "studies").glob("*.md"):
        text = study.read_text(encoding="utf-8")
        assert re.search(r"\b20\d\d\b", text[:600]), f"{study.name} has no date"
        assert re.search(r"[Cc]ommand", text[:600]), f"{study.name} does not say how to repeat it"


def anchors(page: Path) -> set[str]:
    """The ends of addresses by which headings of a page are reached, as Markdown makes them of their text."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower()) for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#]*)#?([^)]*)\)", page.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        there = page.parent / target if target else page
        assert there.exists(), f"{page.name} links to {target}"
        assert not anchor or there.name == "api.md" or anchor in anchors(there), (
            f"{page.name} links to {target}#{anchor}"
        )


def test_every_page_is_in_the_menu_of_the_site() -> None:
    menu = re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), flags=re.MULTILINE)
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert len(menu) == len(set(menu)) and set(menu) == pages


@pytest.mark.slow
@pytest.mark.xdist_group("browser")
def test_the_site_is_searched_from_disk_too(tmp_path: Path) -> None:
    """What stands in for a worker there: it answers, and messages that come before it has started are not lost."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("there is no Chromium on this machine; install the package chromium")
    sync_api = pytest.importorskip("playwright.sync_api")
    assert "[javascripts/iframe-worker.js]" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    shutil.copy(ROOT / "docs" / "javascripts" / "iframe-worker.js", tmp_path)
    (tmp_path / "worker.js").write_text("addEventListener('message', (event) => postMessage(event.data + 1));")
    (tmp_path / "page.html").write_text("<head><script src=iframe-worker.js></script></head><body></body>")
    ask = (
        "() => new Promise((done) => { const worker = new Worker('worker.js'), got = [];"
        "worker.addEventListener('message', (event) => { got.push(event.data); if (got.length === 2) done(got); });"
        "worker.postMessage(1); worker.postMessage(2); })"
    )
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        page.goto((tmp_path / "page.html").as_uri())
        assert page.evaluate(ask) == [2, 3]
        browser.close()


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
    pages = [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]
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
