"""Prints the oldest versions that pyproject.toml allows, as constraints for pip.

    python packaging/oldest.py > oldest.txt && pip install -c oldest.txt '.[test]'

They are those of the extras for users, too. What only tests and developers need is left to pip.
"""

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path

_BOUND = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^\]]*\])?>=([0-9][0-9a-z.]*)")


def oldest(requirements: Iterable[str]) -> list[str]:
    """``name==version`` of every lower bound, the largest where a name has several.

    >>> oldest(["numpy>=2.0", "dask[array]>=2025.5", "higra", "numpy>=2.1"])
    ['dask==2025.5', 'numpy==2.1']
    """
    found: dict[str, str] = {}
    for requirement in requirements:
        match = _BOUND.match(requirement)
        if match:
            name, version = match.groups()
            found[name] = max(found.get(name, version), version, key=_numbers)
    return [f"{name}=={version}" for name, version in sorted(found.items())]


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall("[0-9]+", version)]


if __name__ == "__main__":
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    ours = [one for name, many in extras.items() if name not in ("test", "docs", "bench", "dev") for one in many]
    print("\n".join(oldest([*project["dependencies"], *ours])))
