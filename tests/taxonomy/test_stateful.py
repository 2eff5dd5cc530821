"""Random histories of edits, with saves, reopened files, other writers and faults, against a plain model."""

import errno
import tempfile
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from quick import IN_MEMORY
from trees import random_tree

from cladify.errors import FileError, InvalidInput, Stale
from cladify.taxonomy import Taxonomy, check


class History(RuleBasedStateMachine):
    """``done`` and ``undone`` are the names that the file must hold; every edit of the history is a rename."""

    @initialize()
    def begin(self):
        self.folder = tempfile.TemporaryDirectory(dir=IN_MEMORY)
        self.path = Path(self.folder.name) / "a.taxonomy"
        tree = random_tree(12, 0)
        self.taxonomy = Taxonomy(tree, [f"item {i}" for i in range(tree.n_leaves)])
        self.taxonomy.save(self.path)
        self.done, self.undone, self.count = [], [], 0

    def rename(self, taxonomy):
        self.count += 1
        taxonomy.rename(taxonomy.tree.root, f"name {self.count}")
        return f"name {self.count}"

    @rule()
    def edit(self):
        with self.taxonomy.editing(self.path):
            name = self.rename(self.taxonomy)
        self.done, self.undone = [*self.done, name], []

    @rule()
    def undo(self):
        if not self.done:
            with pytest.raises(InvalidInput), self.taxonomy.editing(self.path):
                self.taxonomy.undo()
            return
        with self.taxonomy.editing(self.path):
            self.taxonomy.undo()
        self.undone.append(self.done.pop())

    @rule()
    def redo(self):
        if self.undone:
            with self.taxonomy.editing(self.path):
                self.taxonomy.redo()
            self.done.append(self.undone.pop())

    @rule()
    def save(self):
        self.taxonomy.save(self.path)

    @rule()
    def reopen(self):
        self.taxonomy = Taxonomy.load(self.path)

    @rule()
    def another_writer(self):
        other = Taxonomy.load(self.path)
        with other.editing(self.path):
            name = self.rename(other)
        with pytest.raises(Stale), self.taxonomy.editing(self.path):
            self.rename(self.taxonomy)
        self.done, self.undone = [*self.done, name], []
        self.taxonomy = Taxonomy.load(self.path)

    @rule(
        call=st.sampled_from(["os.fsync", "zipfile.ZipFile.writestr"]), code=st.sampled_from([errno.ENOSPC, errno.EIO])
    )
    def fault(self, call, code):
        with (
            mock.patch(call, side_effect=OSError(code, "fault")),
            pytest.raises(FileError, match="cannot write"),
            self.taxonomy.editing(self.path),
        ):
            self.rename(self.taxonomy)

    @rule(left=st.integers(1, 60))
    def interrupted_writer(self, left):
        """A writer that was killed: only the first bytes of what it appended are there."""
        before = self.path.read_bytes()
        other = Taxonomy.load(self.path)
        with other.editing(self.path):
            self.rename(other)
        after = self.path.read_bytes()
        if after.startswith(before):
            self.path.write_bytes(after[: min(len(before) + left, len(after) - 1)])
        else:
            self.path.write_bytes(before)

    @invariant()
    def memory_and_file_agree(self):
        for taxonomy in (self.taxonomy, Taxonomy.load(self.path)):
            assert [edit.name for edit in taxonomy.edits] == self.done
            assert [edit.name for edit in taxonomy.edits.undone] == self.undone
            assert taxonomy.names[taxonomy.tree.root] == (self.done[-1] if self.done else "all items")

    def teardown(self):
        if hasattr(self, "path"):
            assert check(self.path)["problems"] == []
            self.folder.cleanup()


TestHistory = History.TestCase
TestHistory.settings = settings(settings.default, stateful_step_count=10)
