"""The pool of threads: forks, exits, no threads to be had, many callers, nothing left behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.fresh_process import FIT, needs_linux, run

# Under a sanitizer, a child forked while another thread allocates waits for the allocator's lock,
# and many fits take minutes: such tests are marked no_sanitizer.
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")


@needs_linux
def test_small_fits_make_no_threads_and_larger_ones_do() -> None:
    run("""
before = n_threads()
import scipy.sparse as sp
A, b = rng.normal(size=(40, 10)), np.arange(40) % 4
for estimator in (mm.SVC(gamma=0.1), mm.NuSVC(nu=0.3, gamma=0.1), mm.SVR(gamma=0.1),
                  mm.OneClassSVM(gamma=0.1), mm.LinearSVC(), mm.LinearSVC(loss="hinge"),
                  mm.Perceptron(), mm.KernelPerceptron(gamma=0.1)):
    for samples in (A, sp.csr_matrix(A * (A > 1.0))):
        estimator.fit(samples, b).predict(samples)
assert n_threads() == before, (n_threads(), before)
fit()
assert n_threads() == before + 1, (n_threads(), before)
""")


@pytest.mark.parametrize("threads", ["2", "3", "16"])
def test_results_are_bitwise_equal_for_any_number_of_threads(threads: str) -> None:
    code = f"assert _core.thread_count() == {threads} and fit() == alone"
    run(code, {"MAXMARGIN_NUM_THREADS": threads})


# --- children ----------------------------------------------------------------------------------


@needs_fork
@pytest.mark.parametrize(
    "before",
    [
        "fit()",
        "pass",
        # libsvm's own OpenMP library has run: what waits for its threads in a child never ends.
        "from libsvm.svmutil import svm_train\nsvm_train(y[:300] * 1.0, X[:300], '-q')",
    ],
)
def test_a_forked_child_has_threads_of_its_own(before: str) -> None:
    if "libsvm" in before:
        pytest.importorskip("libsvm")
    run(
        before
        + """
for _ in range(3):
    child = os.fork()
    if child == 0:
        end_if_it_hangs()
        assert _core.thread_count() == 2
        assert fit() == alone and fit(2) == alone
        grandchild = os.fork()
        if grandchild == 0:
            end_if_it_hangs()
            assert fit() == alone
            os._exit(0)
        os._exit(os.waitstatus_to_exitcode(os.waitpid(grandchild, 0)[1]))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert fit() == alone
"""
    )


@pytest.mark.no_sanitizer
@needs_fork
def test_a_fork_while_others_fit() -> None:
    run("""
stop = False
def work():
    while not stop:
        assert fit() == alone
threads = [threading.Thread(target=work) for _ in range(2)]
for t in threads: t.start()
for _ in range(10):
    child = os.fork()
    if child == 0:
        end_if_it_hangs()
        assert fit() == alone
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
stop = True
for t in threads: t.join()
""")


@pytest.mark.no_sanitizer
@needs_fork
def test_a_fork_while_another_thread_starts_the_first_fit() -> None:
    """What the first fit of a process makes must not be waited for in a child."""
    run("""
for i in range(30):
    middle = os.fork()  # in which nothing has been made yet
    if middle == 0:
        end_if_it_hangs()
        linear = lambda: mm.LinearSVC(max_iter=3).fit(X[:, :5], y)
        threading.Thread(target=linear, daemon=True).start()
        time.sleep(2e-4 * i / 3)
        child = os.fork()
        if child == 0:
            end_if_it_hangs()
            linear()
            os._exit(0)
        os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    assert os.waitstatus_to_exitcode(os.waitpid(middle, 0)[1]) == 0
""")


@pytest.mark.no_sanitizer
@needs_fork
def test_a_fork_inside_a_callback() -> None:
    """The child goes on where no other thread was at work; else it gets an error."""
    run("""
X = np.random.default_rng(1).normal(size=(4000, 20))
y = np.arange(4000) % 12
parent, children = os.getpid(), []
def callback(report):
    if os.getpid() == parent and len(children) < 3:
        child = os.fork()
        if child: children.append(child)
        else: end_if_it_hangs()
    return False
try:
    SVC(gamma=0.05, callback=callback).fit(X, y)
except RuntimeError as error:
    assert os.getpid() != parent and "forked" in str(error), error
if os.getpid() != parent:
    os._exit(0)
for child in children:
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
""")


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_start_methods(method: str, tmp_path: Path) -> None:
    multiprocessing = pytest.importorskip("multiprocessing")
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} here")
    script = tmp_path / "script.py"
    script.write_text(
        FIT
        + f"""
def work(i):
    return fit() == alone and _core.thread_count()

if __name__ == "__main__":
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor
    assert fit() == alone
    context = multiprocessing.get_context({method!r})
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        assert list(pool.map(work, range(4))) == [2] * 4
    assert fit() == alone
