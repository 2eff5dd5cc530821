"""``python -m cladify``: the command line."""

from cladify.cli import main

if __name__ == "__main__":
    main()
