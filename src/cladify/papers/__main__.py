"""``python -m cladify.papers`` is ``cladify papers``."""

from __future__ import annotations

import sys

from cladify.cli import run

if __name__ == "__main__":
    sys.exit(run(["papers", *sys.argv[1:]]))
