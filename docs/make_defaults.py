"""Write the lists of `defaults.md` from the program: python docs/make_defaults.py"""

import inspect
from pathlib import Path

import cladify.metrics
from cladify.methods import METHODS
from cladify.similarity import METRICS

PAGE = Path(__file__).with_name("defaults.md")


def first_line(thing: object) -> str:
    """The first sentence of a docstring."""
    text = " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())
    return text.replace("|", "\\|")


def page() -> str:
    """The page as it should be."""
    lines = [
        "# Defaults and metrics",
        "",
        "Written from the program by `python docs/make_defaults.py`; a test says when it is out of date.",
        "",
        "## Parameters of the methods and their defaults",
        "",
        "| method | parameters |",
        "| --- | --- |",
    ]
    for method in METHODS.values():
        parameters = inspect.signature(method.load()).parameters.values()
        shown = ", ".join(f"`{p.name}={p.default!r}`" for p in parameters)
        lines.append(f"| `{method.name}` | {shown} |")
    lines += [
        "",
        "`cladify.fit(X)` itself: `method='auto'`, and `random_state=0` in `Taxonomy.fit`. `metric` is one of",
        ", ".join(f"`{name}`" for name in METRICS) + ",",
        "a name of SciPy's or scikit-learn's, a function, or one of `cladify.similarity` ([what X is](input.md)).",
    ]
    lines += ["", "## Figures of merit (`cladify.metrics`)", "", "| function | what it says |", "| --- | --- |"]
    for name in sorted(cladify.metrics.__all__):
        thing = getattr(cladify.metrics, name)
        if inspect.isfunction(thing):
            lines.append(f"| `{name}` | {first_line(thing)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
