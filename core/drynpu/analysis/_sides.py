"""What two runs are that somebody compares: how they were recorded, and what speaks against comparing them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from drynpu._errors import ChipError
from drynpu.analysis._summary import Summary
from drynpu.analysis.hints._remedies import framework_of
from drynpu.platforms import load_chip
from drynpu.tables import Profile
from drynpu.writers.number_text import UNKNOWN

Side = tuple[Profile, Summary]

_CONFIGS = ("config", "profiler_parameters")
"""Where profiler_info.json of torch and of MindSpore keeps what was asked for."""
_OFF = frozenset({"", "False", "None", "0"})
_LEAST_COMMON = 0.5
"""Share of the kernel time in types that both runs have below which they are different programs; ours."""


def run_facts(side: Side) -> Mapping[str, str]:
    """Return what a run is, from its chip to the number of its steps; what nobody knows is left out."""
    profile, summary = side
    genuine = "measured" if summary.chip == UNKNOWN else summary.chip
    facts = {
        "chip": genuine,
        "framework": framework_of(profile),
        "clock": "" if summary.clock == UNKNOWN else summary.clock,
        "level": profile.level,
        "counters": profile.aic_metrics,
        "rank": str(profile.rank_id) if profile.rank_id >= 0 else "",
        "steps": str(summary.steps.filter(pl.col("step") != "").height or ""),
    }
    return {name: text for name, text in facts.items() if text}


def changed_options(first: Side, second: Side) -> Mapping[str, tuple[str, str]]:
    """Return what was recorded differently, by the name of the fact or option; ``N/A`` where a side does not say it."""
    sides = [{**run_facts(side), **_options(side[0])} for side in (first, second)]
    sides = [{name: text for name, text in side.items() if name not in ("rank", "steps")} for side in sides]
    one, other = sides
    batch = _changed_batch(first[0], second[0])
    names = dict.fromkeys((*one, *other))
    changed = {n: (one.get(n, UNKNOWN), other.get(n, UNKNOWN)) for n in names if one.get(n) != other.get(n)}
    # An option that one release does not know yet is off there.
    changed = {n: pair for n, pair in changed.items() if UNKNOWN not in pair or not {*pair} & _OFF}
    return changed | ({"batch (leading dim of most kernels)": batch} if batch else {})


def objections(first: Side, second: Side) -> Iterator[str]:
    """Yield why a difference between two runs may not be a change of the program."""
    facts = [run_facts(side) for side in (first, second)]
    for name, why in (
        ("chip", "times of different devices, or of a model and a device, differ for that reason alone"),
        ("framework", "their operators and kernels have other names"),
        ("clock", "their times pass on different clocks"),
        ("level", "what one records the other may leave out"),
    ):
        one, other = (side.get(name, UNKNOWN) for side in facts)
        if one != other:
            yield f"The {name} is not the same ({one} and {other}): {why}."
    generations = [_generation(side.get("chip", "")) for side in facts]
    if all(generations) and generations[0] != generations[1]:
        yield (
            f"The chips are of different generations ({generations[0]} and {generations[1]}): the same operator "
            "launches other kernels there, and their counters count other events."
        )
    yield from _about_steps(first[1].steps, second[1].steps)
    share = _common_share(first[0], second[0])
    if share is not None and share < _LEAST_COMMON:
        yield f"Only {share:.0%} of the kernel time is in types that both have: these are different programs."


def _about_steps(first: pl.DataFrame, second: pl.DataFrame) -> Iterator[str]:
    names = [
        steps.filter(pl.col("step") != "")["step"].unique(maintain_order=True).to_list() for steps in (first, second)
    ]
    if bool(names[0]) != bool(names[1]):
        which = "baseline" if names[0] else "second run"
        yield f"Only the {which} has steps: a mean step is compared with a whole recording."
    elif names[0] and not {*names[0]} & {*names[1]}:
        spans = [name[0] if len(name) == 1 else f"{name[0]} to {name[-1]}" for name in names]
        yield f"No step is in both ({spans[0]} and {spans[1]}): they are of different parts of a training."


def _generation(chip: str) -> str:
    """Return the generation of a chip and its version, ``""`` of a chip that nobody describes here."""
    try:
        known = load_chip(chip)
    except ChipError:
        return ""
    return f"{known.generation}, platform {known.platform_version}"


def refusals(first: Side, second: Side) -> Iterator[str]:
    """Yield why two runs cannot be compared at all; a framework that nobody knows is no reason."""
    frameworks = [run_facts(side).get("framework", "") for side in (first, second)]
    if all(frameworks) and frameworks[0] != frameworks[1]:
        yield f"one is of {frameworks[0]}, the other of {frameworks[1]}"
    if _common_share(first[0], second[0]) == 0:
        yield "no type of kernel is in both"


def refusal_text(first: Side, second: Side) -> str:
    """Return why two runs cannot be compared, in a sentence without its full stop; ``""`` where they can."""
    reasons = "; ".join(refusals(first, second))
    return f"these runs cannot be compared: {reasons}" if reasons else ""


def _options(profile: Profile) -> Mapping[str, str]:
    return {
        name: text
        for key in _CONFIGS
        for name, text in _flat(profile.profiler_info.get(key), "")
    }  # fmt: skip


def _flat(value: object, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat(inner, f"{name}.{key}" if name else str(key))
    elif name:
        value = ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else value
        yield name.rsplit(".", 1)[-1].lstrip("_"), str(value)


def _common_share(first: Profile, second: Profile) -> float | None:
    """Return the smaller share of the kernel time of a side in types that both have; ``None`` without types."""
    times = [_by_type(profile) for profile in (first, second)]
    if not all(times):
        return None
    shares = [
        sum(time for kind, time in one.items() if kind in other) / (sum(one.values()) or 1)
        for one, other in (times, times[::-1])
    ]
    return min(shares)


def _by_type(profile: Profile) -> Mapping[str, int]:
    kernels = profile.compact("kernels", "op_type", "duration_ns").with_columns(pl.col("op_type").cast(pl.String))
    typed = kernels.filter(~pl.col("op_type").is_in(["", UNKNOWN]))
    return dict(typed.group_by("op_type").agg(pl.col("duration_ns").sum()).iter_rows())


def _changed_batch(first: Profile, second: Profile) -> tuple[str, str] | None:
    """Return the leading dims of first operands on both sides, where most kernel types that changed agree on them."""
    one, other = (_leading(profile) for profile in (first, second))
    pairs = Counter((one[kind], other[kind]) for kind in one.keys() & other.keys() if one[kind] != other[kind])
    if not pairs:
        return None
    (pair, count), *_ = pairs.most_common(1)
    return pair if count * 2 > sum(pairs.values()) else None


def _leading(profile: Profile) -> Mapping[str, str]:
    """Return the leading dim of the first operand of each kernel type that has just one."""
    kernels = profile.compact("kernels", "op_type", "input_shapes").with_columns(pl.all().cast(pl.String))
    dims = pl.col("input_shapes").str.strip_chars('"').str.extract(r"^(\d+),", 1)
    each = kernels.with_columns(dims.alias("leading")).drop_nulls("leading").group_by("op_type")
    rows: Sequence[tuple[str, list[str]]] = each.agg(pl.col("leading").unique()).rows()
    return {kind: leading[0] for kind, leading in rows if len(leading) == 1}
