"""The PyTorch part: the same numbers, gradients that PyTorch's own check accepts, and training end to end."""

import subprocess
import sys

import numpy as np
import pytest

import cladify
from cladify.hyperbolic.geometry import on_circle

torch = pytest.importorskip("torch")

from cladify.hyperbolic import torch as ht


def problem(n=12, count=30, seed=0):
    random = np.random.default_rng(seed)
    z = torch.tensor(on_circle(random.uniform(0, 6, n), random.uniform(0.2, 0.9, n)), requires_grad=True)
    ids = torch.tensor(np.array([random.choice(n, 3, replace=False) for _ in range(count)]))
    weight = torch.tensor(random.random((count, 3)), requires_grad=True)
    return z, ids, weight


def test_gradcheck():
    z, ids, weight = problem()
    assert torch.autograd.gradcheck(
        lambda z, w: ht.triplet_loss(z, ids, w, temperature=0.2), (z, weight), eps=1e-7, atol=1e-4
    )


def test_the_same_as_without_torch():
    z, ids, weight = problem()
    loss = ht.triplet_loss(z, ids, weight)
    (3 * loss).backward()
    value, gradient = cladify.hyperbolic.triplet_loss(z.detach().numpy(), ids.numpy(), weight.detach().numpy())
    assert float(loss.detach()) == pytest.approx(value / len(ids))
    np.testing.assert_allclose(z.grad.numpy(), 3 * gradient / len(ids))
    single = ht.triplet_loss(z.detach().float(), ids, weight.detach().float())
    assert single.dtype == torch.float32 and float(single) == pytest.approx(float(loss.detach()), rel=1e-4)


def test_the_module_descends():
    X = np.random.default_rng(0).standard_normal((80, 4))
    model = ht.HyperbolicTree(X, random_state=0, radius=0.9)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        loss = model()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert np.mean(losses[-10:]) < np.mean(losses[:10])
    assert model.tree().n_leaves == 80
    warm = ht.HyperbolicTree(X, init=model.tree(), random_state=0)
    assert cladify.objectives.dasgupta(warm.tree(), X) == pytest.approx(cladify.objectives.dasgupta(model.tree(), X))


def test_hyperbolic_logistic_regression():
    """At p = 0 the logit is 2 |a| times the signed distance to the diameter that a is normal to."""
    head = ht.HyperbolicLogisticRegression(1, random_state=0)
    with torch.no_grad():
        head.normal[:] = torch.tensor([[0.0, 2.0]])
    x = torch.tensor([[0.0, 0.5], [0.5, 0.0], [0.0, -0.9]], dtype=torch.float64)
    expected = 4 * np.array([2 * np.arctanh(0.5), 0.0, -2 * np.arctanh(0.9)])
    np.testing.assert_allclose(head(x).detach().numpy()[:, 0], expected, atol=1e-9)
    x.requires_grad_(True)
    head = ht.HyperbolicLogisticRegression(3, random_state=1)
    with torch.no_grad():
        head.point += 0.3
    assert torch.autograd.gradcheck(head, ((x.detach() * 0.8).requires_grad_(True),), atol=1e-4)
    head(x).sum().backward()
    assert torch.isfinite(x.grad).all()


@pytest.mark.parametrize("joint", [True, False])
def test_the_classifier(joint):
    random = np.random.default_rng(0)
    truth = np.arange(90) % 3
    X = np.eye(3)[truth] + 0.25 * random.standard_normal((90, 3))
    y = np.where(random.random(90) < 0.3, truth, -1)
    y[:3] = truth[:3]
    tree = cladify.fit(X, "hac", metric="cosine")
    model = ht.HyperbolicClassifier(joint=joint, n_steps=80, random_state=0).fit(X, y, init=tree)
    assert (model.transduction_ == truth).mean() > 0.8  # one line leaves .84 to .87, by rounding
    assert (model.transduction_[y >= 0] == y[y >= 0]).mean() > 0.85
    assert model.embedding_.shape == (90, 2) and model.tree_.n_leaves == 90
    one, all_cores = (
        ht.HyperbolicClassifier(joint=joint, n_steps=10, random_state=0, n_jobs=jobs).fit(X, y, init=tree)
        for jobs in (1, -1)
    )
    assert (one.embedding_ == all_cores.embedding_).all()


