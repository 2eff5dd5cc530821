"""Files: vectors, items and labels in; results out, whole or not at all.

Nothing is ever unpickled. A file that cannot be used raises :class:`~cladify.errors.FileError` with one line that says
why and what to do; ``docs/files.md`` lists the formats.
"""

from cladify._kit.atomic import atomic_path, atomic_write, check_writable
from cladify.io.items import check_items, read_items, read_labels, write_labels
from cladify.io.vectors import read_vectors
from cladify.tree._files import read_hierarchy, read_tree, write_tree

__all__ = [
    "atomic_path",
    "atomic_write",
    "check_items",
    "check_writable",
    "read_hierarchy",
    "read_items",
    "read_labels",
    "read_tree",
    "read_vectors",
    "write_labels",
    "write_tree",
]
