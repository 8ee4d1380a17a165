"""Options and fixtures of the pytest-benchmark files."""

import pytest

import common

FIGURES = pytest.StashKey[list]()


def pytest_addoption(parser):
    parser.addoption("--quick", action="store_true", help="small sizes: shows that everything runs")


def pytest_configure(config):
    config.stash[FIGURES] = []


def pytest_benchmark_update_machine_info(config, machine_info):
    machine_info["maxmargin"] = common.machine_info()


@pytest.fixture(scope="session")
def quick(request):
    """Small sizes: with --quick, and where --benchmark-disable makes timing pointless."""
    return request.config.getoption("--quick") or request.config.getoption("--benchmark-disable")


@pytest.fixture
def figures(request, benchmark):
    """A function that stores derived figures (GFLOP/s, shares) with the benchmark's result.

    It takes a function from median seconds to a dict; the figures go to extra_info (and so into
    --benchmark-json) and are listed after the tables of times.
    """

    def store(of_seconds):
        if benchmark.stats is None:  # --benchmark-disable
            return
        values = of_seconds(benchmark.stats.stats.median)
        benchmark.extra_info.update(values)
        request.config.stash[FIGURES].append((request.node.nodeid, values))

    return store


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter, config):
    lines = config.stash[FIGURES]
    if not lines:
        return
    terminalreporter.section("figures")
    width = max(len(name) for name, _ in lines)
    for name, values in lines:
        shown = ", ".join(f"{key} {_shown(value)}" for key, value in values.items())
        terminalreporter.write_line(f"{name:<{width}}  {shown}")


def _shown(value):
    return f"{value:.4g}" if isinstance(value, float) else str(value)
