"""
The pytest plugin: budgets of the simulated npu in tests.

The fixture ``npu_profile`` records a block and holds its numbers; ``--npu-profile`` records every test. Nothing of
drynpu is imported before one of them is used.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack, redirect_stdout
from io import StringIO
from pathlib import Path
from statistics import median
from types import TracebackType
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from drynpu.analysis import Summary

_ENDLESS = 1_000_000
"""Steps of a schedule that records all of them."""
_UNREAD = "there are no numbers before the block of `with npu_profile:` has ended"
_ROWS = pytest.StashKey[list[tuple[str, "NpuProfile"]]]()


class NpuProfile:
    """
    A recording on the simulated npu and its numbers, which are there when the block has ended. Times are modelled.

    ::

        def test_step(npu_profile):
            with npu_profile:
                for _ in range(3):
                    train_step()
                    npu_profile.step()
            assert npu_profile.step_ms < 12
            assert "TransData" not in npu_profile.kernels
            assert npu_profile.peak_memory < 2 * 2**30
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._profiler: Any = None
        self._summary: Summary | None = None
        self._steps = 0

    @property
    def used(self) -> bool:
        """Whether a block was recorded."""
        return self._summary is not None

    @property
    def summary(self) -> Summary:
        """All numbers. Raises `RuntimeError` before the block has ended."""
        if self._summary is None:
            raise RuntimeError(_UNREAD)
        return self._summary

    @property
    def path(self) -> Path:
        """The result directory, for ``drynpu dashboard`` and the vendor's tools."""
        return self.summary.path

    @property
    def step_ms(self) -> float:
        """Median time of the steps, so that the first may set things up; without :meth:`step` that of the block."""
        names = ("computing_us", "communication_not_overlapped_us", "free_us")
        times = self.summary.steps.select(names).sum_horizontal()
        return median(times.to_list()) / 1000 if len(times) else 0.0

    @property
    def kernel_ms(self) -> float:
        """Time of all kernels."""
        return self.summary.kernel_us / 1000

    @property
    def kernels(self) -> Mapping[str, int]:
        """Type of kernel -> how many ran."""
        counts: dict[str, int] = {}
        for kernel in self.summary.kernels:
            counts[kernel.op_type] = counts.get(kernel.op_type, 0) + kernel.count
        return counts

    @property
    def kernel_count(self) -> int:
        """How many kernels ran."""
        return self.summary.kernel_count

    @property
    def peak_memory(self) -> int:
        """Largest device memory of tensors in bytes. Raises `RuntimeError` if none was recorded."""
        if self.summary.peak_allocated_bytes is None:
            raise RuntimeError("no device memory was recorded: nothing was allocated on the npu in the block")
        return self.summary.peak_allocated_bytes

    def step(self) -> None:
        """End a step."""
        self._steps += 1
        with redirect_stdout(StringIO()):
            self._profiler.step()

    def __enter__(self) -> NpuProfile:
        """Begin to record."""
        profiler = pytest.importorskip("torch_npu", reason="needs drynpu[torch]").profiler
        os.environ.setdefault("DRYNPU_QUIET", "1")  # no summary of the last recording after pytest's own
        with redirect_stdout(StringIO()):
            self._profiler = profiler.profile(
                schedule=profiler.schedule(wait=0, warmup=0, active=_ENDLESS, repeat=1),
                on_trace_ready=profiler.tensorboard_trace_handler(str(self.folder)),
                profile_memory=True,
                record_shapes=True,
                experimental_config=profiler._ExperimentalConfig(profiler_level=profiler.ProfilerLevel.Level1),
            )
            self._profiler.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End the recording and read it; what follows the last step counts to none."""
        from drynpu.analysis import summarise
        from drynpu.products import find_profiles, load_profile

        with redirect_stdout(StringIO()) as said:
            self._profiler.stop()
        found = find_profiles(self.folder) if self.folder.is_dir() else []
        if not found:
            raise RuntimeError(f"nothing was recorded: {said.getvalue().strip() or 'no operator ran on the npu'}")
        summary = summarise(load_profile(found[-1]))
        if self._steps:
            from attrs import evolve

            summary = evolve(summary, steps=summary.steps.head(self._steps))
        self._summary = summary

    def __str__(self) -> str:
        """Return the numbers in one line."""
        peak = self.summary.peak_allocated_bytes
        memory = "" if peak is None else f", peak {peak / 2**20:.1f} MB"
        step = f"step {self.step_ms:.3f} ms, " if self._steps else ""
        return f"{step}{self.kernel_count} kernels, {self.kernel_ms:.3f} ms{memory} (modelled)"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--npu-profile``."""
    parser.getgroup("drynpu").addoption(
        "--npu-profile",
        metavar="DIR",
        nargs="?",
        const="npu_profiles",
        default=None,
        help="Record each test on the simulated npu below DIR (npu_profiles without a name), and list the numbers.",
    )


