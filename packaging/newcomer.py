"""What a newcomer does, in a place that has Python and nothing else: packaging/root.sh runs it in a fresh root.

    python3 newcomer.py WHEEL PAGES

Installs the wheel, makes a taxonomy of texts and opens its page, and says how long that took. Then it runs every
``cladify`` command that the pages show, each page in a folder of its own with files of the names they use: a command
must succeed, or, where it asks for a server that is not there, say so without a traceback. At last it looks for what
was compiled meanwhile.
"""

import csv
import importlib
import inspect
import os
import pkgutil
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
import venv
from pathlib import Path

COMPILERS = ("cc", "gcc", "c++", "g++", "clang", "clang++", "ld", "rustc", "cmake", "make")
BAR = 60.0  # seconds, from nothing to the page

# What no fresh root has: such a command has to end with a message of its own. A line that asks a stranger's server
# (https://) is left out.
ABSENT = {
    "ollama:": "a model on a server",
    "tcp://": "a scheduler on a server",
}

# What the pages take for granted, by their own commands.
MADE_BEFORE = (
    "cladify fit embeddings.npy --metric cosine --items names.txt --out names.tree",
    "cladify taxonomy embeddings.npy --items debian.txt --out debian.taxonomy",
    "cladify demo --out out",
)

DATA = """
import os, shutil
import numpy as np, pyarrow as pa, pyarrow.csv as csv, pyarrow.parquet as parquet
random = np.random.default_rng(0)
posts = csv.read_csv("posts.csv").slice(0, 400)
title, n = posts["title"].to_pylist(), len(posts)
X = random.normal(size=(n, 16)).astype("f4") + 4 * random.normal(size=(8, 16)).astype("f4")[np.arange(n) % 8]
for name in ("embeddings", "x"):
    np.save(name + ".npy", X)
for name in ("names", "debian"):
    open(name + ".txt", "w").write("\\n".join(title) + "\\n")
open("log.tsv", "w").writelines(f"1\\tinfo\\t{t} starts\\n" for t in title)
ids = [f"post-{i}" for i in range(n)]
parquet.write_table(pa.table({"embedding": X.tolist(), "title": title}), "points.parquet")
tickets = {"embedding": X.tolist(), "subject": posts["body"].to_pylist(), "ticket": ids}
parquet.write_table(pa.table(tickets), "tickets.parquet")
shutil.copy("posts.taxonomy", "tickets.taxonomy")
csv.write_csv(pa.table({"class": [f"kind {i % 8}" for i in range(n)]}), "classes.csv")
customers = [f"{a} {b}" for a in ("North Harbour", "Blue Timber", "Royal Mills") for b in ("Ltd", "Ltd.", "Limited")]
csv.write_csv(pa.table({"name": customers}), "customers.csv")
np.save("monday.npy", X[:60])
np.save("changed.npy", X[:5] + 1)
open("monday.txt", "w").write("\\n".join(ids[:60]))
open("changed.txt", "w").write("\\n".join(ids[:5]))
os.mkdir("shards")
for k in range(4):
    np.save(f"shards/{k}.npy", X[100 * k : 100 * (k + 1)])
"""


def main(wheel: str, pages: Path) -> int:
    found = [name for name in COMPILERS if shutil.which(name)]
    if found:
        sys.exit(f"this place has compilers: {', '.join(found)}")
    _write_posts(Path("posts.csv"))
    begin = time.monotonic()
    venv.create("env", with_pip=True)
    os.environ["PATH"] = f"{Path('env/bin').resolve()}:{os.environ['PATH']}"
    _step("pip install cladify", ["python", "-m", "pip", "install", "--quiet", wheel])
    _step("cladify taxonomy", ["cladify", "taxonomy", "posts.csv", "--text", "body", "--items-column", "title"])
    _look("cladify explore posts.taxonomy")
    took = time.monotonic() - begin
    print(f"{took:.1f} s from nothing to the page (bar: {BAR:.0f} s)", flush=True)
    _step("files for the pages", ["python", "-c", DATA])
    for made in MADE_BEFORE:
        _step(made, made.split())
    wrong = [f"{page.name}: {line}" for page in sorted(pages.rglob("*.md")) for line in _wrong(page, wheel)]
    wrong += [f"compiled at first use: {made}" for made in _not_installed()]
    print("\n".join(["wrong:", *wrong]) if wrong else "every command of the pages runs; nothing was compiled")
    if took > BAR:
        print(f"too slow: {took:.1f} s")
    return int(bool(wrong) or took > BAR)


