"""Taxonomies that are kept up to date: keys, names, edits, ids and columns stay right."""

from __future__ import annotations

import functools
import itertools
import os
import shutil
import signal
import sqlite3
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from scipy.optimize import linear_sum_assignment

import cladify
from cladify.errors import InvalidInput, Stale
from cladify.taxonomy import Taxonomy
from cladify.taxonomy._names.words import index_words
from cladify.taxonomy._update import words as word_index
from cladify.taxonomy._update.match import match_groups
from cladify.taxonomy._update.past import Changes, Event
from cladify.taxonomy._update.words import carry_words

KILLS = int(os.environ.get("CLADIFY_KILLS", "2"))
RNG = np.random.default_rng(5)
CENTRES = 3 * RNG.normal(size=(9, 6))
X = (CENTRES[RNG.integers(9, size=900)] + RNG.normal(size=(900, 6)) * 0.4).astype(np.float32)
WORDS = np.array(["oak", "elm", "ash", "car", "bus", "van", "cat", "dog", "cow"])


def texts(rows) -> list[str]:
    near = ((X[rows][:, None] - CENTRES) ** 2).sum(axis=2).argmin(axis=1)
    return [f"{WORDS[c]} {i}" for c, i in zip(near.tolist(), rows, strict=True)]


def made(n: int = 300, **options) -> Taxonomy:
    rows = list(range(n))
    return Taxonomy.fit(X[:n], texts(rows), ids=[f"id{i}" for i in rows], metric="sqeuclidean", min_size=8, **options)


def add(taxonomy: Taxonomy, rows: list[int], **options):
    return taxonomy.update(X[rows], items=texts(rows), ids=[f"id{i}" for i in rows], **options)


def members(taxonomy: Taxonomy) -> dict[int, set[str]]:
    ids = np.array(taxonomy.ids)
    tree = taxonomy.tree
    return {int(taxonomy.keys[v]): set(ids[tree.members(v)]) for v in range(tree.n_leaves, tree.n_nodes)}


@pytest.fixture(scope="module")
def updated():
    taxonomy = made(columns={"year": list(range(300))})
    before = members(taxonomy), {int(taxonomy.keys[v]): name for v, name in taxonomy.names.items()}, taxonomy.points
    result = add(taxonomy, list(range(300, 400)), remove=["id3", "id4"], columns={"where": ["x"] * 100})
    return taxonomy, before, result


def test_successors_keep_keys_and_names(updated):
    taxonomy, (old, names, _), _ = updated
    new = members(taxonomy)
    called = {int(taxonomy.keys[v]): name for v, name in taxonomy.names.items()}
    have = kept = 0
    for key, ids in old.items():
        index = {other: len(ids & found) / len(ids | found) for other, found in new.items()}
        best = max(index.values())
        if best >= 0.5:
            have += 1
            kept += index.get(key, 0) == best and called[key] == names[key]
    assert have >= 9 and kept >= 0.95 * have


def test_ids_items_and_columns_belong_to_each_other(updated):
    taxonomy, _, result = updated
    assert result.removed == ["id3", "id4"] and len(result.added) == 100 and taxonomy.n_items == 398
    numbers = [int(name[2:]) for name in taxonomy.ids]
    assert taxonomy.items == texts(numbers)
    assert taxonomy.columns["year"].to_pylist() == [i if i < 300 else None for i in numbers]
    assert taxonomy.columns["where"].to_pylist() == [None if i < 300 else "x" for i in numbers]


def test_the_map_stays(updated):
    taxonomy, (_, _, points), _ = updated
    rows = [int(name[2:]) for name in taxonomy.ids]
    old = [i for i, row in enumerate(rows) if row < 300]
    assert np.array_equal(taxonomy.points[old], points[[rows[i] for i in old]])
    assert np.isfinite(taxonomy.points).all()


def test_old_items_stay_where_they_were_drawn():
    """Islands are drawn nearer when a map is made, never again: new items between them would move them."""
    from cladify.explore import open_document

    def drawn(taxonomy) -> np.ndarray:
        plane, order = open_document(taxonomy).view.plane, taxonomy.tree.leaf_order
        places = np.stack([plane.x, plane.y], axis=1)
        found = np.empty_like(places)
        found[[int(taxonomy.ids[row][2:]) for row in order]] = places
        old = found[:300] - found[:300].mean(axis=0)  # new items at the border may move and shrink all of it together
        return old / np.ptp(old, axis=0).max()

    taxonomy = made()
    before = drawn(taxonomy)
    add(taxonomy, list(range(300, 330)))
    assert np.abs(drawn(taxonomy) - before).max() <= 0.001


