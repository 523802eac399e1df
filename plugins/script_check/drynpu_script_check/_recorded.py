"""What the recording of the first steps shows: waits, types, small kernels, memory, with the lines behind them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import polars as pl

from drynpu.analysis import Summary, link_operators
from drynpu.analysis.hints import Finding, find_all, per_text, remedy_for
from drynpu.checks import WAIT_RANGE, Observation, ObservedWait, Place
from drynpu.options import Severity
from drynpu.platforms import Chip
from drynpu.tables import Profile
from drynpu_script_check._mistake import Mistake

_WAITS = ("aclrtSynchronize",)
_WAIT_SHARE = 0.01
"""Share of a step from which a waiting line is a warning; ours."""
_LITTLE_LEFT = 0.9
"""Share of the chip's memory from which a peak is a warning; ours."""
_NAMED = 3
"""Lines and operators that a finding names."""
_WARNINGS = frozenset({"ai-cpu", "tiny-kernels", "synchronising-calls"})
"""Hints that are warnings here; the others are worth a look."""


def recorded_mistakes(profile: Profile, summary: Summary, observation: Observation) -> Iterator[Mistake]:
    """Yield what the recording of the first steps shows."""
    waits = list(_waits(profile, summary, observation))
    yield from waits
    yield from _doubles(observation, per_text(summary.steps))
    if observation.framework != "torch":
        yield from _double_kernels(profile)
    for finding in find_all(profile, summary):
        # Their lines are named already.
        if not (finding.name == "synchronising-calls" and waits):
            yield _hint(finding, profile, observation)


def memory_mistakes(observation: Observation, chip: Chip) -> Iterator[Mistake]:
    """Yield that the peak of device memory comes near to what *chip* has, or passes it."""
    allocated, reserved = observation.peak_allocated_bytes, observation.peak_reserved_bytes
    if allocated is None or reserved is None or reserved < _LITTLE_LEFT * chip.memory_bytes:
        return
    gib = 1 << 30
    full = allocated > chip.memory_bytes
    yield Mistake(
        name="memory-peak",
        level=Severity.ERROR if full else Severity.WARNING,
        title="The chip's memory is too small" if full else "The chip's memory is nearly full",
        evidence=f"Peak {allocated / gib:.1f} GiB allocated, {reserved / gib:.1f} GiB reserved after"
        f" {observation.steps} steps; {chip.name} has {chip.memory_bytes / gib:.1f} GiB.",
        fix="A smaller batch, mixed precision, activation checkpointing, a sharded optimizer, or another chip.",
    )


def _waits(profile: Profile, summary: Summary, observation: Observation) -> Iterator[Mistake]:
    count, per = max(summary.steps.height, 1), per_text(summary.steps)
    whole_us = sum(
        float(summary.steps[name].sum()) for name in ("computing_us", "communication_not_overlapped_us", "free_us")
    )
    ranges = profile.compact("host_ops", "name", "start_ns", "end_ns", "tid").with_columns(
        pl.col("name").cast(pl.String)
    )
    ranges = ranges.filter(pl.col("name").str.starts_with(WAIT_RANGE))
    calls = profile.api.filter(pl.any_horizontal(pl.col("name").str.starts_with(name) for name in _WAITS))
    calls = calls.select("start_ns", "tid", waited_ns=pl.col("end_ns") - pl.col("start_ns"))
    inside = ranges.join(calls, on="tid", suffix="_call").filter(
        pl.col("start_ns_call").is_between(pl.col("start_ns"), pl.col("end_ns"))
    )
    for wait in observation.waits:
        if wait.times:
            yield _counted_wait(wait, count, per)
            continue
        name = f"{WAIT_RANGE}{wait.index}"
        times = ranges.filter(pl.col("name") == name).height
        waited_us = float(inside.filter(pl.col("name") == name)["waited_ns"].sum()) / 1000
        if not times:
            continue  # before or after the steps that were recorded
        share = waited_us / whole_us if whole_us else 0.0
        yield Mistake(
            name="host-waits",
            level=Severity.WARNING if share >= _WAIT_SHARE else Severity.INFO,
            title=f"The host waits for the device: {wait.call}",
            evidence=f"{_times(times / count)} {per}, {waited_us / count / 1000:.3f} ms in synchronising calls"
            + (f" ({share:.1%} of the {'step' if per == 'a step' else 'recording'})" if whole_us else "")
            + "; the device runs dry meanwhile.",
            fix=_WAIT_FIXES.get(
                wait.call, "Do it every few steps, or after the loop; add up on the device until then."
            ),
            place=wait.place,
            cost_us=waited_us / count,
            per=per,
        )


def _counted_wait(wait: ObservedWait, count: int, per: str) -> Mistake:
    """Return a line of which only the number of its waits is known."""
    times = wait.times / count
    return Mistake(
        name="host-waits",
        level=Severity.WARNING if times >= 1 else Severity.INFO,
        title=f"The host waits for the device: {wait.call}",
        evidence=f"{_times(times)} {per}; the device runs dry meanwhile.",
        fix=_WAIT_FIXES.get(wait.call, "Do it every few steps, or after the loop; add up on the device until then."),
        place=wait.place,
    )


