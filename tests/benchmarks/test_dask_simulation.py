"""The simulated cluster keeps the rules of a real one."""

import numpy as np
import pytest

pytest.importorskip("distributed")

from benchmarks.dask_simulation import Run, Stage, Workers, end_of


def ends(stage, workers, lost=0.0):
    return end_of(stage, workers, 0.0, lost, np.random.default_rng(0))


def test_tasks_share_the_workers():
    stage = Stage("even", tasks=8, seconds=80.0)
    assert [round(ends(stage, w)[0]) for w in (1, 2, 3, 8, 100)] == [80, 40, 30, 10, 10]
    rounds = Stage("rounds", tasks=8, seconds=80.0, rounds=4)  # 4 x 8 tasks of 2.5 s, one round after another
    assert [round(ends(rounds, w)[0]) for w in (1, 3, 8)] == [80, 30, 10]


def test_a_lost_worker_costs_its_task():
    stage = Stage("even", tasks=400, seconds=40_000.0)
    end, again = ends(stage, 4, lost=3.6)  # once in 1000 s of work
    assert 20 <= again <= 60 and 10_000 < end < 13_000


def test_the_plan_grows_with_the_rows_and_fits_the_workers():
    small, large = (Run(int(n), 64, 10, 3, Workers(2, 1.2e9)) for n in (1e6, 1e7))
    for before, after in zip(small.stages, large.stages, strict=True):
        assert before.name == after.name and before.tasks <= after.tasks and before.seconds <= after.seconds
    assert max(stage.memory for stage in large.stages) < 1.2e9
