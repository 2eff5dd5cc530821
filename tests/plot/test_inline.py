"""What a notebook shows by itself: a picture and an outline in which nothing of the data becomes markup."""

import base64
import io
import re

import numpy as np
from matplotlib import image, pyplot

import cladify
from cladify.plot import taxonomy_html, tree_html


def picture_of(html):
    (data,) = re.findall(r'src="data:image/png;base64,([^"]+)"', html)
    return image.imread(io.BytesIO(base64.b64decode(data)))


def test_a_taxonomy_shows_its_map_and_its_outline_escaped():
    random = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 20)
    X = 9 * np.eye(3)[y] + random.normal(size=(60, 3))
    taxonomy = cladify.Taxonomy.fit(X, [f"kind{g} thing{g}" for g in y], min_size=10)
    with taxonomy.editing(None):
        taxonomy.rename(taxonomy.levels[0].nodes[0], "<script>alert(1)</script> & more")
        html = taxonomy._repr_html_()
    assert html == taxonomy_html(taxonomy)
    assert "<script" not in html and "&lt;script&gt;alert(1)&lt;/script&gt; &amp; more" in html
    assert set(re.findall(r"</?(\w+)", html)) == {"div", "code", "img", "pre"}
    picture = picture_of(html)
    assert picture.shape[:2] == (384, 512) and picture[..., :3].std() > 0.02  # not empty
    assert not pyplot.get_fignums()  # nothing is left for pyplot to show a second time


def test_a_tree_shows_its_top_and_a_bare_taxonomy_its_tree():
    tree = cladify.fit(np.random.default_rng(0).normal(size=(40, 3)), "hac")
    html = tree._repr_html_()
    assert html == tree_html(tree) and "n_leaves=40" in html
    assert picture_of(html)[..., :3].std() > 0.02
    assert 'alt="tree of 40 items"' in cladify.Taxonomy(tree.condense(min_size=5))._repr_html_()