@pytest.fixture
def npu_profile(request: pytest.FixtureRequest) -> Iterator[NpuProfile]:
    """A recording of a block on the simulated npu, with its times, kernels and memory."""
    profile = NpuProfile(_folder(request.node, request.config))
    yield profile
    if profile.used:
        _rows(request.config).append((request.node.nodeid, profile))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Record a test, where ``--npu-profile`` is given and the test does not record itself."""
    if item.config.getoption("--npu-profile") is None or "npu_profile" in getattr(item, "fixturenames", ()):
        return (yield)
    profile = NpuProfile(_folder(item, item.config))
    with ExitStack() as stack:
        try:
            stack.enter_context(_Lenient(profile))
        except pytest.skip.Exception:
            return (yield)
        result = yield
    if profile.used and profile.kernel_count:
        _rows(item.config).append((item.nodeid, profile))
    return result


class _Lenient:
    """Records what there is to record: a test that does nothing on the npu is none the worse."""

    def __init__(self, profile: NpuProfile) -> None:
        self._profile = profile

    def __enter__(self) -> None:
        self._profile.__enter__()

    def __exit__(self, *error: Any) -> None:
        try:
            self._profile.__exit__(*error)
        except RuntimeError:
            return


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the numbers beside a failed budget."""
    report = yield
    profile = getattr(item, "funcargs", {}).get("npu_profile")
    if report.when == "call" and report.failed and isinstance(profile, NpuProfile) and profile.used:
        top = ", ".join(f"{kernel.op_type} x{kernel.count}" for kernel in profile.summary.kernels[:5])
        report.sections.append(("npu profile", f"{profile}\n{top}\n{profile.path}"))
    return report


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """List the recorded tests where ``--npu-profile`` is given; write them to the job's summary on GitHub as well."""
    rows = config.stash.get(_ROWS, [])
    if config.getoption("--npu-profile") is None or not rows:
        return
    terminalreporter.section("npu profiles (times are modelled)")
    for node, profile in rows:
        terminalreporter.write_line(f"{node}: {profile}")
    if os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(os.environ["GITHUB_STEP_SUMMARY"]).open("a", encoding="utf-8") as stream:
            stream.write(_markdown(rows))


def _markdown(rows: list[tuple[str, NpuProfile]]) -> str:
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


def _rows(config: pytest.Config) -> list[tuple[str, NpuProfile]]:
    return config.stash.setdefault(_ROWS, [])


def _folder(item: pytest.Item, config: pytest.Config) -> Path:
    """Return a new folder for one test: kept where ``--npu-profile`` names one, else pytest's temporary folder."""
    name = re.sub(r"[^A-Za-z0-9_.-]+", "_", item.nodeid)[-150:]
    chosen = config.getoption("--npu-profile")
    if chosen is not None:
        return Path(str(chosen)).absolute() / name
    factory: pytest.TempPathFactory = config._tmp_path_factory  # type: ignore[attr-defined]
    return factory.mktemp("npu_profile")
