"""Rules between flags: what excludes what, what needs what, and what has no effect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import frozen

from drynpu.options._notices import Notice, NoticeCode, remark, warning
from drynpu.options._values import Level
from drynpu.options.msprof_cli._flags import FLAGS
from drynpu.options.msprof_cli._launch import LaunchMode
from drynpu.options.profiling_options import WIDE_RANGE_MESSAGE
from drynpu.platforms import Platform

# cann_msprof.md 1.3, instr_profiling_freq, with the flags that only the command has (hicann/oam-tools
# docs/zh/profiling/msprof_cmd/processorai_accelerator_system_data.md).
_EXCLUDED_BY_INSTRUCTIONS = (
    "ascendcl",
    "model-execution",
    "runtime-api",
    "hccl",
    "task-time",
    "task-trace",
    "aicpu",
    "ai-core",
    "aic-mode",
    "aic-freq",
    "aic-metrics",
    "l2",
)
# The command refuses these beside --dynamic=on: what is typed says when recording starts and ends.
_CONFLICTS_WITH_DYNAMIC = ("sys-devices", "sys-period", "sys-cpu-profiling", "delay", "duration")
_DOMAINS = ("mstx-domain-include", "mstx-domain-exclude")


@frozen(kw_only=True)
class FlagValues:
    """The flags given, as neutral values by name, and what they are given for."""

    values: Mapping[str, Any]
    mode: LaunchMode
    application: tuple[str, ...]
    platform: Platform

    def on(self, name: str) -> bool:
        """Whether a switch was given and is on."""
        return self.values.get(name) is True

    @property
    def useless(self) -> list[str]:
        """The flags given that have no meaning in this mode."""
        return [
            name
            for name in self.values
            if not (FLAGS[name].with_application if self.mode.runs else FLAGS[name].without_application)
        ]

    @property
    def counting(self) -> dict[str, Any]:
        """The values that have a meaning in this mode."""
        useless = self.useless
        return {name: value for name, value in self.values.items() if name not in useless}


def find_mode(values: Mapping[str, object], application: Sequence[str]) -> LaunchMode | None:
    """Return what the flags profile, in the order in which the command looks; ``None`` for nothing."""
    if application or "application" in values:
        return LaunchMode.APPLICATION
    if values.get("dynamic") is True:
        return LaunchMode.ATTACH
    for mode in (LaunchMode.DEVICES, LaunchMode.HOST_PROCESS, LaunchMode.HOST):
        if mode.value in values:
            return mode
    return None


def problems_between(flags: FlagValues, *, require_target: bool) -> list[str]:
    """Return what the command refuses although each flag by itself is fine, in its words."""
    return [
        *_dynamic(flags, require_target=require_target),
        *_marks(flags),
        *_instructions(flags),
        *(_system(flags) if not flags.mode.runs and require_target else ()),
    ]


def _dynamic(flags: FlagValues, *, require_target: bool) -> Iterator[str]:
    values = flags.values
    if not flags.on("dynamic"):
        if "pid" in values:
            yield "Argument --dynamic=off, but --pid is set."
        return
    runs = flags.mode is LaunchMode.APPLICATION and bool(flags.application or "application" in values)
    if not runs and "pid" not in values and require_target:
        yield "Argument --dynamic=on, but --application/--pid is all empty."
    if runs and "pid" in values:
        yield "Argument --dynamic=on, can not set --application/--pid at the same time."
    for name in _CONFLICTS_WITH_DYNAMIC:
        if name in values:
            yield f"Argument --dynamic and --{name} cannot be configured at the same time."


def _marks(flags: FlagValues) -> Iterator[str]:
    named = [name for name in _DOMAINS if name in flags.values]
    if named and not flags.on("msproftx"):
        yield "Argument --mstx-domain-include/--mstx-domain-exclude must be used with --msproftx=on."
    elif len(named) == len(_DOMAINS):
        yield "Argument --mstx-domain-include and --mstx-domain-exclude cannot be used at the same time."


def _instructions(flags: FlagValues) -> Iterator[str]:
    if not flags.on("instr-profiling"):
        return
    for name in _EXCLUDED_BY_INSTRUCTIONS:
        if name in flags.values and flags.values[name] not in (False, Level.NONE):
            yield f"--{name}: {name} and instr-profiling are mutually exclusive; leave one of them out"


def _system(flags: FlagValues) -> Iterator[str]:
    values, name = flags.values, flags.mode.value
    missing = [f"--{flag}" for flag in ("output", "sys-period") if flag not in values]
    if missing:
        yield f"The argument {' '.join(missing)} is neccessary when --{name} is not empty"
    elif set(values) <= {"output", "sys-period", "sys-devices"}:
        yield "--sys-devices: No collection data type is specified, profiling will not start"
    if "host-sys" in values and "host-sys-pid" not in values:
        yield "The argument --host-sys-pid are required when app is empty and --host-sys is on."


def remarks(flags: FlagValues) -> list[Notice]:
    """Return what is accepted and has no effect, or less than it says."""
    notices = []
    useless = flags.useless
    if useless:
        names = " ".join(f"--{name}" for name in useless)
        message = f"The argument {names} is useless when --{flags.mode.value} is not empty"
        notices += [_ignored(f"--{useless[0]}", message)]
    if "application" in flags.values and flags.application:
        notices.append(_ignored("--application", "--application counts; the command after the flags is left out."))
    if "task-trace" in flags.values and "task-time" in flags.values:
        notices.append(_ignored("--task-trace", "--task-trace has no effect beside --task-time."))
    if "instr-profiling-freq" in flags.values and not flags.platform.options.instruction_interval:
        message = "The argument: instr-profiling-freq is useless on this platform."
        notices.append(_ignored("--instr-profiling-freq", message))
    return [*notices, *_needs(flags), *_counters(flags), *_chip(flags)]


def _needs(flags: FlagValues) -> Iterator[Notice]:
    for name in flags.counting:
        needed = FLAGS[name].needs
        # Counters are on unless they are switched off; `_counters` reports what needs them.
        if not needed or needed in ("ai-core", "dynamic") or name in _DOMAINS:
            continue
        state = flags.values.get(needed, FLAGS[needed].default == "on")
        if state in (False, ()):
            suffix = "" if needed == "host-sys-usage" else "=on"
            yield _ignored(f"--{name}", f"--{name} has no effect without --{needed}{suffix}.")


def _counters(flags: FlagValues) -> Iterator[Notice]:
    values = flags.counting
    if flags.mode.runs:
        level = values.get("task-time", values.get("task-trace", Level.L1))
        on = values.get("ai-core", level >= Level.L1)
        if level < Level.L1 and values.get("ai-core") is True:
            yield _ignored("--ai-core", "--ai-core has no effect: counters need --task-time on, l1 or l2.")
            return
    else:
        on = values.get("ai-core", False)
        if on and values.get("aic-mode") == "task-based":
            message = "without an application there are no tasks: counters are read by time (sample-based)."
            yield warning("--aic-mode", message, NoticeCode.RESET)
    for name in ("aic-mode", "aic-freq", "aic-metrics"):
        if name in values and not on:
            yield _ignored(f"--{name}", f"--{name} has no effect: AI Core counters are off.")
    if on and flags.mode.runs and "aic-freq" in values and values.get("aic-mode") != "sample-based":
        yield _ignored("--aic-freq", "--aic-freq has no effect without --aic-mode=sample-based.")


def _chip(flags: FlagValues) -> Iterator[Notice]:
    rate = "sys-hardware-mem-freq"
    if FLAGS[rate].is_wide(flags.counting.get(rate, 1)):
        yield remark(f"--{rate}", WIDE_RANGE_MESSAGE, NoticeCode.CHIP)
    if flags.on("sys-io-profiling") and flags.platform.options.samples_nic_alone:
        message = f"{flags.platform.label} samples the NIC only, and only in root complex mode."
        yield remark("--sys-io-profiling", message, NoticeCode.CHIP)


def _ignored(path: str, message: str) -> Notice:
    return warning(path, message, NoticeCode.IGNORED)
