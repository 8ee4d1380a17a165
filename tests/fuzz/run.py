"""Random problems, relations and damaged files, for as long as is asked.

    python tests/fuzz/run.py --seconds 60 [--seed N] [--only NAME] [--cases N]

Ends with exit code 1 at the first failure, after the smallest program found that reproduces it.
"""

from __future__ import annotations

import argparse
import faulthandler
import secrets
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import cases  # noqa: E402
import files  # noqa: E402
import optimality  # noqa: E402
import relations  # noqa: E402

import maxmargin  # noqa: E402
from maxmargin import ConvergenceWarning  # noqa: E402

REPORTED = 3  # the exit code of the child that has printed a failure; sanitizers have 1
CHECKS: dict[str, Callable[[cases.Case, np.random.Generator], None]] = {
    "optimality": optimality.optimality,
    **{of.__name__: partial(relations.check, of) for of in relations.RELATIONS},
    "bits": relations.bits,
    "targets": relations.targets,
}
RARE = {"targets": 40}  # starts processes: one round in so many


def failure(name: str, case: cases.Case, seed: int) -> Exception | None:
    try:
        CHECKS[name](case, np.random.default_rng(seed))
    except cases.NotApplicable:
        return None
    except Exception as error:
        return error
    return None


def run_case(journal: Path, name: str, seed: int) -> str | None:
    """Run one case; return the report of its failure."""
    rng = np.random.default_rng(seed)
    case = cases.draw(rng, tame=bool(rng.random() < 0.5))
    error = failure(name, case, seed)
    if error is None:
        return None

    def fails(smaller: cases.Case) -> bool:
        journal.touch()  # has the whole patience again
        found = failure(name, smaller, seed)
        same = isinstance(error, AssertionError) or str(found)[:30] == str(error)[:30]
        return type(found) is type(error) and same

    small = cases.shrunk(case, fails)
    return f"""{type(error).__name__} in {name}: {failure(name, small, seed)}

import sys
sys.path[:0] = ["tests/fuzz", "tests"]
import numpy as np
from cases import Case
from run import CHECKS
{small.text()}
CHECKS[{name!r}](case, np.random.default_rng({seed}))
"""


def work(arguments: argparse.Namespace, journal: Path) -> int:
    """Run cases until the time is over; the journal names the one that runs."""
    runners = {name: partial(run_case, journal, name) for name in CHECKS}
    runners |= {name: partial(files.run, name) for name in files.KINDS}
    chosen = [name for name in runners if arguments.only in (None, name)]
    end, counts = time.monotonic() + arguments.seconds, Counter[str]()
    for i in range(arguments.cases * len(chosen)):
        seed, name = arguments.seed + i // len(chosen), chosen[i % len(chosen)]
        if len(chosen) > 1 and seed % RARE.get(name, 1):
            continue
        if time.monotonic() > end:
            break
        journal.write_text(f"--only {name} --seed {seed} --cases 1")
        report = runners[name](seed)
        counts[name] += 1
        if report:
            print(f"{report}\n# from: python tests/fuzz/run.py {journal.read_text()}")
            return REPORTED
    print("no failure:", ", ".join(f"{count} {name}" for name, count in counts.items()))
    return 0


def watched(child: subprocess.Popen[bytes], journal: Path, patience: float) -> int:
    """Wait for a child; end it where its journal stands still for longer than the patience."""
    while True:
        try:
            return child.wait(timeout=1)
        except subprocess.TimeoutExpired:
            if time.time() - journal.stat().st_mtime > patience:
                print(f"# a case took longer than {patience:g} s", flush=True)
                child.send_signal(signal.SIGABRT)  # faulthandler prints where it is
                time.sleep(5)  # a sanitizer may keep the signal from it
                child.kill()
                return child.wait()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, help="of the first case; random if not given")
    names = [*CHECKS, *files.KINDS, "readers"]
    parser.add_argument("--only", choices=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--cases", type=int, default=2**31, help="of each kind, at most")
    parser.add_argument(
        "--patience", type=float, default=120.0, help="seconds after which a case hangs"
    )
    parser.add_argument("--journal", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.journal:
        faulthandler.enable()
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        return work(arguments, arguments.journal)
    if arguments.seed is None:
        arguments.seed = secrets.randbelow(10**9)
    print(f"{maxmargin.__file__}, --seed {arguments.seed}", flush=True)
    status = 0
    if arguments.only != "readers":
        # In a child, whose crash then has a name.
        with tempfile.TemporaryDirectory() as folder:
            journal = Path(folder) / "journal"
            journal.touch()
            options = [f"--seed={arguments.seed}", f"--seconds={arguments.seconds}"]
            options += [f"--only={arguments.only}"] if arguments.only else []
            command = [sys.executable, __file__, *options, f"--cases={arguments.cases}"]
            child = subprocess.Popen([*command, f"--journal={journal}"])
            status = watched(child, journal, arguments.patience)
            if status not in (0, REPORTED):
                print(f"# ended by {status}: python tests/fuzz/run.py {journal.read_text()}")
    if status == 0 and arguments.only in (None, "readers"):
        share = 1 if arguments.only else 1 / 6
        status = files.run_readers(arguments.seconds * share, arguments.seed)
    return 1 if status else 0


if __name__ == "__main__":
    sys.exit(main())