"""
    )
    environment = {**os.environ, "MAXMARGIN_NUM_THREADS": "2", "PYTHONWARNINGS": "ignore"}
    result = subprocess.run(
        [sys.executable, script], env=environment, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr


def test_workers_of_joblib_obey_its_limit() -> None:
    pytest.importorskip("joblib")
    code = """
from joblib import Parallel, delayed, parallel_config
def count(n_jobs):
    from maxmargin import _core
    return _core.thread_count(n_jobs)
if __name__ == "__main__":
    with parallel_config("loky", inner_max_num_threads=1):
        assert Parallel(2)(delayed(count)(0) for _ in range(2)) == [1, 1]
"""
    run(code, {"MAXMARGIN_NUM_THREADS": ""})


# --- no threads to be had ----------------------------------------------------------------------


@needs_linux
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root")
def test_no_thread_can_be_made() -> None:
    """A limit on the processes of a user, as containers have one on their threads."""
    run("""
import resource
before = n_threads()
os.setgid(65534); os.setuid(65534)
resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
assert fit(2) == fit() == alone
assert n_threads() == before
""")


@needs_linux
@pytest.mark.no_sanitizer
@pytest.mark.parametrize("megabytes", [4, 7, 9, 12, 40])
def test_no_stack_fits_the_memory_limit(megabytes: int) -> None:
    run(
        f"""
import resource
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + ({megabytes} << 20), resource.RLIM_INFINITY))
try:
    assert fit() == alone
except MemoryError:
    pass
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
time.sleep(1.1)  # after which threads are tried again
assert fit() == alone
""",
        {"MAXMARGIN_NUM_THREADS": "16"},
    )


# --- many callers, exits, and what is left ------------------------------------------------------


@pytest.mark.no_sanitizer
@needs_linux
def test_many_short_lived_callers_share_the_threads() -> None:
    run("""
X, y = X[:500], y[:500]
alone, before = fit(), n_threads()
wrong = []
def work():
    if fit() != alone: wrong.append(threading.get_ident())
for _ in range(500):
    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads: t.start()
    for t in threads: t.join()
assert not wrong
end = time.monotonic() + 60  # a thread that was joined may still be about to end
while n_threads() > before + 1 and time.monotonic() < end: time.sleep(0.01)
assert n_threads() <= before + 1, (n_threads(), before)
""")


@pytest.mark.no_sanitizer
@needs_linux
def test_callers_with_more_threads_than_processors() -> None:
    run(
        """
wrong = []
y = np.arange(1500) % 9
alone = fit(1)
def work():
    for _ in range(3):
        if fit() != alone: wrong.append(threading.get_ident())
threads = [threading.Thread(target=work) for _ in range(5)]
for t in threads: t.start()
for t in threads: t.join()
assert not wrong
""",
        {"MAXMARGIN_NUM_THREADS": "7"},
    )


@pytest.mark.parametrize("daemon", [True, False])
@pytest.mark.parametrize("end", ["pass", "sys.exit(0)", "os._exit(0)"])
def test_exit_while_fits_run(daemon: bool, end: str) -> None:
    run(f"""
X = rng.normal(size=(4000, 20)); y = rng.integers(0, 5, 4000)
def work():
    for _ in range(1 if {not daemon} else 1000): fit()
for _ in range(3): threading.Thread(target=work, daemon={daemon}).start()
time.sleep(0.2)
{end}
""")


def test_an_exception_leaves_the_threads_healthy() -> None:
    run("""
class Stop(Exception): pass
def callback(report): raise Stop
A, b = rng.normal(size=(4000, 20)), np.arange(4000) % 2
for _ in range(5):
    try:
        SVC(gamma=50.0, C=1e6, callback=callback).fit(A, b)
    except Stop:
        pass
    assert fit() == alone
""")


@needs_linux
def test_threads_sleep_when_nobody_needs_them() -> None:
    run("""
fit()
time.sleep(0.05)
before = time.process_time()
time.sleep(0.5)
assert time.process_time() - before < 0.1, time.process_time() - before
""")


@needs_linux
def test_threads_take_no_signals() -> None:
    run("""
before = set(os.listdir("/proc/self/task"))
fit()
(new,) = set(os.listdir("/proc/self/task")) - before
status = open(f"/proc/self/task/{new}/status").read()
(blocked,) = [line.split()[1] for line in status.splitlines() if line.startswith("SigBlk")]
assert int(blocked, 16) & (1 << 1), blocked  # SIGINT
""")


@needs_linux
def test_no_openmp_library_is_loaded() -> None:
    run("""
fit()
maps = open("/proc/self/maps").read()
assert "maxmargin" in maps and not any(name in maps for name in ("libgomp", "libomp", "libiomp"))
""")