def _not_installed() -> list[str]:
    """Modules that no package brought along."""
    site = next(Path("env").glob("lib/python3*/site-packages"))
    lines = [line for record in site.glob("*.dist-info/RECORD") for line in record.read_text().splitlines()]
    brought = {site / line.split(",")[0] for line in lines}
    return [str(path) for path in site.rglob("*.so") if path not in brought]


def _write_posts(path: Path) -> None:
    """The documentation of the standard library: the texts that every Python has."""
    rows: dict[str, str] = {}
    for module in sorted(module.name for module in pkgutil.iter_modules() if module.name in sys.stdlib_module_names):
        if module.startswith("_") or module in ("antigravity", "this", "idlelib", "turtledemo", "lib2to3"):
            continue
        try:
            loaded = importlib.import_module(module)
        except ImportError:  # a part that the distribution keeps in another package
            continue
        for name, value in vars(loaded).items():
            text = inspect.getdoc(value) if inspect.isroutine(value) or inspect.isclass(value) else None
            if text and not name.startswith("_"):
                rows.setdefault(text, f"{module}.{name}")
    posts = [(name, text) for text, name in rows.items()]
    random.Random(0).shuffle(posts)
    monday, posts = posts[:50], posts[50:]
    for to, some in ((path, posts), (path.with_name("monday.csv"), monday)):
        with to.open("w", newline="") as file:
            csv.writer(file).writerows([("title", "body"), *some])
    path.with_name("closed.csv").write_text("id\n0\n1\n2\n")  # rows without ids are known by their numbers


def _step(what: str, command: list[str]) -> None:
    begin = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    print(f"{time.monotonic() - begin:6.1f} s  {what}", flush=True)


def _look(line: str) -> None:
    """The page of an explorer, fetched as a browser would; then Ctrl-C."""
    begin = time.monotonic()
    with subprocess.Popen(
        line, shell=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    ) as server:
        assert server.stdout is not None
        said = []
        for text in server.stdout:
            said.append(text)
            address = re.search(r"http://[^\s,]+", text)
            if address:
                with urllib.request.urlopen(address[0].rstrip("."), timeout=60) as page:
                    assert b"<html" in page.read().lower()
                break
        os.killpg(server.pid, signal.SIGINT)
        server.communicate(timeout=60)
        if not said or not address:
            raise RuntimeError(f"no address from {line}: {''.join(said)}")
    print(f"{time.monotonic() - begin:6.1f} s  {line}: its page", flush=True)


def _wrong(page: Path, wheel: str) -> list[str]:
    """The commands of a page that did not do what they should, run one after the other in its own folder."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    lines = [line for language, block in blocks if not language for line in block.splitlines()]
    lines = [line for line in lines if re.match(r"(cladify [a-z]|.*\| cladify |pip install 'cladify\[)", line)]
    if not lines:
        return []
    print(page.name, flush=True)
    folder = Path("pages-run", *page.with_suffix("").parts[1:])
    shutil.copytree(".", folder, ignore=shutil.ignore_patterns("env", "pages*", "*.whl"))
    before = Path.cwd()
    os.chdir(folder)
    try:
        return [line for line in lines if not _runs(line, wheel)]
    finally:
        os.chdir(before)


def _runs(line: str, wheel: str) -> bool:
    line = line.split("#")[0].strip().replace("| jq .seconds", "")
    line = re.sub(r"^pip install 'cladify\[(\w+)\]'", rf"python -m pip install --quiet '{wheel}[\1]'", line)
    if "https://" in line:
        print(f"left out: {line}", flush=True)
        return True
    if " explore " in line:
        try:
            _look(line)
        except (RuntimeError, AssertionError, OSError) as error:
            print(f"wrong: {line}: {error}", flush=True)
            return False
        return True
    if " watch " in line:
        line = f"timeout --signal INT 20 {line} || [ $? -ge 124 ]"
    if "64123=" in line:  # a number of somebody else's taxonomy
        line = line.replace("64123=", f"{_shell(_A_GROUP.format(line.split()[2]))[1].strip()}=")
    begin = time.monotonic()
    code, said = _shell(line)
    absent = next((why for word, why in ABSENT.items() if word in line), None)
    right = "Traceback" not in said and (code == 0 or absent is not None)
    note = f"  (without {absent}: exit {code})" if absent else ""
    print(f"{time.monotonic() - begin:6.1f} s  {line}{note}", flush=True)
    if not right:
        print(said, flush=True)
    return right


_A_GROUP = "python -c \"import cladify; print(max(cladify.Taxonomy.load('{}').levels[0].nodes))\""


def _shell(line: str) -> tuple[int, str]:
    done = subprocess.run(
        ["sh", "-c", line],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
    )
    return done.returncode, done.stdout


if __name__ == "__main__":
    sys.exit(main(str(Path(sys.argv[1]).resolve()), Path(sys.argv[2])))