def test_what_is_carried_is_near_what_is_worked_out_anew(updated):
    taxonomy, _, _ = updated
    facts = taxonomy._now.facts
    base = facts.base
    for i in range(base.n_nodes - base.n_leaves):
        rows = [int(taxonomy.ids[r][2:]) for r in base.members(base.n_leaves + i)]
        assert np.allclose(facts.geometry.centres[i], X[rows].mean(axis=0), atol=0.02)
        central = facts.geometry.central[i]
        assert set(central[central >= 0]) <= set(base.members(base.n_leaves + i).tolist())
    carried = facts.confidence
    assert carried.shape == (398, max(base.depth, 1)) and (carried[:, 0] == 255).all()
    assert carried[-100:, 1].mean() > 0.7 * carried[:200, 1].mean()
    assert taxonomy.report(resamples=0).overall


def test_the_match_is_the_best_assignment():
    old = cladify.fit(X[:200], method="hac", metric="sqeuclidean").condense(min_size=8)
    new = cladify.fit(X[20:240], metric="sqeuclidean").condense(min_size=8)
    came = np.where(np.arange(220) < 180, np.arange(20, 240), -1)
    found = match_groups(old, new, came)
    sets_old = [set(old.members(v)) - set(range(20)) for v in range(old.n_leaves, old.root)]
    sets_new = [{int(came[i]) for i in new.members(v)} - {-1} for v in range(new.n_leaves, new.root)]
    score = np.array([[len(a & b) / max(len(a | b), 1) for b in sets_new] for a in sets_old])
    score[score < 0.3] = 0
    best = score[linear_sum_assignment(score, maximize=True)].sum()
    has = np.flatnonzero(found.partner[:-1] >= 0)
    assert score[found.partner[:-1][has], has].sum() == pytest.approx(best)
    assert found.partner[-1] == len(sets_old)


def test_edits_are_carried_or_said():
    taxonomy = made()
    tree, n = taxonomy.tree, taxonomy.n_items
    key, second, *more = (int(taxonomy.keys[v]) for v in tree.children(tree.root) if v >= n)
    taxonomy.rename(taxonomy.node(key), "by hand")
    taxonomy.hide(taxonomy.node(second))
    hidden = {int(taxonomy.keys[v]) for v in taxonomy.hidden}
    taxonomy.move([5, 6], taxonomy.node(key))
    both = taxonomy.merge([taxonomy.node(other) for other in more[:2]])
    merged = int(taxonomy.keys[both])
    count = len(taxonomy.edits)
    result = add(taxonomy, list(range(300, 360)), remove=["id5"])
    assert [lost.edit.kind for lost in result.lost] == ["move"] and "not there" in result.lost[0].why
    assert len(taxonomy.edits) == count and taxonomy.lost_edits == tuple(result.lost)
    assert taxonomy.names[taxonomy.node(key)] == "by hand"
    assert {int(taxonomy.keys[v]) for v in taxonomy.hidden} == hidden
    assert "id6" in np.array(taxonomy.ids)[taxonomy.tree.members(taxonomy.node(key))]
    assert taxonomy.node(merged) >= taxonomy.n_items
    taxonomy.rename(taxonomy.node(merged), "later")
    taxonomy.undo()
    taxonomy.undo()
    with pytest.raises(InvalidInput):
        taxonomy.node(merged)


def test_an_id_that_is_there_replaces_the_item():
    taxonomy = made()
    result = taxonomy.update(X[[800, 801]], items=["new", "other"], ids=["id7", "z"])
    assert (result.added, result.replaced) == (["z"], ["id7"])
    assert taxonomy.items[7] == "new" and taxonomy.ids[7] == "id7" and taxonomy.n_items == 301
    nearest = ((X[:300] - X[800]) ** 2).sum(axis=1)
    nearest[7] = np.inf
    near = int(nearest.argmin())
    level = taxonomy.levels[0]
    label = {v: i for i, v in enumerate(level.nodes)}
    tree = taxonomy.tree
    where = [next(label[int(u)] for u in tree.ancestors(i) if int(u) in label) for i in (7, near)]
    assert where[0] == where[1]


