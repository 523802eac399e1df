"""Patches an imported MindSpore with the simulated device and the profiler."""

from __future__ import annotations

import functools
import importlib
import os
import sys
import weakref
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from drynpu import say
from drynpu.options import Settings
from drynpu.plugins import Plugins, from_plugins
from drynpu.recorder import CHECK_VARIABLE, load_chosen_chip
from drynpu_mindspore import profiler as room
from drynpu_mindspore.capture import Capture
from drynpu_mindspore.inside import KNOWN, Inside, Tried, pynative_executor, require
from drynpu_mindspore.loaded import LoadedMindSpore
from drynpu_mindspore.patching._device import SimulatedDevice, answers, chosen_device_id
from drynpu_mindspore.patching._graph_calls import follow_graphs
from drynpu_mindspore.patching._host import MindSporeHost
from drynpu_mindspore.patching._overflow import check_overflow_by_gradients
from drynpu_mindspore.patching._ranks import replace_init
from drynpu_mindspore.profiler import API_VARIABLE, Surface, build_surface, generation_of
from drynpu_mindspore.recording import KERNELS, CheckedBackend, NotingLog, RecordingBackend, follow_steps, start_check

_DONE = "_drynpu_surface"
"""Attribute of the package once it is patched."""
_OF_KERNELS = (
    "operators that only Ascend has, bf16 and fp16 in kernels of the CPU that lack them, collectives that it lacks, "
    "graphs split over ranks, the graph engine of jit level O2, data sinking, lazy_inline"
)
"""What the bundled plugin of this name brings."""
_ALL_FINITE = "AllFinite"
"""The primitive by which training with loss scaling looks for overflow on a device."""


def install(package: ModuleType) -> None:
    """
    Patch MindSpore, given as the module ``mindspore``, once.

    Each step is tried by itself. A line on stderr says what is lost with this MindSpore.
    """
    if hasattr(package, _DONE):
        return
    settings, tried = Settings.from_environ(os.environ), Tried()
    setattr(package, _DONE, tried.attempt("the device and the profiler", lambda: _install(package, settings, tried)))
    if tried.lost and not settings.quiet:
        # The reasons come last, because a line is cut where it is too long.
        lost = f"{tried.parts} (docs/mindspore.md has the releases)"
        say(f"MindSpore {package.__version__} runs without {lost}: {tried.reasons}")


def _install(package: ModuleType, settings: Settings, tried: Tried) -> Surface:
    """Put the surface and the device in place, which all else needs, then each of the other parts."""
    generation = generation_of(os.environ.get(API_VARIABLE, ""))
    device = SimulatedDevice(device_id=chosen_device_id())
    host = MindSporeHost(package, device)
    check = os.environ.get(CHECK_VARIABLE, "")
    capture = Capture()
    backend = CheckedBackend(capture) if check else RecordingBackend(capture)
    surface = build_surface(host, backend, generation)
    loaded = LoadedMindSpore(package, device, backend, tried)
    for part, step in (
        ("the names of mindspore.profiler", lambda: _replace_profiler(surface)),
        ("the device Ascend (set_context, set_device)", lambda: _replace_context(package, device)),
        ("answers about the device", lambda: _replace_runtime(package, host, settings)),
        ("ranks (communication.init)", lambda: replace_init(device, backend.ranks)),
        ("steps of Model.train", lambda: _follow_training(surface)),
        ("iterations of graphs with control flow", lambda: follow_graphs(capture.graph_calls)),
        ("the wait for operators of PyNative", pynative_executor),
    ):
        tried.attempt(part, step)
    device.before_graphs.append(backend.prepare)
    tried.attempt("plugins", lambda: _tell_plugins(loaded))
    finite = _ALL_FINITE in loaded.primitives
    tried.attempt("overflow in the gradients", lambda: check_overflow_by_gradients(package, device, all_finite=finite))
    for inside in (Inside.LAUNCHES, Inside.EVENTS):  # they reach inside when something is recorded
        tried.attempt(inside.value, functools.partial(require, KNOWN[inside]))
    # Temporary folders are removed by finalizers, whose own exit handler has to be there first to run last.
    weakref.finalize(package, len, "")
    backend.finish_at_exit(surface.finish)
    if isinstance(backend, CheckedBackend):
        tried.attempt("drynpu check", lambda: _check(check, package, surface, backend, settings))
    tried.attempt("MS_PROFILER_OPTIONS", surface.EnvProfiler.init_profiler)
    return surface


def _tell_plugins(loaded: LoadedMindSpore) -> None:
    """Let plugins add to MindSpore; a bundled one that is off is a part that is lost."""

    def tell(plugins: Plugins) -> tuple[str, ...]:
        plugins.framework_loaded("mindspore", loaded)
        return plugins.switched_off

    if KERNELS in from_plugins(tell):
        loaded.tried.lost[_OF_KERNELS] = f"the plugin {KERNELS!r} is off"