_PRINTED = "Print every few steps, and a detached sum in place of the tensor."
_WAIT_FIXES: Mapping[str, str] = {
    "a tensor printed": _PRINTED,
    "a tensor as a condition": "Keep the decision on the device with torch.where, or decide every few steps.",
    "torch.npu.synchronize()": "Leave it out of the loop: reading a result waits by itself.",
    "nonzero()": "The size of its result is not known before the device is done: use torch.where with three arguments,"
    " or a mask of fixed size.",
    "masked_select()": "Multiply by the mask, or use torch.where with three arguments.",
}


def _times(count: float) -> str:
    if count < 1:
        return f"{count:.2f} times"
    return "Once" if round(count) == 1 else f"{count:.0f} times"


def _doubles(observation: Observation, per: str) -> Iterator[Mistake]:
    lines: dict[Place, Counter[str]] = {}
    for operator in observation.operators:
        if operator.double_calls:
            lines.setdefault(operator.place, Counter())[operator.name] += operator.double_calls
    for place, names in lines.items():
        yield Mistake(
            name="float64",
            level=Severity.WARNING,
            title="FLOAT64 on the npu",
            evidence=f"FLOAT64 results {per}: {_named(names)}. The AI cores have no FLOAT64.",
            fix="Make it float32 before it goes to the npu: dtype=torch.float32, .float(); NumPy arrays are float64.",
            place=place,
        )


def _double_kernels(profile: Profile) -> Iterator[Mistake]:
    """Yield that kernels have tensors of FLOAT64, of a framework whose lines are not noted."""
    kernels = profile.compact("kernels", "name", "op_type", "input_dtypes", "output_dtypes")
    types = pl.concat_str(pl.col("input_dtypes", "output_dtypes").cast(pl.String).fill_null(""), separator=";")
    op_types = kernels.filter(types.str.contains("DOUBLE"))["op_type"].cast(pl.String).to_list()
    if op_types:
        yield Mistake(
            name="float64",
            level=Severity.WARNING,
            title="FLOAT64 on the npu",
            evidence=f"Kernels with FLOAT64, in all that was recorded: {_named(Counter(op_types))}. The AI cores have"
            " no FLOAT64.",
            fix="Make it float32 before it goes to the npu: NumPy arrays are float64.",
        )


def _named(names: Counter[str]) -> str:
    return ", ".join(f"{name} x{count}" for name, count in names.most_common(_NAMED))


def _hint(finding: Finding, profile: Profile, observation: Observation) -> Mistake:
    lines = _lines(finding, profile, observation)
    top = ", ".join(f"{place} ({share:.0%})" for place, share in lines[:_NAMED])
    return Mistake(
        name=finding.name,
        level=Severity.WARNING if finding.name in _WARNINGS else Severity.INFO,
        title=finding.title,
        evidence=finding.evidence + (f" Lines: {top}." if top else ""),
        fix=remedy_for(finding.name, observation.framework, finding.remedy),
        place=lines[0][0] if lines else None,
        cost_us=finding.cost_us,
        per=finding.per,
    )


_KERNELS: Mapping[str, pl.Expr] = {
    "ai-cpu": pl.col("task_type") == "AI_CPU",
    "tiny-kernels": pl.col("duration_ns").is_between(1, 5000, closed="left"),
}
"""The kernels that a hint speaks of, where it is known which operators launched them."""


def _lines(finding: Finding, profile: Profile, observation: Observation) -> list[tuple[Place, float]]:
    """Return the lines behind the kernels of a finding with their share of them, the largest first."""
    wanted = _KERNELS.get(finding.name)
    if wanted is None:
        return []
    kernels = link_operators(profile).kernel_op.filter((pl.col("kind") == "kernel") & wanted)
    names = profile.compact("host_ops", "name")["name"].cast(pl.String)
    launched = Counter(names.gather(kernels["op_id"]).to_list())
    called = [each for each in observation.operators if each.name in launched]
    calls, doubles = Counter[str](), Counter[str]()
    for each in called:
        calls[each.name] += each.calls
        doubles[each.name] += each.double_calls
    shares: dict[Place, float] = {}
    for each in called:
        # Calls of one name differ by their types: those with FLOAT64 are the ones on the AI CPU.
        by_type = finding.name == "ai-cpu" and doubles[each.name]
        part = each.double_calls / doubles[each.name] if by_type else each.calls / calls[each.name]
        shares[each.place] = shares.get(each.place, 0.0) + launched[each.name] * part
    whole = sum(shares.values())
    ordered = sorted(shares.items(), key=lambda item: (-item[1], item[0]))
    return [(place, count / whole) for place, count in ordered if count] if whole else []
