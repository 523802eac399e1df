"""profiler_config.json: the template, what its values become, and which edits count."""

from __future__ import annotations

import json
import logging
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from drynpu_torch.profiler import AiCMetrics, ProfilerActivity, ProfilerLevel
from drynpu_torch.profiler.dynamic._config import parse_config, parse_document, template
from drynpu_torch.profiler.dynamic._monitor import ConfigMonitor, open_log

Lines = list[tuple[str, str]]

# The older form, of the CANN 8.0 guide.
OLDER = {
    "activities": ["CPU", "NPU"],
    "prof_dir": "./",
    "analyse": False,
    "record_shapes": False,
    "profile_memory": False,
    "with_stack": False,
    "with_flops": False,
    "with_modules": False,
    "active": 1,
    "experimental_config": {
        "profiler_level": "Level1",
        "aic_metrics": "PipeUtilization",
        "l2_cache": False,
        "op_attr": False,
        "data_simplification": True,
        "record_op_args": False,
        "export_type": "text",
        "msprof_tx": False,
    },
}


class _Kept(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: Lines = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append((record.levelname, record.getMessage()))


@pytest.fixture
def log() -> Iterator[logging.Logger]:
    log = logging.Logger("test", logging.DEBUG)  # noqa: LOG001 - not for the handlers of pytest
    log.addHandler(_Kept())
    yield log
    log.handlers.clear()


def said(log: logging.Logger) -> Lines:
    (handler,) = log.handlers
    assert isinstance(handler, _Kept)
    return handler.lines


def test_the_template_asks_for_everything_at_its_default(log: logging.Logger) -> None:
    config = parse_config(json.loads(template()), log)
    assert set(config.arguments["activities"]) == set(ProfilerActivity)
    flags = ("record_shapes", "profile_memory", "with_stack", "with_flops", "with_modules")
    assert [config.arguments[name] for name in flags] == [False] * 5
    assert (config.prof_dir, config.analyse, config.async_mode) == ("./", False, False)
    assert (config.active, config.warmup, config.start_step, config.ranks) == (1, 0, 0, None)
    assert config.arguments["experimental_config"]._profiler_level == ProfilerLevel.Level0
    assert config.arguments["experimental_config"]._aic_metrics == AiCMetrics.AiCoreNone
    assert said(log) == []
    assert template().splitlines()[1:5] == ['    "activities": [', '        "CPU",', '        "NPU"', "    ],"]


def test_a_file_of_the_older_form_means_the_next_step(log: logging.Logger) -> None:
    config = parse_config(OLDER, log)
    assert (config.start_step, config.warmup, config.active) == (-1, 0, 1)
    experimental = config.arguments["experimental_config"]
    assert (experimental._profiler_level, experimental._aic_metrics) == ("Level1", "ACL_AICORE_PIPE_UTILIZATION")
    assert experimental.export_type == ["text"]
    assert said(log) == []


def test_every_key_arrives(log: logging.Logger) -> None:
    experimental = {
        "profiler_level": "Level2",
        "aic_metrics": "L2Cache",
        "l2_cache": True,
        "op_attr": False,
        "gc_detect_threshold": 2.5,
        "data_simplification": False,
        "record_op_args": True,
        "export_type": ["db"],
        "msprof_tx": False,
        "mstx": True,
        "host_sys": ["cpu"],
        "mstx_domain_include": ["data"],
        "mstx_domain_exclude": [],
        "sys_io": True,
        "sys_interconnection": True,
    }
    assert set(experimental) == set(json.loads(template())["experimental_config"])
    flags = dict.fromkeys(("record_shapes", "profile_memory", "with_stack", "with_flops", "with_modules"), True)
    document = {
        "activities": ["npu"], "prof_dir": "out", "analyse": True, "async_mode": True, **flags, "active": 3,
        "warmup": 2, "start_step": 7, "is_rank": True, "rank_list": [0, 3, -1, "4"], "metadata": {"run": {"lr": 0.1}},
        "experimental_config": experimental,
    }  # fmt: skip
    config = parse_config(document, log)
    assert config.arguments["activities"] == [ProfilerActivity.NPU]
    assert {name: config.arguments[name] for name in flags} == flags
    assert (config.prof_dir, config.analyse, config.async_mode) == ("out", True, True)
    assert (config.active, config.warmup, config.start_step, config.ranks) == (3, 2, 7, {0, 3})
    assert config.metadata == {"run": '{"lr": 0.1}'}
    built = config.arguments["experimental_config"]
    expected = {f"_{name}": value for name, value in experimental.items() if name != "record_op_args"}
    expected |= {"_profiler_level": "Level2", "_aic_metrics": "ACL_AICORE_L2_CACHE"}
    assert {name: getattr(built, name) for name in expected} == expected
    assert built.record_op_args is True
    assert said(log) == [("INFO", "Set is_rank success!")]


@pytest.mark.parametrize(
    ("given", "line", "name", "value"),
    [
        ({"active": 0}, "Invalid parameter active, reset it to 1.", "active", 1),
        ({"active": "3"}, "Invalid parameter active, reset it to 1.", "active", 1),
        ({"warmup": -1}, "Invalid parameter warmup, reset it to 0.", "warmup", 0),
        ({"start_step": -2}, "Invalid parameter start_step, reset it to 0.", "start_step", 0),
        ({"start_step": "next"}, "Invalid parameter start_step, reset it to 0.", "start_step", 0),
        ({"is_rank": 1}, "Set is_rank failed, is_rank must be bool!", "ranks", None),
        ({"is_rank": True, "rank_list": 0}, "Set rank_list failed, rank_list must be list!", "ranks", frozenset()),
        ({"prof_dri": "out"}, "Unknown key prof_dri is ignored; did you mean prof_dir?", "prof_dir", None),
        ({"experimental_config": {"mstxx": True}}, "Unknown key mstxx is ignored; did you mean mstx?", "active", 1),
    ],
)
def test_a_bad_value_is_replaced_and_named(
    log: logging.Logger, given: dict[str, Any], line: str, name: str, value: object
) -> None:
    config = parse_config(given, log)
    assert getattr(config, name) == value
    assert [message for level, message in said(log) if level == "WARNING"] == [line]


@pytest.mark.parametrize("activities", [["GPU"], [7]])
def test_an_unknown_activity_leaves_all(log: logging.Logger, activities: list[object]) -> None:
    assert parse_config({"activities": activities}, log).arguments["activities"] == []
    assert said(log) == [("WARNING", "Set activity failed, activity must be CPU OR NPU!")]


def test_without_an_experimental_config_the_default_is_left_to_the_profiler(log: logging.Logger) -> None:
    for given in ({}, {"experimental_config": None}, {"experimental_config": ["Level1"]}):
        assert parse_config(given, log).arguments["experimental_config"] is None
    assert said(log) == [("WARNING", "Set experimental_config failed, experimental_config must be dict!")]


@pytest.mark.parametrize("text", [b"{", b"[1]", b"\xff\xfe", b"[" * 100_000, b'"' + b"x" * (1 << 20) + b'"'])
def test_what_is_no_object_cannot_be_read(text: bytes) -> None:
    with pytest.raises((ValueError, RecursionError)):
        parse_document(text)


Monitored = tuple[Path, ConfigMonitor, Callable[[str, int], list[Any]]]


@pytest.fixture
def monitored(tmp_path: Path, log: logging.Logger) -> Monitored:
    path = tmp_path / "profiler_config.json"
    path.write_text("{}")
    os.utime(path, ns=(1_000_000_000_000, 1_000_000_000_000))
    monitor = ConfigMonitor(path, log)
    monitor.start()
    monitor.stop()

    def edit(text: str, time_ns: int) -> list[Any]:
        path.write_text(text)
        os.utime(path, ns=(time_ns, time_ns))
        monitor._look()
        return [monitor.offered.popleft() for _ in range(len(monitor.offered))]

    return path, monitor, edit


def test_an_edit_counts_once_and_only_if_it_is_younger(monitored: Monitored, log: logging.Logger) -> None:
    _, monitor, edit = monitored
    assert said(log) == [("INFO", "Dynamic profiler process done")]
    assert edit('{"active": 1}', 1_000_000_000_001) == [{"active": 1}]
    monitor._look()
    assert not monitor.offered
    # The same second; then back in time; then forward again.
    assert edit('{"active": 2}', 1_000_500_000_000) == [{"active": 2}]
    assert edit('{"active": 3}', 999_000_000_000) == []
    assert edit('{"active": 4}', 2_000_000_000_000) == [{"active": 4}]
    assert said(log)[1:] == [("INFO", "Dynamic profiler process load json success")] * 4


@pytest.mark.parametrize(("template", "edits"), [("{}", []), ('{"active": 5}', [{}]), (None, [])])
def test_an_edit_between_the_template_and_the_watch_counts(
    monitored: Monitored, log: logging.Logger, template: str | None, edits: list[Any]
) -> None:
    monitor = ConfigMonitor(monitored[0], log)
    monitor.start(template)
    monitor.stop()
    monitor._look()
    assert list(monitor.offered) == edits


def test_the_last_of_several_edits_wins(monitored: Monitored) -> None:
    path, monitor, _ = monitored
    for number in (2, 3):
        path.write_text(json.dumps({"active": number}))
        os.utime(path, ns=(number * 10**12, number * 10**12))
        monitor._look()
    assert list(monitor.offered) == [{"active": 3}]


def test_a_bad_edit_is_refused_with_a_line_and_a_missing_file_told_once(
    monitored: Monitored, log: logging.Logger
) -> None:
    path, monitor, edit = monitored
    for number, text in enumerate(("{", "[1]"), start=2):
        assert edit(text, number * 10**12) == []
    path.unlink()
    monitor._look()
    monitor._look()
    levels = [level for level, _ in said(log)[1:]]
    assert levels == ["ERROR"] * 3
    lines = [line for _, line in said(log)[1:]]
    assert all(re_line.startswith("Dynamic profiler process load json failed, ") for re_line in lines[:2])
    assert lines[2] == "Dynamic profiler cfg json not exists"
    assert edit('{"active": 9}', 9 * 10**12) == [{"active": 9}]


@pytest.mark.parametrize(("step_s", "interval"), [(0.001, 1), (3.7, 3), (400.0, 50)])
def test_the_interval_follows_the_step(monitored: Monitored, step_s: float, interval: int) -> None:
    assert monitored[1].set_interval(step_s) == interval


def test_the_log_has_the_vendors_name_format_and_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "3")
    log = open_log(tmp_path, "monitor_", "file.py")
    try:
        log.info("hello %d", 1)
        (path,) = (tmp_path / "log").iterdir()
        assert path.name.startswith("monitor_dp_")
        assert path.name.endswith(f"_{os.getpid()}_rank_3.log")
        assert path.read_text().rstrip().endswith(f"[INFO] [{os.getpid()}] file.py: hello 1")
        assert stat.S_IMODE(path.stat().st_mode) & ~0o640 == 0
        for _ in range(500):
            log.info("x" * 1000)
        sizes = [file.stat().st_size for file in (tmp_path / "log").iterdir()]
        assert len(sizes) == 2
        assert max(sizes) <= 200 * 1024
    finally:
        for handler in log.handlers:
            handler.close()
