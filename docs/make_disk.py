"""Makes ``docs/disk.png`` and ``docs/disk.gif``: 300 digits in the Poincaré disk, ``python docs/make_disk.py``."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import numpy as np
from sklearn.datasets import load_digits

import cladify

FOLDER = Path(__file__).parent

data = load_digits()
chosen = np.random.default_rng(0).choice(len(data.data), 300, replace=False)
X, y = data.data[chosen], data.target[chosen]
model = cladify.HypHC(init="random", n_init=4, n_steps=400, n_rounds=0, n_snapshots=20, random_state=0).fit(X)
ax = cladify.plot.disk(model.tree_, model.embedding_, labels=y)
ax.figure.savefig(FOLDER / "disk.png", dpi=110)
cladify.plot.save_film(model.snapshots_, FOLDER / "disk.gif", labels=y, interval=240)
