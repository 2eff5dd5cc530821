"""Progress: what a callback hears, and what is refused."""

import pytest

from cladify._kit.progress import Progress, reporting
from cladify.errors import InvalidInput


def test_callback_hears_every_step():
    heard = []
    with reporting(lambda *event: heard.append(event)) as report, report.stage("work", 3) as advance:
        advance()
        advance(5)
    assert heard == [("work", 0, 3), ("work", 1, 3), ("work", 3, 3)]


def test_silent_by_default(capsys):
    for quiet in (None, False):
        with reporting(quiet) as report, report.stage("work", 1) as advance:
            advance()
    assert capsys.readouterr() == ("", "")


def test_bar_goes_to_stderr(capsys):
    with reporting(True) as report, report.stage("counting", 2) as advance:
        advance(2)
    out, err = capsys.readouterr()
    assert out == "" and "counting" in err and "2/2" in err


def test_a_report_is_handed_down_as_it_is():
    report = Progress()
    with reporting(report) as same:
        assert same is report


def test_anything_else_is_refused():
    with pytest.raises(InvalidInput, match="progress must be"), reporting(3):
        pass