@pytest.mark.parametrize("steered", [False, True])
def test_the_tree_is_searched_again_when_the_items_have_doubled(steered):
    rows = list(range(150))
    said = texts(rows)
    given = {"A": ["id0"], "B": ["id1"]} if steered else None
    taxonomy = Taxonomy.fit(X[:150], said, ids=[f"id{i}" for i in rows], metric="sqeuclidean", min_size=8, seeds=given)
    assert not add(taxonomy, list(range(150, 220))).searched
    result = add(taxonomy, list(range(220, 310)))
    assert result.searched == (not steered) == ("searched again" in str(result))
    assert taxonomy.n_items == 310 and taxonomy.report(resamples=0).overall
    assert not add(taxonomy, list(range(310, 330))).searched


def test_what_fits_nowhere_is_said():
    taxonomy = made()
    far = np.full((40, 6), 30.0, np.float32) + RNG.normal(size=(40, 6)).astype(np.float32)
    ordinary = X[300:400]
    result = taxonomy.update(np.vstack([ordinary, far]), items=["z"] * 140, ids=[f"n{i}" for i in range(140)])
    assert {f"n{i}" for i in range(100, 140)} <= set(result.fits_nowhere) and len(result.fits_nowhere) <= 48
    assert result.has_new_topic and "new topic?" in str(result)
    topics = [event for event in result.born if result.fresh[event.key] > 2 / 3 * event.after]
    assert sum(event.after for event in topics) >= 38  # in one group or in parts
    said = [line for line in str(result).split("\n") if line.startswith("born: ") and line.endswith("new topic?")]
    assert len(said) == len(topics) <= 3
    later = add(taxonomy, list(range(400, 500)))
    assert not later.has_new_topic and "new topic?" not in str(later)


def test_wrong_use_is_said_and_changes_nothing():
    taxonomy = made()
    before = members(taxonomy)
    with pytest.raises(InvalidInput, match="give ids="):
        taxonomy.update(X[300:310])
    with pytest.raises(InvalidInput, match="not in the taxonomy"):
        taxonomy.remove(["nobody"])
    with pytest.raises(InvalidInput, match="ids must be different"):
        taxonomy.update(X[:2], ids=["a", "a"])
    with pytest.raises(InvalidInput, match="no update to undo"):
        taxonomy.undo_update()
    with pytest.raises(InvalidInput, match="since must be a date"):
        taxonomy.changes("soon")
    assert members(taxonomy) == before
    graph = cladify.neighbors(X[:100], 5, "cosine")
    with pytest.raises(InvalidInput, match="vectors of this taxonomy are not at hand"):
        Taxonomy.fit(graph, texts(list(range(100)))).update(X[:2])


def test_history_changes_and_undo(tmp_path):
    path = tmp_path / "a.taxonomy"
    taxonomy = made()
    taxonomy.save(path)
    before = members(taxonomy)
    add(taxonomy, list(range(300, 360)), remove=["id0"])
    taxonomy.save(path)
    again = Taxonomy.load(path)
    assert [(entry.kind, entry.added, entry.removed) for entry in again.history] == [("update", 60, 1)]
    found = again.changes()
    assert found.before == 300 and found.after == 359
    assert not {event.key for event in found.gone} & {event.key for event in found.merged}
    assert "60 items added, 1 removed" in str(again.history[0]) and "1 groups" not in str(again.history[0])
    assert {event.key for event in found.born} == set(members(again)) - set(before)
    assert again.changes("2999-01-01").n_updates == 0
    again.rename(again.tree.root, "everything")
    assert again.undo_update() == []
    assert members(again) == before and again.names[again.tree.root] == "everything"
    again.save(path)
    last = Taxonomy.load(path)
    add(last, list(range(360, 380)))
    assert last.n_items == 320 and "id0" in last.ids


def test_an_update_that_is_undone_before_the_first_save_can_come_again(tmp_path):
    taxonomy = made(60)
    taxonomy.remove(["id0"])
    taxonomy.undo_update()
    taxonomy.save(tmp_path / "a.taxonomy")
    again = Taxonomy.load(tmp_path / "a.taxonomy")
    assert again.remove(["id0"]).removed == ["id0"] and again.n_items == 59


