"""Measurements in fresh processes, taken in turn: what all the commands of this folder share.

A child is ``child.py`` with a JSON request; what it answers is appended to the outcome of its
name, and a name that failed or hit its time limit is not tried again.
"""

import json
import signal
import statistics
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

import common
import report
import runners

PROGRAM = str(Path(__file__).with_name("child.py"))

# Loading and preparing may take this much longer than the timed part before a child is given up.
SETUP_SECONDS = 600

# A fit that takes longer is measured once: its noise is a small share of it.
SLOW_SECONDS = 10.0


def fit_request(problem, library, options, **more):
    """A request for one timed fit of ``library`` on ``problem``."""
    return {
        "task": "svc_fits",  # unless `more` has another
        "library": library,
        "problem": asdict(problem),
        "data_folder": options.data,
        "tol": options.tol,
        "threads": threads_of(library, options),
        "timeout": options.timeout,
        **more,
    }


def threads_of(library, options):
    return runners.LIBRARIES[library].n_threads or options.threads


def in_turn(names, make_request, repeats):
    """Outcomes by name, after ``repeats`` rounds over ``make_request(name, repeat)``.

    One whose first fit took longer than SLOW_SECONDS is measured once.
    """
    outcomes = {name: {"measurements": [], "timed_out": False, "error": None} for name in names}
    for repeat in range(repeats):
        for name, outcome in outcomes.items():
            slowest = max((one.get("fit_seconds", 0) for one in outcome["measurements"]), default=0)
            if not (outcome["timed_out"] or outcome["error"] or slowest > SLOW_SECONDS):
                _measure(make_request(name, repeat), outcome)
    report.progress("")
    return outcomes


def take_medians(outcomes, keys):
    """Store the median over the repeats of every key, None where nothing was measured."""
    for outcome in outcomes.values():
        for key in keys:
            values = [one[key] for one in outcome["measurements"] if key in one]
            outcome[key] = statistics.median(values) if values else None


def _measure(request, outcome):
    library, limit = request["library"], 2 * request["timeout"] + SETUP_SECONDS
    report.progress(f"{request.get('problem', {}).get('name', request['task'])} {library}")
    with tempfile.TemporaryDirectory(prefix="maxmargin-bench-") as folder:
        answer_file = Path(folder) / "answer.json"
        try:
            done = subprocess.run(
                [sys.executable, PROGRAM],
                input=json.dumps({**request, "answer_file": str(answer_file)}),
                capture_output=True,
                text=True,
                env=common.child_environment(
                    request["threads"], is_peer=not runners.is_ours(library)
                ),
                timeout=limit,
            )
        except subprocess.TimeoutExpired:
            outcome["error"] = f"gave up after {limit:g} s"
            return
        has_answer = answer_file.exists()
        if has_answer:
            outcome["measurements"].append(json.loads(answer_file.read_text()))
    if done.returncode == -signal.SIGALRM:
        # The fit is answered before the prediction begins.
        outcome["predict_timed_out" if has_answer else "timed_out"] = True
    elif done.returncode != 0:
        outcome["error"] = f"exit code {done.returncode}: {done.stderr.strip()[-2000:]}"
