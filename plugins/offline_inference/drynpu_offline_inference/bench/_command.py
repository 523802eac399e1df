"""``python -m ais_bench``: one benchmark, one on each of several devices, one for each of several shapes, recorded."""

from __future__ import annotations

import copy
import itertools
import json
import math
import multiprocessing
import os
import shutil
import subprocess
import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from drynpu_offline_inference.bench import _files as files
from drynpu_offline_inference.bench._arguments import command_line, parse_arguments
from drynpu_offline_inference.bench._benchmark import Benchmark
from drynpu_offline_inference.bench._copy_times import CopyTimesBase
from drynpu_offline_inference.bench._infer_session import InferSessionBase
from drynpu_offline_inference.bench._log import LOGGER, refuse, start_log
from drynpu_offline_inference.bench._results import FOLDER_MODE
from drynpu_offline_inference.bench._summary import Summary

_RECORDED = (
    *("--model-execution=on", "--sys-hardware-mem=on", "--sys-cpu-profiling=off", "--sys-profiling=off"),
    *("--sys-pid-profiling=off", "--dvpp-profiling=on", "--runtime-api=on", "--task-time=on", "--aicpu=on"),
)
"""What the vendor's tool asks msprof for."""
_AS_MSPROF = {"sys_hardware_mem_freq": "--sys-hardware-mem", "dvpp_freq": "--dvpp-profiling"}
_OF_ACL_JSON = (
    *("output", "storage_limit", "ascendcl", "runtime_api", "hccl", "task_time", "aicpu", "aic_metrics", "l2"),
    *("sys_hardware_mem_freq", "dvpp_freq", "host_sys", "sys_interconnection_freq", "msproftx"),
)


def main(
    arguments: Sequence[str],
    session_class: type[InferSessionBase],
    copy_times: type[CopyTimesBase],
    summary: Summary,
) -> int:
    """Do what a command line says and return the status of the process."""
    start_log()
    options = parse_arguments(arguments)
    start_log(debug=options.debug)
    if options.acl_json_path is not None:
        options.profiler = _requests_profiling(options.acl_json_path)
    if options.profiler and os.environ.get("AIT_NO_MSPROF_MODE") != "1":
        return _record(options)
    if options.dym_shape_range is not None and options.dym_shape is None:
        return _run_shapes(options)
    if isinstance(options.device, list):
        return _run_devices(options, session_class, copy_times)
    Benchmark(options, session_class, copy_times, summary, _acl_json(options)).run()
    return 0


# Recordings ---------------------------------------------------------------------------------------------------------


def _requests_profiling(path: str) -> bool:
    try:
        section = json.loads(Path(path).read_text(encoding="utf-8")).get("profiler") or {}
    except (OSError, ValueError, AttributeError) as error:
        raise refuse(f"can't read acl_json_path:{path}: {error}") from error
    return bool(section.get("switch") == "on")


def _acl_json(options: Namespace) -> str | None:
    """Return the file that the library begins with, which is written where options ask for a recording or a dump."""
    if options.acl_json_path is not None or not (options.profiler or options.dump):
        return str(options.acl_json_path) if options.acl_json_path is not None else None
    folder = Path(options.output, "profiler" if options.profiler else "dump")
    folder.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
    profiler = {"switch": "on", "aicpu": "on", "output": str(folder), "aic_metrics": ""}
    dump = {"dump_path": str(folder), "dump_mode": "all", "dump_list": [{"model_name": Path(options.model).stem}]}
    path = Path(options.output, "acl.json")
    path.write_text(json.dumps({"profiler": profiler} if options.profiler else {"dump": dump}, indent=4))
    return str(path)


def _record(options: Namespace) -> int:
    """Run the same command under msprof, without its own recording, and return its status."""
    changed: dict[str, Any] = {"profiler": False, "acl_json_path": None, "warmup_count": 0}
    line = [sys.executable, "-m", "ais_bench", *command_line(options, **changed)]
    folder = Path(options.output or ".", "profiler")
    msprof_options = None if options.acl_json_path is None else _as_msprof(options.acl_json_path)
    wanted = [f"--output={folder}", *_RECORDED] if msprof_options is None else msprof_options
    tool = shutil.which("msprof")
    msprof = [tool] if tool else [sys.executable, "-m", "drynpu", "msprof"]
    known = set(folder.glob("PROF_*"))
    command = [*msprof, *wanted, *line]
    LOGGER.info(f"msprof cmd:{' '.join(command)} begin run")
    status = subprocess.run(command, check=False).returncode
    LOGGER.info(f"msprof cmd end run ret:{status}")
    if options.profiler_rename and msprof_options is None:
        for directory in set(folder.glob("PROF_*")) - known:
            _rename_results(directory, Path(options.model).name.split(".")[0])
    return status


def _as_msprof(path: str) -> list[str]:
    """Return the options of msprof for the section of an acl.json."""
    section = json.loads(Path(path).read_text(encoding="utf-8"))["profiler"]
    options = []
    for name in _OF_ACL_JSON:
        if section.get(name):
            options.append(f"--{name.replace('_', '-')}={section[name]}")
            options += [f"{_AS_MSPROF[name]}=on"] if name in _AS_MSPROF else []
    return options