def test_two_writers(tmp_path):
    path = tmp_path / "a.taxonomy"
    made().save(path)
    one, two = Taxonomy.load(path), Taxonomy.load(path)
    add(one, list(range(300, 320)), vectors=X[:300])
    one.save(path)
    add(two, list(range(320, 330)), vectors=X[:300])
    with pytest.raises(Stale):
        two.save(path)
    assert Taxonomy.load(path).n_items == 320


@pytest.mark.parametrize("as_items", [False, True])
def test_texts_from_a_file_need_no_vectors(tmp_path, as_items):
    path = tmp_path / "a.taxonomy"
    some = [f"{a} {b}" for a in ("red", "green", "old", "new") for b in ("apple", "engine", "boat", "shoe", "lamp")]
    Taxonomy.from_texts(some, items=some if as_items else None, min_size=2).save(path)
    taxonomy = Taxonomy.load(path)
    result = taxonomy.update(["tiny apple", "huge engine"])
    assert result.added == [20, 21] and taxonomy.items[-2:] == ["tiny apple", "huge engine"]
    taxonomy.remove([0])
    assert taxonomy.ids == list(range(1, 22))


def test_only_groups_that_need_it_are_named():
    taxonomy = made()
    asked = []

    def namer(views):
        asked.append(len(views))
        return [f"named {view.size}" for view in views]

    taxonomy.name(namer)
    all_groups = sum(asked)
    result = add(taxonomy, list(range(300, 330)), namer=namer)
    assert sum(asked) - all_groups == len(result.named) <= 0.3 * all_groups
    for v in result.named:
        assert taxonomy.names[v].startswith("named")


class History(RuleBasedStateMachine):
    """Updates, removals, edits, undo and files against plain dictionaries."""

    @initialize()
    def begin(self):
        import tempfile

        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "a.taxonomy"
        self.taxonomy = made(60)
        add(self.taxonomy, [60])  # from now on a file has its vectors beside it
        self.rows = {f"id{i}": i for i in range(61)}
        self.before = None
        self.next = 61
        self.given = {}

    @rule(count=st.integers(1, 12), seed=st.integers(0, 99))
    def update(self, count, seed):
        rng = np.random.default_rng(seed)
        rows = rng.choice(900, count, replace=False).tolist()
        ids = [str(rng.choice(list(self.rows))) if rng.random() < 0.2 else f"id{self.next + i}" for i in range(count)]
        ids = list(dict.fromkeys(ids))
        rows = rows[: len(ids)]
        self.before = dict(self.rows)
        self.next += count
        result = self.taxonomy.update(X[rows], items=texts(rows), ids=ids)
        assert result.added == [i for i in ids if i not in self.rows]
        assert result.replaced == [i for i in ids if i in self.rows]
        self.rows |= dict(zip(ids, rows, strict=True))

    @rule(count=st.integers(1, 5), seed=st.integers(0, 99))
    @precondition(lambda self: len(self.rows) > 20)
    def remove(self, count, seed):
        gone = np.random.default_rng(seed).choice(list(self.rows), count, replace=False).tolist()
        self.before = dict(self.rows)
        self.taxonomy.remove(gone)
        self.rows = {name: row for name, row in self.rows.items() if name not in gone}

    @rule(seed=st.integers(0, 99))
    def rename(self, seed):
        tree, n = self.taxonomy.tree, self.taxonomy.n_items
        v = int(np.random.default_rng(seed).integers(n, tree.n_nodes))
        self.taxonomy.rename(v, f"name {seed}")
        self.given[int(self.taxonomy.keys[v])] = f"name {seed}"

    @rule()
    @precondition(lambda self: self.before is not None)
    def undo_update(self):
        self.taxonomy.undo_update()
        self.rows, self.before, self.given = self.before, None, {}

    @rule()
    def reopen(self):
        self.taxonomy.save(self.path)
        self.taxonomy = Taxonomy.load(self.path)
        self.before = None

    @invariant()
    def all_is_right(self):
        taxonomy = self.taxonomy
        assert dict(zip(taxonomy.ids, taxonomy.items, strict=True)) == {
            name: texts([row])[0] for name, row in self.rows.items()
        }
        names = {int(taxonomy.keys[v]): name for v, name in taxonomy.names.items()}
        lost = {lost.edit.nodes[0] for lost in taxonomy.lost_edits}
        for key, name in self.given.items():
            assert names.get(key) == name or (key not in names and (key in lost or taxonomy.lost_edits))
        assert len(set(taxonomy.keys.tolist())) == len(taxonomy.keys)

    def teardown(self):
        if hasattr(self, "folder"):
            self.folder.cleanup()


