"""Single files that a script exports from a finished recording (torch_npu_profiler.md 1.5)."""

from __future__ import annotations

import os
from pathlib import Path

import torch

from drynpu import OutputError
from drynpu_torch.device import state
from drynpu_torch.profiler._interface import ProfInterface
from drynpu_torch.profiler._messages import print_error, print_info, print_warning
from drynpu_torch.profiler._process import check_path

_METRICS = ("self_cpu_time_total", "self_npu_time_total")
_NO_RECORDING = "Invalid profiling path."


def export_chrome_trace(interface: ProfInterface, output_path: str) -> None:
    """Write the trace of the last recording; packed if the name ends in ``.gz``."""
    from drynpu.products import export_trace, load_profile

    destination = _check_output(output_path)
    if not interface.prof_path:
        print_warning(_NO_RECORDING)
        return
    _announce_text(interface)
    export_trace(load_profile(Path(interface.prof_path)), destination)
    interface.note_export()


def export_stacks(interface: ProfInterface, output_path: str, metric: str) -> None:
    """Write call stacks with each operator's own time, as flame graph tools read them."""
    from drynpu.products import export_stacks as write_stacks
    from drynpu.products import load_profile

    destination = _check_output(output_path)
    if not interface.flag("with_stack"):
        print_warning("Function export_stacks() requires with_stack=True.")
        return
    if metric not in _METRICS:
        print_warning(
            "Metric should be self_cpu_time_total or self_npu_time_total.Here it is presumed to be self_cpu_time_total."
        )
        metric = _METRICS[0]
    if not interface.prof_path:
        print_warning(_NO_RECORDING)
        return
    _announce_text(interface)
    if destination.suffix != ".log":
        print_warning("Input file is not log file. Change to log file.")
        destination = destination.with_suffix(".log")
    write_stacks(load_profile(Path(interface.prof_path)), destination, metric)
    interface.note_export()


def export_memory_timeline(interface: ProfInterface, output_path: str, device: str | None) -> None:
    """Write memory by category over time: a picture in a page, sums, or single events, by the name's ending."""
    destination = _check_output(output_path)
    missing = [f"{name}=True" for name in ("record_shapes", "profile_memory") if not interface.flag(name)]
    if not (interface.flag("with_stack") or interface.flag("with_modules")):
        missing.append("with_stack=True or with_modules=True")
    if missing:
        print_warning(f"{', '.join(missing)} required for memory profiling.")
        return
    if not interface.prof_path:
        print_warning(_NO_RECORDING)
        return
    if not interface.has_timeline:  # Level_none and the database have no such export (torch_npu_profiler.md 3.6)
        return
    current = f"npu:{state().current_device}"
    chosen = _device(current if device is None else device)
    if chosen is None:
        print_error(f"{device} is not in a valid format.")
        return
    # It brings polars, which a process that records nothing need not import.
    from drynpu_torch.profiler._memory_timeline import MemoryTimeline

    events_of = None if state().library is None else chosen
    timeline = MemoryTimeline.from_results(*interface.memory, events_of) if chosen == torch.device(current) else None
    if timeline is None or not len(timeline.time_ns):
        print_error("No memory timeline data.")
        return
    destination.parent.mkdir(mode=0o750, parents=True, exist_ok=True)
    timeline.write(destination)
    interface.note_export()


def _device(text: object) -> torch.device | None:
    try:
        device = torch.device(str(text))
    except RuntimeError:
        return None
    if str(device) == "npu":  # without a number
        return torch.device("npu", state().current_device)
    return device if device.type in ("cpu", "npu") else None


def _announce_text(interface: ProfInterface) -> None:
    if "db" in interface.config.export_type:
        print_warning(
            "The setting of type in experimental_config as db will be ignored while set export_chrome_trace or "
            "export_stacks"
        )
    print_info(f"Start parsing profiling data in sync mode at: {interface.prof_path}")


def _check_output(output_path: str) -> Path:
    """Return the checked path to write to. Raises `OutputError` for one that is a directory."""
    path = Path(os.path.realpath(Path(output_path).expanduser()))
    if path.is_dir():
        raise OutputError(f"Invalid input path is a directory path: {path}")
    if not path.exists():
        check_path(str(Path(output_path).expanduser()))
    return path