def _rename_results(directory: Path, model: str) -> None:
    """Put the model and the end of the directory's name into the names of results, as the vendor's tool does."""
    mark = directory.name.rpartition("_")[2]
    for path in [*directory.rglob("*.csv"), *directory.rglob("*.json")]:
        path.rename(path.with_name(f"{path.stem}_{model}_{mark}{path.suffix}"))


# Several shapes, several devices ------------------------------------------------------------------------------------


def shapes_in_ranges(text: str) -> list[str]:
    """
    Return the shapes of ``name:1,600~700~50;other:1,3-5``.

    ``a~b`` is a range, ``a~b~c`` one with steps, ``a-b`` a list.

    *text* may be a file of such lines.
    """
    lines = Path(text).read_text(encoding="utf-8").splitlines() if Path(text).is_file() else [text]
    shapes = []
    for line in filter(None, map(str.strip, lines)):
        inputs = []
        for part in line.split(";"):
            name, _, dims = part.rpartition(":")
            inputs.append([f"{name}:{','.join(each)}" for each in itertools.product(*map(_lengths, dims.split(",")))])
        shapes += [";".join(each) for each in itertools.product(*inputs)]
    return shapes


def _lengths(text: str) -> list[str]:
    if "~" not in text:
        return text.split("-")
    first, last, *step = (int(part) for part in text.split("~"))
    return [str(length) for length in range(first, last + 1, step[0] if step else 1)]


def _run_shapes(options: Namespace) -> int:
    """Run each shape in a process of its own and rank them by throughput."""
    throughputs = []
    for shape in shapes_in_ranges(options.dym_shape_range):
        line = command_line(options, dym_shape=shape, dym_shape_range=None)
        done = subprocess.run(
            [sys.executable, "-m", "ais_bench", *line], stdout=subprocess.PIPE, text=True, check=False
        )
        sys.stdout.write(done.stdout)
        said = [each for each in done.stdout.splitlines() if "throughput" in each]
        throughput = float(said[-1].split()[-1]) if said and done.returncode == 0 else None
        LOGGER.info(f"dymshape:{shape} end run result:{'Failed' if throughput is None else 'OK'}")
        throughputs.append((shape, throughput))
    good = [throughput for _, throughput in throughputs if throughput is not None]
    mean = sum(good) / len(good) if good else 0
    LOGGER.info("-----------------dyshape_range Performance Summary------------------")
    LOGGER.info(f"run_count:{len(throughputs)} success_count:{len(good)} avg_throughput:{mean}")
    throughputs.sort(key=lambda each: -(each[1] or 0))
    for number, (shape, throughput) in enumerate(throughputs):
        result = "Failed" if throughput is None else "OK"
        LOGGER.info(f"{number} dymshape:{shape}  result:{result} throughput:{throughput or 0}")
    LOGGER.info("------------------------------------------------------")
    return 0


def _run_devices(options: Namespace, session_class: type[InferSessionBase], copy_times: type[CopyTimesBase]) -> int:
    """Run on each device in a process of its own and print the sum of the throughputs."""
    devices = list(options.device)
    LOGGER.info(f"multidevice:{devices} run begin")
    shares = _shares(options, len(devices), session_class)
    works = []
    for number, device in enumerate(devices):
        each = copy.deepcopy(options)
        each.device, each.input = device, shares[number]
        works.append((each, number, session_class, copy_times))
    with multiprocessing.Pool(len(devices)) as pool:
        throughputs = pool.map(_run_device, works, chunksize=1)
    for number, throughput in enumerate(throughputs):
        LOGGER.info(f"i:{number} device_{devices[number]} throughput:{throughput}")
    LOGGER.info(f"summary throughput:{sum(throughputs)}")
    return 0


def _run_device(work: tuple[Namespace, int, type[InferSessionBase], type[CopyTimesBase]]) -> float:
    options, number, session_class, copy_times = work
    start_log(debug=options.debug)
    place = (options.device, number)
    return Benchmark(options, session_class, copy_times, Summary(), _acl_json(options), place).run()


def _shares(options: Namespace, count: int, session_class: type[InferSessionBase]) -> list[str | None]:
    """Return the inputs of each device: all, or with --divide_input a part of each input's files."""
    if options.input is None or not options.divide_input:
        return [options.input] * count
    session = session_class(options.device[0], options.model)
    inputs = options.input.split(",")
    columns = len(session.get_inputs())
    session.free_resource()
    session_class.finalize()
    if Path(inputs[0]).is_dir():
        rows = [files.get_fileslist_from_dir(folder) for folder in inputs]
    else:
        rows = list(files.list_split(inputs, math.ceil(len(inputs) / columns), None))
    parts = [[row[len(row) * n // count : len(row) * (n + 1) // count] for row in rows] for n in range(count)]
    return [",".join(file for row in part for file in row) or None for part in parts]
