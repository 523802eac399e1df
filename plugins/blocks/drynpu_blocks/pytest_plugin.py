"""
The pytest plugin: budgets of the simulated npu in tests.

The fixture ``npu_profile`` records a block and holds its numbers; ``--npu-profile`` records every test;
``--npu-baseline`` checks the numbers of recorded tests against an earlier run. Nothing of drynpu is imported
before one of them is used.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from drynpu_blocks.baseline import Baseline
    from drynpu_blocks.block_profile import BlockProfile

_PROFILE = pytest.StashKey["BlockProfile"]()
_ROWS = pytest.StashKey[list[tuple[str, "BlockProfile"]]]()
_BASELINE = pytest.StashKey["Baseline"]()
_SENT = "npu_baseline"
"""Key of the numbers that a process of pytest-xdist sends to the one that started it."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("drynpu")
    group.addoption(
        "--npu-profile",
        metavar="DIR",
        nargs="?",
        const="npu_profiles",
        default=None,
        help="Record each test on the simulated npu below DIR (npu_profiles without a name), and list the numbers.",
    )
    group.addoption(
        "--npu-baseline",
        metavar="FILE",
        help="Check the numbers of recorded tests against FILE. Where there is none, write it.",
    )
    group.addoption(
        "--npu-baseline-update",
        action="store_true",
        help="Write the numbers of this run into the file of --npu-baseline.",
    )
    group.addoption(
        "--npu-baseline-tolerance",
        metavar="PERCENT",
        default="10%",
        help="By how much times and memory may grow (default: 10%%); the number of kernels may not.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Read the baseline, so that a wrong file or option ends the run before its first test."""
    path = config.getoption("--npu-baseline")
    update = config.getoption("--npu-baseline-update")
    if path is None:
        if update:
            raise pytest.UsageError("--npu-baseline-update needs the file: --npu-baseline FILE")
        return
    from drynpu import DrynpuError
    from drynpu.cli.shared import read_share
    from drynpu_blocks.baseline import Baseline

    try:
        tolerance = read_share(config.getoption("--npu-baseline-tolerance"))
        baseline = Baseline(Path(path).absolute(), tolerance, update).load()
    except (ValueError, DrynpuError) as error:
        raise pytest.UsageError(f"--npu-baseline: {error}") from error
    config.stash[_BASELINE] = baseline


@pytest.fixture
def npu_profile(request: pytest.FixtureRequest) -> Iterator[BlockProfile]:
    """A recording of a block on the simulated npu, with its times, kernels and memory."""
    pytest.importorskip("torch_npu", reason="needs drynpu[torch]")
    from drynpu_blocks.block_profile import BlockProfile

    profile = BlockProfile(_folder(request.node, request.config))
    request.node.stash[_PROFILE] = profile
    yield profile
    if profile.used:
        _rows(request.config).append((request.node.nodeid, profile))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Record a test, where ``--npu-profile`` is given and the test does not record itself; check its numbers."""
    if "npu_profile" in getattr(item, "fixturenames", ()):
        result = yield
        _check(item, item.stash.get(_PROFILE, None))
        return result
    if item.config.getoption("--npu-profile") is None:
        return (yield)
    from drynpu_blocks.block_profile import BlockProfile

    profile = BlockProfile(_folder(item, item.config))
    try:
        profile.__enter__()
    except ImportError:  # no PyTorch
        return (yield)
    try:
        result = yield
    finally:
        with suppress(RuntimeError):  # a test that does nothing on the npu is none the worse
            profile.__exit__(None, None, None)
    if profile.used and profile.kernel_count:
        _rows(item.config).append((item.nodeid, profile))
        _check(item, profile)
    return result


def _check(item: pytest.Item, profile: BlockProfile | None) -> None:
    """Fail a test whose numbers are worse than the baseline allows."""
    baseline = item.config.stash.get(_BASELINE, None)
    if baseline is None or profile is None or not profile.used:
        return
    from drynpu_blocks.baseline import numbers_of

    problem = baseline.check(item.nodeid, numbers_of(profile))
    if problem:
        pytest.fail(problem, pytrace=False)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send the numbers to the process that writes them, where pytest-xdist has started this one."""
    baseline = session.config.stash.get(_BASELINE, None)
    sent = getattr(session.config, "workeroutput", None)
    if baseline is not None and sent is not None:
        sent[_SENT] = baseline.seen


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Gather the numbers of a process of pytest-xdist."""
    baseline = node.config.stash.get(_BASELINE, None)
    if baseline is not None:
        baseline.seen.update(getattr(node, "workeroutput", {}).get(_SENT, {}))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the numbers beside a failed budget."""
    report = yield
    profile = item.stash.get(_PROFILE, None)
    if report.when == "call" and report.failed and profile is not None and profile.used:
        report.sections.append(("npu profile", repr(profile)))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """List the recorded tests where ``--npu-profile`` is given; write them to the job's summary on GitHub as well."""
    baseline = config.stash.get(_BASELINE, None)
    if baseline is not None:
        _tell(baseline, terminalreporter)
    rows = config.stash.get(_ROWS, [])
    if config.getoption("--npu-profile") is None or not rows:
        return
    terminalreporter.section("npu profiles (times are modelled)")
    for node, profile in rows:
        terminalreporter.write_line(f"{node}: {profile}")
    if os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(os.environ["GITHUB_STEP_SUMMARY"]).open("a", encoding="utf-8") as stream:
            stream.write(_markdown(rows))


def _tell(baseline: Baseline, terminalreporter: pytest.TerminalReporter) -> None:
    """Write the baseline where that is due, and say what was done with it."""
    new, seen = len(baseline.new), len(baseline.seen)
    written = baseline.store()
    terminalreporter.section("npu baseline")
    if written:
        terminalreporter.write_line(f"{seen} tests written to {baseline.path}")
        return
    extra = f"; {new} are not in it yet (--npu-baseline-update writes them)" if new else ""
    terminalreporter.write_line(f"{seen - new} tests checked against {baseline.path}{extra}")
    for test, changes in baseline.better.items():
        terminalreporter.write_line(f"better than it: {test}: {'; '.join(map(str, changes[:3]))}")


def _markdown(rows: list[tuple[str, BlockProfile]]) -> str:
    head = (
        "### NPU profiles\n\n| test | step ms | kernels | kernel ms | peak MB |\n| --- | ---: | ---: | ---: | ---: |\n"
    )
    lines = []
    for node, profile in rows:
        peak = profile.summary.peak_allocated_bytes
        memory = "" if peak is None else f"{peak / 2**20:.1f}"
        name = node.replace("|", "\\|")
        lines.append(
            f"| `{name}` | {profile.step_ms:.3f} | {profile.kernel_count} | {profile.kernel_ms:.3f} | {memory} |\n"
        )
    return head + "".join(lines) + "\nTimes are modelled by drynpu.\n"


def _rows(config: pytest.Config) -> list[tuple[str, BlockProfile]]:
    return config.stash.setdefault(_ROWS, [])


def _folder(item: pytest.Item, config: pytest.Config) -> Path:
    """Return a new folder for one test: kept where ``--npu-profile`` names one, else pytest's temporary folder."""
    name = re.sub(r"[^A-Za-z0-9_.-]+", "_", item.nodeid)[-150:]
    chosen = config.getoption("--npu-profile")
    if chosen is not None:
        return Path(str(chosen)).absolute() / name
    factory: pytest.TempPathFactory = config._tmp_path_factory  # type: ignore[attr-defined]
    return factory.mktemp("npu_profile")
