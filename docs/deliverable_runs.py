"""Run every option on every chip: the rows and cells of docs/deliverables.md, written by generate_deliverables.py."""
# ruff: noqa: INP001

from __future__ import annotations

import csv
import importlib.util
import json
import re
import sqlite3
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from attrs import evolve

from drynpu import OptionError
from drynpu.options import HostSystem, HostUsage, Parsed, Sampling, acl_json, deliverables, msprof_cli
from drynpu.options import profiling_options as json_options
from drynpu.platforms import Chip, load_chip
from drynpu.raw import ClockAnchors
from drynpu.recorder import HostSampler, Outcome
from drynpu.simulate import HostSamples, Recording

__all__ = ["CHIPS", "DEFAULT", "TOGETHER", "Found", "Runs", "default_of", "rows", "run_column"]

SESSION = Path(__file__).resolve().parents[1] / "examples" / "core" / "neutral_session.py"

CHIPS = {
    "310": "Ascend310",
    "310P": "Ascend310P3",
    "910": "Ascend910A",
    "910B (A2)": "Ascend910B2",
    "910_93 (A3)": "Ascend910_93",
    "950": "Ascend950PR",
}
DEFAULT, ACL_DEFAULT, MSPROF_DEFAULT = "`output` alone", "acl.json `output` alone", "msprof `--output` alone"
TOGETHER = "all that the chip takes, together"

_SWITCHES = ("training_trace", "runtime_api", "hccl", "aicpu", "l2", "msproftx", "task_memory")
_RATES = ("sys_hardware_mem_freq", "sys_io_sampling_freq", "sys_interconnection_freq", "dvpp_freq")

Document = Mapping[str, object]
Found = dict[str, Any]
Runs = Mapping[str, Mapping[str, Found]]


def rows() -> dict[str, tuple[str, Document]]:
    """Return the rows of the page: title -> dialect and document, the default first."""
    options: dict[str, tuple[str, Document]] = {DEFAULT: ("json", {}), "no options at all": ("empty", {})}
    documents: list[Document] = [
        *({"task_time": level} for level in ("l0", "l2", "l3", "off")),
        {"task_trace": "off"},
        *({name: "on"} for name in _SWITCHES),
        {"ge_api": "l1"},
        *({"aic_metrics": name} for name in dict.fromkeys(json_options.METRIC_NAMES.values()) if name),
        {"aic_metrics": "Custom:0x8,0xa"},
        {"sys_hardware_mem_freq": 50},
        *({"sys_hardware_mem_freq": 50, "llc_profiling": mode} for mode in ("write", "capacity")),
        {"sys_hardware_mem_freq": 50, "sys_mem_serviceflow": "train"},
        *({name: 50} for name in _RATES[1:]),
        *({"host_sys": name} for name in ("cpu", "mem", "disk", "network", "osrt")),
        *({"host_sys_usage": name} for name in ("cpu", "mem")),
        *({name: "on"} for name in ("task_tsfw", "task_block", "instr_profiling")),
        {"instr_profiling_freq": 1000},
        {"sys_cpu_freq": 50},
        {"sys_lp_freq": 50},
    ]
    for document in documents:
        options[" ".join(f"`{key}={value}`" for key, value in document.items())] = ("json", document)
    options[TOGETHER] = ("together", {})
    options |= {ACL_DEFAULT: ("acl_json", {}), "acl.json `ascendcl=off`": ("acl_json", {"ascendcl": "off"})}
    options[MSPROF_DEFAULT] = ("msprof_cli", {})
    for flag, value in (
        ("aic-mode", "sample-based"),
        ("sys-profiling", "on"),
        ("sys-pid-profiling", "on"),
        ("sys-cpu-profiling", "on"),
        ("instr-profiling", "on"),
        ("type", "db"),
    ):
        options[f"msprof `--{flag}={value}`"] = ("msprof_cli", {flag: value})
    return options


def default_of(title: str) -> str:
    """Return the row that another is compared with: what its dialect leaves by itself, and that with ``DEFAULT``."""
    defaults = {"acl_json": ACL_DEFAULT, "msprof_cli": MSPROF_DEFAULT}
    own = defaults.get(rows()[title][0], DEFAULT)
    return DEFAULT if own == title else own


def read(dialect: str, document: Document, chip: str, output: str) -> Parsed:
    """Read a document as its dialect does. Raises ``OptionError``."""
    if dialect == "msprof_cli":
        flags = {"output": output, **{name: str(value) for name, value in document.items()}}
        return msprof_cli.parse(flags, chip=chip, environ={}, cwd=output, require_target=False)
    if dialect == "acl_json":
        switched = {"switch": "on", "output": output, **document}
        return acl_json.parse(switched, chip=chip, environ={}, cwd=output)
    if dialect == "together":
        return together(chip, output)
    options = {} if dialect == "empty" else {"output": output, **document}
    return json_options.parse(options, chip=chip, environ={}, cwd=output)


