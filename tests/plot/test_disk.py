"""The Poincaré disk as a picture."""

import base64
import hashlib
import json
import re

import matplotlib
import numpy as np
import PIL.Image
import pytest

import cladify
from cladify.plot import animate_disk, disk, save_film
from cladify.plot.disk import _geodesic

matplotlib.use("Agg")


def test_leaves_branches_and_classes():
    X = np.random.default_rng(0).standard_normal((40, 3))
    model = cladify.HypHC(n_init=1, n_steps=20, n_rounds=0, random_state=0).fit(X)
    ax = disk(model.tree_, model.embedding_, labels=np.arange(40) % 3)
    assert len(ax.get_legend().get_texts()) == 3
    leaves = np.concatenate([c.get_offsets() for c in ax.collections[1:]])
    assert len(leaves) == 40
    assert len(ax.collections[0].get_segments()) == 78
    matplotlib.pyplot.close("all")


def test_any_tree_and_few_branches():
    tree = cladify.RandomTree(random_state=0).fit(np.zeros((5000, 1))).tree_
    ax = disk(tree, n_branches=50)
    assert len(ax.collections[0].get_segments()) == 100
    matplotlib.pyplot.close("all")


def test_branches_are_geodesics():
    """Every point of the line is at the distances that add up."""

    def distance(x, y):
        room = (1 - (x * x).sum(-1)) * (1 - (y * y).sum(-1))
        return np.arccosh(1 + 2 * ((x - y) ** 2).sum(-1) / room)

    x, y = np.array([0.7, 0.1]), np.array([-0.2, 0.9 - 0.05])
    line = _geodesic(x, y)
    np.testing.assert_allclose(distance(x, line) + distance(line, y), distance(x, y), rtol=1e-9)


def test_an_animation(tmp_path):
    X = np.random.default_rng(0).standard_normal((20, 3))
    model = cladify.HypHC(n_init=1, n_steps=20, n_rounds=0, n_snapshots=3, random_state=0, patience=None).fit(X)
    out = save_film(model.snapshots_, tmp_path / "film.gif", labels=np.arange(20) % 2)
    with PIL.Image.open(out) as film:
        assert film.format == "GIF" and film.n_frames == 3
    assert matplotlib.pyplot.get_fignums() == []


def test_bad_input():
    tree = cladify.Tree([2, 2, -1])
    with pytest.raises(cladify.CladifyError, match=r"embedding must have one row a leaf \(2\), got 3"):
        disk(tree, np.zeros((3, 2)))
    with pytest.raises(cladify.CladifyError, match=r"labels must have one entry a leaf \(2\)"):
        disk(tree, labels=[1])
    with pytest.raises(cladify.CladifyError, match="n_snapshots above 0"):
        animate_disk([])


def film_of(page):
    return json.loads(re.search(r'id="film">(.*?)</script>', page, re.DOTALL)[1])


def test_a_film_is_one_file_that_loads_nothing(tmp_path):
    X = np.random.default_rng(0).standard_normal((300, 3))
    model = cladify.HypHC(n_init=2, n_steps=20, n_rounds=0, n_snapshots=3, random_state=0, patience=None).fit(X)
    hostile = np.where(np.arange(300) % 2, "</script><script>alert(1)</script>", "plain")
    out = save_film(model.snapshots_, tmp_path / "film.html", labels=hostile)
    page = out.read_text(encoding="utf-8")
    assert page.count("<script") == 2 and "http" not in page.replace("http-equiv", "").replace("http://www.w3.org", "")
    film = film_of(page)
    assert [frame["step"] for frame in film["frames"]] == [0, 10, 20]
    assert [name for name, _ in film["classes"]] == sorted({*hostile.tolist()})
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() in page
    for (_, Z), frame in zip(model.snapshots_, film["frames"], strict=True):
        place = np.array(frame["places"])
        np.testing.assert_allclose(place[:300], Z, atol=1e-4)
        # 200 nodes with two branches each: every child once, the root at the centre never.
        child, parent = np.array(frame["branches"]).T
        assert len(child) == len(set(child.tolist())) == 400
        assert len(set(parent.tolist())) == 200 and parent.min() >= 300
        assert (np.hypot(*place[parent].T) <= np.hypot(*place[child].T) + 1e-3).mean() > 0.9


def test_the_snapshots_are_those_of_one_start():
    X = np.random.default_rng(0).standard_normal((30, 3))
    model = cladify.HypHC(n_init=4, n_steps=40, n_rounds=0, n_snapshots=9, random_state=0, patience=None).fit(X)
    angle = np.unwrap([np.arctan2(Z[:, 1], Z[:, 0]) for _, Z in model.snapshots_], axis=0)
    assert np.median(np.abs(np.diff(angle, axis=0)), axis=1).max() < 0.7  # a step turns by 0.1 at most, five a frame


def test_films_that_cannot_be(tmp_path):
    Z = [(0, np.array([[0.1, 0.2], [0.3, 0.1]]))]
    with pytest.raises(cladify.CladifyError, match=r"use \.html or \.gif"):
        save_film(Z, tmp_path / "film.mp4")
    with pytest.raises(cladify.CladifyError, match="n_snapshots above 0"):
        save_film([], tmp_path / "film.html")
    with pytest.raises(cladify.CladifyError, match=r"labels must have one entry a leaf \(2\)"):
        save_film(Z, tmp_path / "film.html", labels=[1])
    with pytest.raises(cladify.CladifyError, match="missing"):
        save_film(Z, tmp_path / "missing" / "film.html")
