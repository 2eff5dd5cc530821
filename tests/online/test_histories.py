"""Random histories of every online class, with folders, faults and crashes, against a plain model."""

import os

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from online_histories import CHANGES, FAULTS, KINDS, History, run

HISTORIES = int(os.environ.get("CLADIFY_HISTORIES", "10000"))


class Machine(RuleBasedStateMachine):
    """Every rule is one step of :class:`online_histories.History`, which compares with the model."""

    @initialize(kind=st.sampled_from(list(KINDS)), seed=st.integers(0, 10**6))
    def begin(self, kind, seed):
        self.history = History(kind, seed)
        self.history.add()

    @rule(what=st.sampled_from(CHANGES))
    def change(self, what):
        getattr(self.history, what)()

    @rule(what=st.sampled_from(CHANGES), fault=st.sampled_from([*FAULTS, "crash"]))
    def change_with_a_fault(self, what, fault):
        getattr(self.history, what)(fault)

    @rule()
    def save(self):
        self.history.save()

    @rule(what=st.sampled_from(["reopen", "read", "pickled"]))
    def look(self, what):
        getattr(self.history, what)()

    def teardown(self):
        if hasattr(self, "history"):
            self.history.close()


TestMachine = pytest.mark.filterwarnings("ignore:The cut has")(Machine.TestCase)
TestMachine.settings = settings(settings.default, stateful_step_count=15)


@pytest.mark.filterwarnings("ignore:The cut has")
@pytest.mark.parametrize("kind", KINDS)
def test_some_histories(kind):
    assert sum(run(kind, seed) for seed in range(12)) > 0  # changes were refused, too


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore:The cut has")
@pytest.mark.parametrize("kind", KINDS)
def test_many_histories(kind):
    for seed in range(12, 12 + HISTORIES // len(KINDS)):
        run(kind, seed)
