"""The map and the tree of a taxonomy as pictures: names that do not overlap, are not cut, and are shown as they are."""

import re
from importlib.resources import files

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pytest
from matplotlib import pyplot

import cladify
from cladify.errors import InvalidInput
from cladify.plot import draw_taxonomy
from cladify.plot.taxonomy import _STRONG


@pytest.fixture(autouse=True)
def close():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def taxonomy():
    random = np.random.default_rng(0)
    y = np.repeat(np.arange(20), 30)
    X = 9 * random.normal(size=(5, 10))[y % 5] + 4 * random.normal(size=(20, 10))[y] + random.normal(size=(600, 10))
    items = [f"kind{g % 5} subject{g} ${g} word{i % 7}" for i, g in enumerate(y.tolist())]
    return cladify.Taxonomy.fit(X, items, min_size=8)


def boxes(ax):
    renderer = ax.figure.canvas.get_renderer()
    return [text.get_window_extent(renderer) for text in ax.texts], ax.get_window_extent(renderer)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("kind", ["map", "tree"])
def test_no_two_names_overlap_and_none_is_cut(taxonomy, kind, dark):
    ax = taxonomy.plot(kind, dark=dark)
    ax.figure.canvas.draw()
    names, frame = boxes(ax)
    assert len(names) >= 8
    assert not [text.get_text() for text in ax.texts if "…" in text.get_text()]
    for i, a in enumerate(names):
        assert frame.x0 - 1 <= a.x0 and a.x1 <= frame.x1 + 1 and frame.y0 - 1 <= a.y0 and a.y1 <= frame.y1 + 1
        assert not any(a.overlaps(b) for b in names[i + 1 :])


def test_long_names_are_written_whole():
    random = np.random.default_rng(0)
    y = np.repeat(np.arange(6), 100)
    X = 6 * random.normal(size=(6, 8))[y] + random.normal(size=(600, 8))
    long = cladify.Taxonomy.fit(X, [f"item {g}" for g in y.tolist()], min_size=8)
    names = {v: f"a name of many words about the subject that has number {v}, and more" for v in long.levels[0].nodes}
    with long.editing(None):
        for v, name in names.items():
            long.rename(v, name)
    said = {" ".join(text.get_text().split()) for text in draw_taxonomy(long, n_groups=len(names)).texts}
    assert sum(name in said for name in names.values()) >= len(names) - 1
    assert not [text for text in said if "…" in text]


def test_the_map_has_a_point_an_item_and_colours_that_differ(taxonomy):
    ax = draw_taxonomy(taxonomy, n_groups=10)
    (points,) = ax.collections
    assert len(points.get_offsets()) == 600
    assert len(ax.images) == 1 and 0.15 < ax.images[0].get_array()[..., 3].max() <= 0.3  # soft land below them
    np.testing.assert_allclose(points.get_offsets(), taxonomy.points)
    colors = points.get_facecolors()[:, :3]
    groups = min(taxonomy.levels, key=lambda level: abs(np.log(level.n_clusters / 10)))
    assert len(np.unique(colors, axis=0)) == groups.n_clusters <= 24
    for v in groups.nodes:
        assert len(np.unique(colors[taxonomy.tree.members(v)], axis=0)) == 1


def test_hidden_groups_and_renamed_ones(taxonomy):
    v = taxonomy.levels[0].nodes[0]
    gone, size = taxonomy.levels[0].nodes[1], taxonomy.tree.size[taxonomy.levels[0].nodes[1]]
    with taxonomy.editing(None):
        taxonomy.rename(v, "a $mine$ <b>")
        taxonomy.hide(gone)
        ax = taxonomy.plot(n_groups=taxonomy.levels[0].n_clusters)
        assert "a $mine$ <b>" in [text.get_text() for text in ax.texts]
        assert len(ax.collections[0].get_offsets()) == 600 - size
        taxonomy.undo()
        taxonomy.undo()


def test_without_vectors_there_is_only_the_tree():
    tree = cladify.fit(np.random.default_rng(0).normal(size=(30, 3)), "hac")
    bare = cladify.Taxonomy(tree.condense(min_size=5))
    assert bare.points is None
    with pytest.raises(InvalidInput, match="kind='tree'"):
        bare.plot()
    assert len(bare.plot("tree").texts) >= 1


def test_points_are_kept_in_the_file(taxonomy, tmp_path):
    taxonomy.save(tmp_path / "a.taxonomy")
    again = cladify.Taxonomy.load(tmp_path / "a.taxonomy")
    np.testing.assert_array_equal(again.points, taxonomy.points)
    assert taxonomy.points.shape == (600, 2) and taxonomy.points.dtype == np.float32


def test_slides_have_the_colours_of_the_page():
    script = files("cladify.explore").joinpath("static", "colors.js").read_text(encoding="utf-8")
    block = re.search(r"const BASE = \[(.*?)\];", script, re.DOTALL).group(1)
    page = ["#" + "".join(f"{int(c):02x}" for c in each) for each in re.findall(r"\[(\d+), (\d+), (\d+)\]", block)]
    assert list(_STRONG) == page


def test_numbers_of_namesakes_are_not_repeated():
    random = np.random.default_rng(0)
    y = np.repeat(np.arange(20), 30)
    X = 9 * random.normal(size=(5, 10))[y % 5] + 4 * random.normal(size=(20, 10))[y] + random.normal(size=(600, 10))
    same = cladify.Taxonomy.fit(X, [f"kind{g % 5}" for g in y.tolist()], min_size=8)
    assert any(re.search(r" \(\d+\)$", name) for name in same.names.values())  # parts of a group have its name
    names = [text.get_text() for text in draw_taxonomy(same, n_groups=5).texts]
    assert len(names) >= 4
    assert not [name for name in names if re.sub(r" \(\d+\)$", "", name) in names and "(" in name]
