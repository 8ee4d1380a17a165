"""The line that shows how a fit goes."""

from __future__ import annotations

import os
import time
from io import StringIO

import pytest

from maxmargin import SVC, Cancelled, ConvergenceWarning
from maxmargin.progress import ProgressLine
from oracles.problems import slow_problem


def test_verbose_goes_with_a_callback(capsys):
    reports = []
    X, y = slow_problem()
    with pytest.raises(Cancelled):
        SVC(C=1e5, verbose=True, callback=lambda report: reports.append(report) or True).fit(X, y)
    assert len(reports) == 1
    line = capsys.readouterr().err
    assert f"dual objective {reports[0]['dual_objective']:.6g}  " in line
    assert f"violation {reports[0]['kkt_violation']:.3g}  " in line


def test_verbose_shows_progress(capsys):
    X, y = slow_problem()
    with pytest.warns(ConvergenceWarning):
        SVC(C=1e5, time_limit=0.5, verbose=True).fit(X, y)
    out, err = capsys.readouterr()
    assert out == ""
    assert "violation" in err
    assert err.endswith("s\n")


class Terminal(StringIO):
    def isatty(self):
        return True


REPORT = {"n_iter": 5, "dual_objective": -12.5, "kkt_violation": 0.25, "seconds": 1.5}
STATE = "fit: iteration 5  dual objective -12.5  violation 0.25  1.5 s"


@pytest.mark.parametrize("stream_type", [StringIO, Terminal])
def test_a_progress_line_ends_once_with_the_last_state(stream_type):
    stream = stream_type()
    line = ProgressLine(stream=stream, label="fit: ")
    line({**REPORT, "n_iter": 4})
    line(REPORT)
    written = f"\r\x1b[K{STATE.replace('5', '4', 1)}" if stream.isatty() else ""
    assert stream.getvalue() == written  # the second came a moment later
    line.close()
    line.close()
    assert stream.getvalue() == written + ("\r\x1b[K" if stream.isatty() else "") + f"{STATE}\n"


@pytest.mark.parametrize(("stream_type", "pause"), [(StringIO, 10.0), (Terminal, 0.2)])
def test_a_progress_line_is_written_now_and_then(monkeypatch, stream_type, pause):
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    stream = stream_type()
    line = ProgressLine(stream=stream, label="fit: ")
    line(REPORT)
    before = stream.getvalue().count(STATE)
    for step, shown in ((0.9, 0), (0.2, 1), (0.9, 1), (0.2, 2)):
        now += step * pause
        line(REPORT)
        assert stream.getvalue().count(STATE) - before == shown
    assert stream.getvalue().count("\n") == (0 if stream.isatty() else 2)


@pytest.mark.parametrize("columns", [0, 20, 60, 61, 62, 80])
def test_a_progress_line_fits_the_terminal(monkeypatch, columns):
    class Sized(Terminal):
        def fileno(self):
            return 1

    monkeypatch.setattr(os, "get_terminal_size", lambda _: os.terminal_size((columns, 24)))
    stream = Sized()
    ProgressLine(stream=stream, label="fit: ")(REPORT)
    shown = stream.getvalue().removeprefix("\r\x1b[K")
    short = "fit: iteration 5  violation 0.25  1.5 s"
    assert shown == (STATE if columns in (0, 62, 80) else short[: columns - 1])
