"""The options that leave deliverables, each with a document that turns it on: the rows of option x chip."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from attrs import frozen

from drynpu._errors import OptionError
from drynpu.options import acl_json, msprof_cli, profiling_options
from drynpu.options._deliverable_rows import Deliverable
from drynpu.options._deliverables import deliverables
from drynpu.options._request import Parsed
from drynpu.options.profiling_options import ChipClass

__all__ = ["DOCUMENTED_OPTIONS", "DocumentedOption", "deliverable_table"]


@frozen(kw_only=True)
class DocumentedOption:
    """
    One row of the table option x chip.

    Attributes
    ----------
    name:
        The option as its dialect spells it.
    path:
        The same in the neutral model.
    dialect:
        ``profiling_options``, ``acl_json`` or ``msprof_cli``: one that has it.
    document:
        Turns it on, and as little else as the dialect allows; without an output directory.
    """

    name: str
    path: str
    dialect: str
    document: Mapping[str, object]

    def parse(self, chip: str, *, output: str = "/tmp") -> Parsed:
        """
        Read the document for *chip*.

        Raises
        ------
        OptionError
            When the chip does not have the option.
        """
        document = {**self.document, "output": output}
        if self.dialect == "msprof_cli":
            flags = {name: str(text) for name, text in document.items()}
            return msprof_cli.parse(flags, chip=chip, environ={}, cwd=output, require_target=False)
        if self.dialect == "acl_json":
            return acl_json.parse({"switch": "on", **document}, chip=chip, environ={}, cwd=output)
        return profiling_options.parse(document, chip=chip, environ={}, cwd=output)

    def deliverables(self, chip: str) -> tuple[Deliverable, ...] | None:
        """Return what it leaves on *chip*; ``None`` when the chip does not have it."""
        try:
            request = self.parse(chip).request
        except OptionError:
            return None
        return tuple(row for row in deliverables(request, chip) if row.option == self.path)


def _json(name: str, value: object, path: str, **more: object) -> DocumentedOption:
    return _row(name, path, "profiling_options", {name: value, **more})


def _flag(name: str, value: str, path: str, **more: str) -> DocumentedOption:
    flags = {name: value, **{key.replace("_", "-"): text for key, text in more.items()}}
    return _row(f"--{name}", path, "msprof_cli", flags)


def _row(name: str, path: str, dialect: str, document: Mapping[str, object]) -> DocumentedOption:
    return DocumentedOption(name=name, path=path, dialect=dialect, document=MappingProxyType(dict(document)))


DOCUMENTED_OPTIONS: tuple[DocumentedOption, ...] = (
    _json("task_time", "l1", "level"),
    _json("training_trace", "on", "switches.training_trace"),
    _json("runtime_api", "on", "switches.runtime_api"),
    _row("ascendcl", "switches.acl_api", "acl_json", {"ascendcl": "on"}),
    _json("ge_api", "l1", "switches.graph_api"),
    _json("hccl", "on", "switches.communication"),
    _json("aicpu", "on", "switches.aicpu"),
    _json("aic_metrics", "PipeUtilization", "aic_metrics"),
    _flag("aic-mode", "sample-based", "sampling.ai_core_hz"),
    _json("l2", "on", "switches.l2_cache"),
    _json("msproftx", "on", "switches.tx"),
    _json("task_memory", "on", "switches.task_memory"),
    _json("task_block", "on", "switches.task_block"),
    _json("sys_hardware_mem_freq", 50, "sampling.hardware_memory_hz"),
    _json("llc_profiling", "read", "sampling.llc", sys_hardware_mem_freq=50),
    _json("sys_io_sampling_freq", 100, "sampling.io_hz"),
    _json("sys_interconnection_freq", 50, "sampling.interconnection_hz"),
    _json("dvpp_freq", 50, "sampling.dvpp_hz"),
    _flag("instr-profiling", "on", "switches.instructions"),
    _json("host_sys", "cpu,mem,disk,network,osrt", "sampling.host_systems"),
    _json("host_sys_usage", "cpu,mem", "sampling.host_usage"),
    _json("host_sys_usage_freq", 50, "sampling.host_usage_hz", host_sys_usage="cpu,mem"),
    _flag("sys-profiling", "on", "sampling.device_system_hz"),
    _flag("sys-pid-profiling", "on", "sampling.device_process_hz"),
    _flag("sys-cpu-profiling", "on", "sampling.cpu_hz"),
    _flag("type", "text", "output.export"),
)
"""
The rows, in the order of cann_msprof.md 3. ``--type`` stands for what is always there; two options only say how others
are sampled and leave nothing themselves.
"""


def deliverable_table() -> dict[tuple[str, ChipClass], tuple[Deliverable, ...] | None]:
    """Return every cell: (name of the option, chip class) -> deliverables, ``None`` where the chip lacks the option."""
    return {(option.name, chip): option.deliverables(_SOC[chip]) for option in DOCUMENTED_OPTIONS for chip in ChipClass}


_SOC = {
    ChipClass.ASCEND_310: "Ascend310",
    ChipClass.ASCEND_310B: "Ascend310B",
    ChipClass.ASCEND_310P: "Ascend310P3",
    ChipClass.ASCEND_910: "Ascend910A",
    ChipClass.ASCEND_A2: "Ascend910B2",
    ChipClass.ASCEND_A3: "Ascend910_9391",
    ChipClass.ASCEND_950: "Ascend950PR",
}
