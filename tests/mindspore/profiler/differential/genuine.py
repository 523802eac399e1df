"""Runs programs on the profiler classes of the installed MindSpore: one JSON program a line, one answer a line."""

from __future__ import annotations

import json
import logging
import os
import sys
from typing import Any

# The protocol has the real stdout to itself: MindSpore prints too.
ANSWERS = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)

import mindspore.profiler as package  # noqa: E402
from mindspore import log  # noqa: E402
from mindspore.profiler import profiler as module  # noqa: E402
from mindspore.profiler.common.profiler_context import ProfilerContext  # noqa: E402
from mindspore.profiler.common.profiler_path_manager import ProfilerPathManager  # noqa: E402
from mindspore.profiler.dynamic_profile.dynamic_profiler_config_context import (  # noqa: E402
    DynamicProfilerConfigContext,
)
from mindspore.profiler.envprofiler import EnvProfiler  # noqa: E402
from mindspore.profiler.profiler_interface import ProfilerInterface  # noqa: E402
from mindspore.profiler.schedule import ProfilerAction  # noqa: E402
from programs import Machine, plain  # noqa: E402

EVENTS: list[list[Any]] = []


class Listener(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if record.levelno >= logging.WARNING or text.startswith("ProfilerAction transition"):
            EVENTS.append([record.levelname.lower(), text])


class Range:
    def __init__(self, name: str) -> None:
        self.name = name

    def start(self) -> None:
        EVENTS.append(["open_step", int(self.name.partition("#")[2])])

    def stop(self) -> None:
        EVENTS.append(["close_step"])


def uninitialised() -> list[list[Any]]:
    """What the interface says when nobody has initialised it."""
    for verb in ("start", "stop", "analyse", "finalize", "clear"):
        getattr(ProfilerInterface, verb)()
    said = list(EVENTS)
    EVENTS.clear()
    return said


def note(name: str) -> Any:
    def call(cls: type, **keywords: Any) -> None:
        del cls
        EVENTS.append([name, keywords] if keywords else [name])

    return classmethod(call)


def handler(fails: bool) -> Any:
    def ready(run: Any) -> None:
        EVENTS.append(["handler", hasattr(run, "analyse")])
        if fails:
            raise ValueError("the handler failed")

    return ready


def parameters(**keywords: Any) -> Any:
    context = ProfilerContext()
    context.set_params(**keywords)
    return context.original_params


def schedule_actions(**keywords: Any) -> Any:
    made = package.schedule(**keywords)
    return [made.to_dict(), repr(made), [made(step).name for step in range(60)]]


def dynamic_file(text: str) -> Any:
    made = DynamicProfilerConfigContext(json.loads(text))
    arguments = made.args
    how = {"asynchronous": made.analyse_mode == "async", "start_step": made.start_step, "stop_step": made.stop_step}
    return plain({name: value for name, value in arguments.items() if name not in ("is_dyno", "json_dict")} | how)


def environment(text: str) -> Any:
    options = json.loads(text)
    found = EnvProfiler._convert_options_to_profiler_params(options)
    return plain({name: found[name] for name in options})


def worker_name(value: Any) -> Any:
    ProfilerPathManager().init(value, None)
    return ProfilerPathManager()._worker_name


def main() -> None:
    ours = log._get_logger()
    ours.handlers[:] = [Listener()]
    ours.setLevel(logging.DEBUG)
    ours.propagate = False
    context = ProfilerContext()
    EVENTS.clear()
    said = uninitialised()
    for name in ("init", "start", "stop", "analyse", "finalize", "clear", "delete_dir"):
        if hasattr(ProfilerInterface, name):
            setattr(ProfilerInterface, name, note(name))
    module.RecordFunction = Range
    names = {name: getattr(package, name) for name in package.__all__}
    asked = (parameters, schedule_actions, dynamic_file, environment, worker_name)
    names.update({function.__name__: function for function in (handler, *asked)}, ProfilerAction=ProfilerAction)
    machine = Machine(names, EVENTS)
    print(json.dumps({"said": said, "names": sorted(package.__all__)}), file=ANSWERS, flush=True)
    for line in sys.stdin:
        print(json.dumps(machine.run(json.loads(line))), file=ANSWERS, flush=True)
    del context


main()
os._exit(0)
