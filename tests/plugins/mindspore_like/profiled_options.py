"""Profiles one step with each option by itself: run by test_profiled_options.py."""

from __future__ import annotations

import json

import mindspore as ms
import numpy as np
from mindspore import EnvProfiler, Profiler, ops
from mindspore.profiler import (
    AicoreMetrics,
    ExportType,
    HostSystem,
    ProfilerActivity,
    ProfilerLevel,
    _ExperimentalConfig,
    mstx,
    profile,
    schedule,
    tensor_board_trace_handler,
    tensorboard_trace_handler,
)
from mindspore.profiler.profiler import analyse
from mindspore.profiler.schedule import ProfilerAction

WEIGHT = ms.Tensor(np.ones((64, 64), np.float32))
BOTH = [ProfilerActivity.CPU, ProfilerActivity.NPU]


def show(name, value):
    print(f"{name}={json.dumps(value)}")


def work():
    mstx.mark("plain")
    mstx.mark("mine", None, "mine")
    number = mstx.range_start("turn")
    ops.relu(WEIGHT @ WEIGHT)
    mstx.range_end(number)


def record(folder, activities=BOTH, *, config=None, **options):
    """Profile one step; *config* holds what stands in an experimental config."""
    handler = tensorboard_trace_handler(dir_name=folder)
    experimental = _ExperimentalConfig(**(config or {}))
    with profile(activities, on_trace_ready=handler, experimental_config=experimental, **options):
        work()


def by_options():
    record("plain")
    for level in ProfilerLevel:
        record(level.name, config={"profiler_level": level, "mstx": True})
    for activity in ProfilerActivity:
        record(activity.name, [activity])
    for metrics in AicoreMetrics:
        record(metrics.name, config={"profiler_level": ProfilerLevel.Level1, "aic_metrics": metrics})
    for export in ExportType:
        record(export.name, config={"export_type": [export]})
    for system in HostSystem:
        record(f"host {system.name}", config={"host_sys": [system]})
    for name in ("l2_cache", "sys_io", "sys_interconnection"):
        record(name, config={name: True})
    record("data_simplification", config={"data_simplification": False})
    for name in ("profile_memory", "parallel_strategy", "hbm_ddr", "pcie", "record_shapes"):
        record(name, **{name: True})
    record("sync_enable", sync_enable=False)
    for name in ("mstx_domain_include", "mstx_domain_exclude"):
        record(name, config={"mstx": True, name: ["mine"]})


def actions(plan):
    """Return what a profiler does in five steps of a schedule, and when its handler is called."""
    seen = []
    with profile(schedule=plan, on_trace_ready=lambda run: seen.append("ready")) as run:
        for _ in range(5):
            seen.append(run.current_action.name)
            work()
            run.step()
    return seen


def by_schedules():
    tensorboard_trace_handler("schedules")  # from now on, the directory of every run
    for name, numbers in {
        "wait": {"wait": 2, "active": 1},
        "active": {"wait": 0, "active": 3},
        "warmup": {"wait": 0, "warmup": 3, "active": 1},
        "repeat": {"wait": 0, "active": 1, "repeat": 2},
        "skip_first": {"wait": 0, "active": 1, "repeat": 1, "skip_first": 3},
    }.items():
        show(f"schedule {name}", actions(schedule(**{"repeat": 1, **numbers})))
    show("actions", [ProfilerAction.get_by_value(value).name for value in range(4)] + [ProfilerAction.get_by_value(9)])


def by_handlers():
    for name, options in {
        "worker_name": {"worker_name": "somebody"},
        "analyse_flag": {"analyse_flag": False},
        "async_mode": {"async_mode": True},
    }.items():
        with profile(on_trace_ready=tensorboard_trace_handler(name, **options)):
            work()


def by_calls():
    """Profile before any handler was told a directory: the last one's would win."""
    with profile(on_trace_ready=tensor_board_trace_handler):
        work()
    profiler = Profiler(output_path="output_path", start_profile=False, activities=BOTH)
    work()
    profiler.start()
    ops.relu(WEIGHT)
    profiler.stop()
    work()
    profiler.add_metadata("who", "a script")
    profiler.add_metadata_json("what", json.dumps({"steps": 1}))
    profiler.analyse()
    profiler.op_analyse("Relu")
    stepped = Profiler(output_path="steps", schedule=schedule(wait=0, active=3, repeat=1), on_trace_ready=print)
    for _ in range(3):
        work()
        stepped.step()
    stepped.stop()


def by_methods():
    run = profile(on_trace_ready=tensorboard_trace_handler("methods"), start_profile=False)
    work()
    run.start()
    run.add_metadata("who", "a script")
    run.add_metadata_json("what", json.dumps({"steps": 1}))
    ops.relu(WEIGHT)
    run.step()
    run.stop()
    show("steps", run.step_num)
    work()


def by_analyses():
    Profiler.offline_analyse("analyse_flag")
    for name, options in {
        "pretty": {"pretty": True},
        "steps": {"step_list": [2]},
        "methods": {"data_simplification": False, "max_process_number": 1},
    }.items():
        analyse(profiler_path=name, **options)


EnvProfiler().analyse()
by_calls()
by_options()
record("pretty")
by_schedules()
by_handlers()
by_methods()
by_analyses()