def _check(text: str, package: ModuleType, surface: Surface, backend: CheckedBackend, settings: Settings) -> None:
    """Have what the script does noted for ``drynpu check``; registered last, so it ends first."""
    session = surface.session
    process = start_check(
        text, backend, chip=load_chosen_chip(settings), settle=session.settle, recorded=session.usual_request
    )
    session.user_log = surface.schedule._user_log = NotingLog(session.host.log, process)
    follow_steps(process, package)
    backend.prepare()
    process.begin()


def _replace_context(package: ModuleType, device: SimulatedDevice) -> None:
    """Replace the three functions in every module of the package that has them."""
    wrapped = {
        "set_context": device.set_context(package.set_context),
        "get_context": device.get_context(package.get_context),
        "set_device": device.set_device(package.set_device),
    }
    for name, function in wrapped.items():
        genuine = getattr(package, name)
        for module in ("mindspore", "mindspore.context", "mindspore.device_manager"):
            if getattr(sys.modules.get(module), name, None) is genuine:
                setattr(sys.modules[module], name, function)


def _replace_runtime(package: ModuleType, host: MindSporeHost, settings: Settings) -> None:
    """Make MindSpore's functions about devices answer for the simulated one, and ``Tensor.move_to`` accept it."""
    functions = answers(host.device, chip=settings.chip, devices=settings.devices, synchronize=host.synchronize)
    for module, replaced in functions.items():
        _wrap(module, replaced)
    tensor: Any = package.Tensor
    tensor.move_to = host.device.move_to(tensor.move_to)


def _wrap(module: str, functions: Mapping[str, Callable[[Callable[..., Any]], Callable[..., Any]]]) -> None:
    for place, make in functions.items():
        *names, name = place.split(".")
        owner = functools.reduce(lambda value, each: getattr(value, each, None), names, sys.modules.get(module))
        genuine = getattr(owner, name, None)
        if owner is not None and genuine is not None:
            setattr(owner, name, make(genuine))


_ENUMERATIONS = ("AicoreMetrics", "ExportType", "HostSystem", "ProfilerActivity", "ProfilerLevel")
_OF_SURFACE = (
    "DynamicProfilerMonitor",
    "EnvProfiler",
    "Profiler",
    "mstx",
    "profile",
    "schedule",
    "tensorboard_trace_handler",
)


def _replace_profiler(surface: Surface) -> None:
    """Replace MindSpore's profiler classes under every name that scripts of any release import."""
    enumerations = {name: getattr(room, name) for name in _ENUMERATIONS}
    in_package = {name: getattr(surface, name) for name in _OF_SURFACE}
    old = {"tensor_board_trace_handler": surface.tensor_board_trace_handler}
    names: dict[str, dict[str, Any]] = {
        "mindspore": {"Profiler": surface.Profiler, "EnvProfiler": surface.EnvProfiler},
        "mindspore.profiler": {
            **enumerations,
            **in_package,
            **old,
            "_ExperimentalConfig": room.ExperimentalConfig,
        },
        "mindspore.profiler.profiler": {
            **old,
            "Profiler": surface.Profiler,
            "Profile": surface.profile,
            "analyse": surface.analyse,
            "tensorboard_trace_handler": surface.tensorboard_trace_handler,
        },
        "mindspore.profiler.schedule": {"Schedule": surface.schedule, "ProfilerAction": room.ProfilerAction},
        "mindspore.profiler.mstx": {"Mstx": surface.mstx},
        "mindspore.profiler.envprofiler": {"EnvProfiler": surface.EnvProfiler},
        "mindspore.profiler.dynamic_profiler": {"DynamicProfilerMonitor": surface.DynamicProfilerMonitor},
        "mindspore.profiler.experimental_config": {"_ExperimentalConfig": room.ExperimentalConfig},
        "mindspore.profiler.common.constant": {**enumerations, "DeviceTarget": room.DeviceTarget},
    }
    for module, replaced in names.items():
        if module in sys.modules:  # other releases lack some
            for name, value in replaced.items():
                setattr(sys.modules[module], name, value)


# N18, docs/tricks.md
def _follow_training(surface: Surface) -> None:
    """Have the steps of ``Model.train`` noticed, which need not be told to a profiler."""
    manager: Any = importlib.import_module("mindspore.train.callback._callback").CallbackManager
    genuine = manager.on_train_step_end

    @functools.wraps(genuine)
    def on_train_step_end(callbacks: object, run_context: Any) -> None:
        genuine(callbacks, run_context)
        surface.session.save()
        surface.session.backend.trained()

    manager.on_train_step_end = on_train_step_end