def test_end_to_end_beats_two_steps_where_a_class_is_in_two_places():
    """A line cuts one arc off the circle: only an embedding that knows the labels can bring both parts together."""
    random = np.random.default_rng(0)
    part = np.arange(120) % 4
    X = np.eye(4)[part] + 0.15 * random.standard_normal((120, 4))
    truth = np.array([0, 1, 0, 1])[part]
    y = np.where(random.random(120) < 0.4, truth, -1)
    tree = cladify.fit(X, "hac", metric="cosine")
    found = {
        joint: ht.HyperbolicClassifier(joint=joint, n_steps=100, random_state=0).fit(X, y, init=tree).transduction_
        for joint in (True, False)
    }
    assert (found[True] == truth).mean() > 0.9
    assert (found[True] == truth).mean() >= (found[False] == truth).mean()


def test_the_classifier_on_all_pairs_graphs_and_few_rows():
    X = np.array([[1.0, 0.0], [1.0, 0.1], [0.9, 0.1], [0.0, 1.0], [0.1, 1.0], [0.2, 1.0]])
    y = np.array(["a", -1, -1, "b", -1, -1], dtype=object)
    graph = cladify.neighbors(X, 4, "cosine")
    for given, options in ((X, {"n_neighbors": None}), (X, {"n_neighbors": 50}), (graph, {})):
        model = ht.HyperbolicClassifier(n_steps=30, random_state=0, **options).fit(given, y)
        assert model.transduction_.tolist() == ["a"] * 3 + ["b"] * 3


def test_classes_start_where_their_points_are():
    random = np.random.default_rng(0)
    angle = random.uniform(0, 2 * np.pi, 60)
    known = random.choice(60, 12, replace=False)
    target = np.arange(12) % 3
    guess = ht._nearest(angle, known, target)
    apart = np.abs(np.angle(np.exp(1j * (angle[:, None] - angle[known]))))
    assert (guess == target[apart.argmin(axis=1)]).all()
    order = ht._by_class(angle, guess)
    assert sorted(order.tolist()) == list(range(60)) and (np.diff(guess[order]) != 0).sum() == 2
    # Lines across arcs tell the arcs apart before anything is learnt.
    even = np.empty(60)
    even[order] = 2 * np.pi * np.arange(60) / 60
    head = ht.HyperbolicLogisticRegression(3, random_state=0)
    head.start_at(even, guess)
    with torch.no_grad():
        found = head(torch.from_numpy(on_circle(even, 0.999))).argmax(dim=1).numpy()
    assert (found == guess).mean() > 0.8


def test_errors():
    z, ids, weight = problem()
    with pytest.raises(cladify.CladifyError, match=r"shape \(n, 2\) on the CPU"):
        ht.triplet_loss(z.half(), ids, weight)
    with pytest.raises(cladify.CladifyError, match="shape of triplets"):
        ht.triplet_loss(z, ids, weight[:, :2])
    with pytest.raises(cladify.CladifyError, match="y has no labels"):
        ht.HyperbolicClassifier().fit(np.eye(3), [-1, -1, -1])
    with pytest.raises(cladify.CladifyError, match=r"one label a row \(3\), got 2"):
        ht.HyperbolicClassifier().fit(np.eye(3), [0, 1])
    with pytest.raises(cladify.CladifyError, match="n_neighbors must be"):
        ht.HyperbolicClassifier(n_neighbors=0).fit(np.eye(3), [0, 1, -1])
    with pytest.raises(cladify.CladifyError, match="init has 2 leaves but X has 3 rows"):
        ht.HyperbolicClassifier().fit(np.eye(3), [0, 1, -1], init=cladify.Tree([2, 2, -1]))
    with pytest.raises(cladify.CladifyError, match="weight must be"):
        ht.HyperbolicClassifier(weight=-1).fit(np.eye(3), [0, 1, -1])


def test_without_torch_one_line_says_what_to_install():
    """HypHC itself does not ask for it."""
    code = """
import sys
from importlib.abc import MetaPathFinder

asked = []

class Missing(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            asked.append(name)
            raise ImportError(name)

sys.meta_path.insert(0, Missing())
import cladify
cladify.HypHC
print("HypHC asked for", asked)
import cladify.hyperbolic.torch
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "HypHC asked for []\n"
    assert done.stderr.splitlines()[-1].endswith(
        "cladify.hyperbolic.torch needs an optional part. Install it with: pip install 'cladify[torch]'"
    )