TestHistory = History.TestCase
TestHistory.settings = settings(settings.default, stateful_step_count=6, max_examples=5)


@pytest.mark.filterwarnings("ignore:.*fork")
def test_a_killed_update_leaves_the_old_file_or_the_new_one(tmp_path):
    path = tmp_path / "a.taxonomy"
    taxonomy = made(100)
    taxonomy.update(X[100:102], items=["a", "b"], ids=["x", "y"])
    taxonomy.save(path)
    count = 102
    for kill in range(KILLS):
        child = os.fork()
        if child == 0:
            try:
                again = Taxonomy.load(path)
                for i in range(100):
                    ids = [f"k{kill}-{i}-{j}" for j in range(5)]
                    again.update(X[200:205], items=["c"] * 5, ids=ids, remove=[again.ids[0]])
                    again.save(path)
            finally:
                os._exit(1)
        time.sleep(0.1 + 0.9 * float(np.random.default_rng(kill).random()))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        now = Taxonomy.load(path)
        assert (now.n_items - count) % 4 == 0 and now.n_items >= count
        assert len(now.ids) == len(set(now.ids)) == now.n_items
        now.update(X[300:301], items=["d"], ids=[f"d{kill}"])  # the folder beside it is brought in line
        now.save(path)
        assert Taxonomy.load(path)._beside() is not None
        count = now.n_items


def end_at(step: int) -> None:
    """Ends the process at so many calls from now that write, among those of the system and of the database."""
    left = [step]

    def counted(call):
        def counting(*args, **options):
            left[0] -= 1
            if left[0] < 0:
                os._exit(9)
            return call(*args, **options)

        return counting

    class Counted(sqlite3.Connection):
        execute = counted(sqlite3.Connection.execute)

    sqlite3.connect = functools.partial(sqlite3.connect, factory=Counted)
    for name in ("open", "replace", "rename", "fsync", "link", "unlink", "mkdir", "rmdir", "chmod"):
        setattr(os, name, counted(getattr(os, name)))


