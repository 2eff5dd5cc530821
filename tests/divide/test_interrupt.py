"""Ctrl-C stops the top-down methods inside their native loops."""

import signal
import threading
import time

import numpy as np
import pytest

from cladify import BisectConquer, BisectingKMeans


@pytest.mark.parametrize(
    "model", [BisectConquer(random_state=0), BisectingKMeans(random_state=0)], ids=lambda model: type(model).__name__
)
def test_interrupt_within_a_second(model):
    """The data is large enough that the fit cannot end first; a busy machine gets two seconds more."""
    X = np.random.default_rng(0).standard_normal((200_000, 64), dtype=np.float32)
    pressed = []

    def press():
        pressed.append(time.perf_counter())
        signal.raise_signal(signal.SIGINT)

    def start(stage, done, total):
        if done == 0 and not pressed:
            pressed.append(0.0)
            threading.Timer(0.2, press).start()

    with pytest.raises(KeyboardInterrupt):
        model.fit(X, progress=start)
    assert time.perf_counter() - pressed[-1] < 3.0
