"""How many threads are used: variables, masks, quotas of control groups, threadpoolctl, n_jobs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

import maxmargin
from maxmargin import _core
from support.fresh_process import needs_linux, run


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"MAXMARGIN_NUM_THREADS": "3", "OMP_NUM_THREADS": "1"}, 3),
        ({"MAXMARGIN_NUM_THREADS": "", "OMP_NUM_THREADS": "1"}, 1),
        ({"MAXMARGIN_NUM_THREADS": "", "OMP_NUM_THREADS": " 3 , 2"}, 3),
        ({"MAXMARGIN_NUM_THREADS": "", "OMP_NUM_THREADS": "many"}, 0),
        ({"MAXMARGIN_NUM_THREADS": "", "OMP_NUM_THREADS": "0"}, 0),
    ],
)
def test_variables(environment: Mapping[str, str], expected: int) -> None:
    limits = _core.CpuLimits()
    machine = min(limits.in_mask, -int(-limits.quota // 1)) if limits.quota else limits.in_mask
    count, n_jobs = run(
        "from maxmargin._input import check_n_jobs\nprint(_core.thread_count(), check_n_jobs(-2))",
        environment,
    ).split()
    assert int(count) == (expected or machine)
    assert int(n_jobs) == max(1, int(count) - 1)


@pytest.mark.parametrize("text", ["two", "0", "-1", "2.5", "2,1", "99999999999999999999"])
def test_a_variable_that_is_no_number_is_an_error(text: str) -> None:
    code = """
try:
    fit()
except ValueError as error:
    print(error)
"""
    # Without the fit on one thread, which asks no limits.
    message = run(code, {"MAXMARGIN_NUM_THREADS": text})
    assert message == f"MAXMARGIN_NUM_THREADS must be an integer >= 1, got '{text}'"


@pytest.mark.parametrize("name", ["SVC", "LinearSVC", "Perceptron", "SGDClassifier"])
def test_such_a_variable_is_an_error_of_the_smallest_fit_too(name: str) -> None:
    code = f"""
try:
    mm.{name}().fit([[0.0], [1.0]], [0, 1])
except ValueError as error:
    print(error)
"""
    message = run(code, {"MAXMARGIN_NUM_THREADS": "x"})
    assert message == "MAXMARGIN_NUM_THREADS must be an integer >= 1, got 'x'"


def test_n_jobs_counts_down_from_all() -> None:
    X, y = [[0.0], [1.0]], [0, 1]
    expected = maxmargin.SVC(n_jobs=1).fit(X, y).dual_coef_
    for n_jobs in (-1, -2, -1000, 1000):
        assert (maxmargin.SVC(n_jobs=n_jobs).fit(X, y).dual_coef_ == expected).all()


@needs_linux
def test_a_mask_that_is_set_after_the_start_holds() -> None:
    run(
        """
assert fit() == alone
before, one = n_threads(), {min(os.sched_getaffinity(0))}
os.sched_setaffinity(0, one)
assert (_core.thread_count(), _core.thread_count(64)) == (1, 1)
assert fit() == fit(-2) == fit(64) == alone
assert n_threads() == before
assert mm.config.describe().endswith("threads        1 (1 in the affinity mask, no CPU quota)")
""",
        {"MAXMARGIN_NUM_THREADS": ""},
    ) if not _core.CpuLimits().quota else pytest.skip("the machine has a CPU quota")


@needs_linux
def test_one_processor_and_64_threads() -> None:
    run(
        """
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
assert _core.thread_count() == 64
assert fit() == alone
""",
        {"MAXMARGIN_NUM_THREADS": "64"},
    )


def lay_out(root: Path, files: Mapping[str, str]) -> str:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text + "\n")
    return str(root)


MOUNT_2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate"
MOUNT_1 = "33 25 0:29 %s /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct"


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        ({}, 0.0),
        ({"proc/self/cgroup": "0::/"}, 0.0),
        (  # a group of version 2, below one with less
            {
                "proc/self/cgroup": "0::/pod/main",
                "proc/self/mountinfo": MOUNT_2,
                "sys/fs/cgroup/pod/cpu.max": "150000 100000",
                "sys/fs/cgroup/pod/main/cpu.max": "max 100000",
            },
            1.5,
        ),
        (  # a container of version 2, whose own group is the root
            {
                "proc/self/cgroup": "0::/",
                "proc/self/mountinfo": f"{MOUNT_1 % '/'}\n{MOUNT_2}",
                "sys/fs/cgroup/cpu.max": "50000 100000",
            },
            0.5,
        ),
        (  # version 1, and a version 2 without controllers
            {
                "proc/self/cgroup": "12:cpuset:/a\n4:cpu,cpuacct:/a/b\n0::/a",
                "proc/self/mountinfo": MOUNT_1 % "/",
                "sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us": "200000",
                "sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_period_us": "50000",
                "sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us": "-1",
                "sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us": "100000",
            },
            4.0,
        ),
        (  # a container of version 1, which sees its own group as the root of the mount
            {
                "proc/self/cgroup": "4:cpu,cpuacct:/docker/1f",
                "proc/self/mountinfo": MOUNT_1 % "/docker/1f",
                "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "300000",
                "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000",
            },
            3.0,
        ),
        (  # files that make no sense
            {
                "proc/self/cgroup": "::\nx\n0::/pod",
                "proc/self/mountinfo": f"\n - \n{MOUNT_2}",
                "sys/fs/cgroup/pod/cpu.max": "-5 zero",
                "sys/fs/cgroup/cpu.max": "",
            },
            0.0,
        ),
    ],
)
def test_quotas_of_control_groups(tmp_path: Path, files: Mapping[str, str], quota: float) -> None:
    assert _core.cpu_quota(lay_out(tmp_path, files)) == quota


@pytest.mark.parametrize("order", ["maxmargin, threadpoolctl", "threadpoolctl, maxmargin"])
def test_threadpoolctl_in_any_order_of_imports(order: str) -> None:
    pytest.importorskip("threadpoolctl", minversion="3.2")
    code = f"""
import subprocess, sys
subprocess.run([sys.executable, "-c", '''
import {order}
with threadpoolctl.threadpool_limits(limits=1):
    assert maxmargin.config.thread_count() == 1
assert maxmargin.config.thread_count() == 2
assert not any("maxmargin" in type(finder).__module__ for finder in __import__("sys").meta_path)
'''], check=True)
"""
    run(code)


def test_threadpoolctl() -> None:
    threadpoolctl = pytest.importorskip("threadpoolctl", minversion="3.2")
    before = _core.thread_count()
    (ours,) = [i for i in threadpoolctl.threadpool_info() if i["internal_api"] == "maxmargin"]
    assert (ours["num_threads"], ours["version"]) == (before, maxmargin.__version__)
    with threadpoolctl.threadpool_limits(limits=1):
        assert (_core.thread_count(), _core.thread_count(2)) == (1, 1)
        assert "limited to 1 by threadpoolctl" in maxmargin.config.describe()
    for n in (3, 1):
        with threadpoolctl.threadpool_limits(limits=n, user_api="openmp"):
            assert _core.thread_count() == n
    for n in (0, -1):
        with pytest.raises(ValueError, match=f"the limit of threads must be >= 1, got {n}"):
            threadpoolctl.threadpool_limits(limits=n, user_api="openmp")
    with threadpoolctl.threadpool_limits(limits=2**40, user_api="openmp"):
        assert _core.thread_count() == 1024
    assert (_core.thread_count(), _core.CpuLimits().by_call) == (before, 0)