@pytest.mark.filterwarnings("ignore:.*fork")
@pytest.mark.parametrize("whole", [False, True], ids=["patch", "snapshot"])
def test_an_update_that_ends_at_any_step_leaves_the_old_file_or_the_new_one(tmp_path, whole):
    path, kept = tmp_path / "files" / "a.taxonomy", tmp_path / "kept"
    path.parent.mkdir()
    taxonomy = made(60)
    add(taxonomy, [60, 61])
    taxonomy.save(path)
    shutil.copytree(path.parent, kept)
    before = taxonomy.n_items
    again = Taxonomy.load(path)
    add(again, [62, 63, 64], remove=["id3"])
    if whole:
        again._live[0]._mark = None
    found = []
    for step in itertools.count(0, max(1, 20 // KILLS)):
        child = os.fork()
        if child == 0:
            try:
                end_at(step)
                again.save(path)
                os._exit(0)
            finally:
                os._exit(1)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert code in (0, 9)
        now = Taxonomy.load(path)
        found.append(now.n_items)
        add(now, [70])  # the folder beside it is brought in line
        now.save(path)
        last = Taxonomy.load(path)
        assert last.n_items == now.n_items and np.array_equal(last._beside().ids_, now._now.facts.past.rows)
        if code == 0:
            break
        shutil.rmtree(path.parent)
        shutil.copytree(kept, path.parent)
    assert set(found) == {before, before + 2} and found == sorted(found)


def test_updates_from_files_are_those_of_memory(tmp_path):
    """Each update reads the file, and writes what has changed; the tree and all that hangs on it stay the same."""
    path = tmp_path / "a.taxonomy"
    memory = made(200)
    add(memory, [200])
    memory.save(path)
    for i in range(4):
        rows, gone = [210 + 10 * i + j for j in range(5)], [f"id{3 * i}"]
        add(memory, rows, remove=gone)
        again = Taxonomy.load(path)
        add(again, rows, remove=gone)
        again.save(path)
    assert again._live[0]._mark.at[1] == 4  # patches, no snapshot
    again = Taxonomy.load(path)
    assert again.ids == memory.ids and np.array_equal(again.full.parent, memory.full.parent)
    assert again.tree == memory.tree and again.names == memory.names
    assert np.array_equal(again.points, memory.points)
    again.undo_update()
    again.save(path)
    add(again, [300])
    again.save(path)
    assert again.n_items == memory.n_items - 3 and Taxonomy.load(path)._beside() is not None


@given(st.lists(st.lists(st.sampled_from(["oak", "Elm", "ash tree", "über", "a", ""])).map(" ".join)), st.data())
def test_the_index_of_words_is_carried_over(texts, data):
    n = len(texts)
    old = pa.array(texts, pa.large_string())
    came = np.flatnonzero(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    new = data.draw(st.lists(st.sampled_from(["oak", "yew", "Zoo oak", "", "über elm", "b"]), max_size=n + 2))
    came = np.insert(came, data.draw(st.integers(0, len(came))), np.full(len(new), -1)) if new else came
    fresh = iter(new)
    items = pa.array([texts[i] if i >= 0 else next(fresh) for i in came.tolist()], pa.large_string())
    word_index._MOST, most = 1.0, word_index._MOST
    carried, anew = carry_words(index_words(old), came, items), index_words(items)
    word_index._MOST = most
    assert carried.words.equals(anew.words)
    for name in ("start", "rows", "order"):
        assert getattr(carried, name).tolist() == getattr(anew, name).tolist()
        assert getattr(carried, name).dtype == getattr(anew, name).dtype


def test_growth_is_said_as_a_share():
    event = Event(3, "Sports", 122, 140)
    said = str(Changes("", 1, 1000, 1500, [], [], [], [], [event], []))
    assert said.endswith("\nfaded: Sports  122 → 140, from 12 % of all items to 9.3 %")


def test_lines_of_other_groups_name_no_new_group():
    rng = np.random.default_rng(0)
    line = "Jasen Mabus, student at large"
    texts = [f"{'oak' if i < 200 else 'boat'} number {i}\n{line if i % 200 == 99 else ''}" for i in range(400)]
    X = rng.normal(scale=0.1, size=(406, 3)) + np.repeat(np.eye(3), [200, 200, 6], axis=0)
    taxonomy = Taxonomy.fit(X[:400], texts, min_size=5, max_children=3)
    new = ["valve", "crank", "clutch", "piston", f"axle\n{line}", f"spark\n{line}"]
    result = taxonomy.update(X[400:], items=new)
    born = [v for v in result.named if 400 in taxonomy.tree.members(v)]
    assert born and all("Jasen" not in " ".join([taxonomy.names[v], *taxonomy.keywords(v)]) for v in born)


def _levels(taxonomy, n):
    return [
        {frozenset(i for i in taxonomy.tree.members(v).tolist() if i < n) for v in level.nodes}
        for level in taxonomy.levels
    ]


@pytest.mark.parametrize("seed", [2, 3])
def test_a_few_copies_leave_the_levels_as_they_are(seed):
    # Outliers of a group may be elsewhere in the tree that was fitted; in the tree that changes they are in the group.
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(24, 12))[rng.integers(0, 24, 1000)] + 0.4 * rng.normal(size=(1000, 12))).astype(np.float32)
    taxonomy = Taxonomy.fit(X, metric="cosine")
    before = _levels(taxonomy, 1000)
    result = taxonomy.update(X[:3])
    assert not result.born and not result.gone
    assert _levels(taxonomy, 1000) == before
    taxonomy.refresh()
    groups = {frozenset(taxonomy.full.members(v).tolist()) for v in range(1003, taxonomy.full.n_nodes)}
    assert all(group in groups for level in _levels(taxonomy, 1003) for group in level)


def test_asked_levels_are_cut_anew_only_where_their_counts_are_off():
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(24, 8))[rng.integers(0, 24, 600)] + 0.4 * rng.normal(size=(600, 8))).astype(np.float32)
    taxonomy = Taxonomy.fit(X[:300], levels=[4, 12], min_size=3)
    before = _levels(taxonomy, 300)
    taxonomy.update(X[:3])
    assert _levels(taxonomy, 300) == before
    taxonomy.update(X[300:])
    assert [level.n_clusters for level in taxonomy.levels] == pytest.approx([4, 12], rel=0.1)