def together(chip: str, output: str) -> Parsed:
    """Read one document with all that leaves something on a chip and does not exclude the rest."""
    host = {"host_sys": "cpu,mem,disk,network", "host_sys_usage": "cpu,mem"}
    wanted: dict[str, object] = {**dict.fromkeys(_SWITCHES, "on"), **dict.fromkeys(_RATES, 50), **host}
    wanted |= {"aic_metrics": "PipeUtilization", "task_block": "on"}
    document: dict[str, object] = {}
    for key, value in wanted.items():
        try:
            read("json", {key: value}, chip, output)
        except OptionError:
            continue
        document[key] = value
    return read("json", document, chip, output)


# -- running ---------------------------------------------------------------------------------------------------------


def session() -> ModuleType:
    """Return the example as a module."""
    spec = importlib.util.spec_from_file_location("neutral_session", SESSION)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def measure(chip: Chip) -> tuple[ClockAnchors, HostSamples | None]:
    """Measure this host once for all runs, long enough for its coarse clocks; a run writes what its options ask for."""
    anchors = ClockAnchors.now(chip.hwts_hz)
    systems = (HostSystem.CPU, HostSystem.MEMORY, HostSystem.DISK, HostSystem.NETWORK)
    sampler = HostSampler(Sampling(host_systems=systems, host_usage=tuple(HostUsage)))
    sampler.start()
    time.sleep(0.5)
    return anchors, sampler.stop()


def run_column(column: str) -> dict[str, Found]:
    """Run every option on one chip; return what each left by the titles of the rows."""
    example = session()
    anchors, samples = measure(load_chip(CHIPS[column]))
    results = {}
    for title, (dialect, document) in rows().items():
        with tempfile.TemporaryDirectory() as folder:
            results[title] = _run(example, CHIPS[column], dialect, document, Path(folder), anchors, samples)
    return results


def _run(
    example: ModuleType,
    name: str,
    dialect: str,
    document: Document,
    folder: Path,
    anchors: ClockAnchors,
    samples: HostSamples | None,
) -> Found:
    try:
        parsed = read(dialect, document, name, str(folder))
    except OptionError as error:
        return {"refused": [_plain(problem, folder) for problem in error.problems]}
    request, chip = parsed.request, load_chip(name)
    recording = _without_steps(example.record(anchors.collection_begin_us * 1000, samples))
    outcome: Outcome = example.write(recording, anchors, request, chip, folder)
    written = example.export(outcome.prof_path, request) if outcome.prof_path else []
    return {
        **_contents(written, outcome.prof_path or folder),
        "notes": list(outcome.notes),
        "notices": [_plain(f"{notice.path}: {notice.message}", folder) for notice in parsed.notices],
        "predicted": [
            {"kind": row.kind.value, "name": row.name, "detail": row.detail, "needs": row.needs.name}
            for row in deliverables(request, name)
        ],
    }


def _without_steps(recording: Recording) -> Recording:
    """Return the recording without the steps of its script: they leave step_trace whatever was asked for."""
    operators = recording.operators
    steps = [number for number, name in enumerate(operators.names) if name.startswith("ProfilerStep#")]
    return evolve(recording, operators=operators.select(np.flatnonzero(~np.isin(operators.name, steps))))


def _plain(text: str, folder: Path) -> str:
    return text.replace(str(folder), "<output>")


# -- reading what is there -------------------------------------------------------------------------------------------


def _contents(written: Sequence[Path], prof: Path) -> Found:
    """Return headers, layers, tables, and the calls of api_statistic by level, of the files of one run."""
    contents: Found = {"csv": {}, "json": [], "layers": [], "tables": [], "calls": {}, "txt": []}
    for path in written:
        stem = re.sub(r"_\d{14}$", "", path.stem)
        if path.suffix == ".csv":
            header, *lines = csv.reader(path.read_text(encoding="utf-8").splitlines())
            contents["csv"][stem] = header
            if stem == "api_statistic":
                level, name = header.index("Level"), header.index("API Name")
                for line in lines:
                    contents["calls"].setdefault(line[level], []).append(line[name])
        elif path.suffix == ".db":
            with closing(sqlite3.connect(path)) as database:
                contents["tables"] = [
                    row[0] for row in database.execute("select name from sqlite_master where type='table'")
                ]
        elif path.suffix == ".json":
            contents["json"].append(
                stem if path.parent.parent == prof and stem != path.stem else f"{path.parent.name}/{stem}"
            )
            if stem == "msprof":
                contents["layers"] = _layers(json.loads(path.read_text(encoding="utf-8")), prof)
        else:
            contents["txt"].append(stem)
    return contents


def _layers(events: Sequence[Mapping[str, Any]], prof: Path) -> list[str]:
    """Return the processes of a timeline; the application by what it is, Step Trace though it only has threads."""
    application = json.loads((prof / "host" / "info.json").read_text(encoding="utf-8"))["pid_name"]
    names = [str(event["args"]["name"]) for event in events if event["name"] in ("process_name", "thread_name")]
    processes = [str(event["args"]["name"]) for event in events if event["name"] == "process_name"]
    steps = ["Step Trace"] if any(name.startswith("Step Trace(") for name in names) else []
    return [*dict.fromkeys("application" if name == application else name for name in processes), *steps]
