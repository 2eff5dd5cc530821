"""Write the table of methods in `methods.md` from the registry: python docs/make_methods.py"""

from pathlib import Path

from cladify.methods import INPUTS, METHODS

PAGE = Path(__file__).with_name("methods.md")
START, END = "<!-- from the registry -->\n", "<!-- end -->\n"


def table() -> str:
    """The methods, one a row."""
    lines = ["| name | estimator | when | takes | `sample_weight` | exact |", "| --- | --- | --- | --- | --- | --- |"]
    for method in METHODS.values():
        takes = "everything" if method.inputs == INPUTS else ", ".join(method.inputs)
        yes = ["yes" if value else "no" for value in (method.weights, method.exact)]
        lines.append(f"| `{method.name}` | `{method.estimator}` | {method.advice} | {takes} | {yes[0]} | {yes[1]} |")
    return "\n".join(lines) + "\n"


def page() -> str:
    """The page with the table as it should be."""
    text = PAGE.read_text(encoding="utf-8")
    head, rest = text.split(START)
    return f"{head}{START}{table()}{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
