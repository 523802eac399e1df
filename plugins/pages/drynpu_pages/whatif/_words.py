"""What became of a run, in words."""

from __future__ import annotations

from drynpu.platforms import Chip
from drynpu.views.theme import share_text, size_text, time_text
from drynpu_pages.whatif._change import Change
from drynpu_pages.whatif._cut import MOST_ENTRIES
from drynpu_pages.whatif._outcome import Outcome, Recorded

GROUP_NAMES = {
    "kernels": "kernels and copies",
    "communication": "communication",
    "other ranks": "waiting for other ranks",
    "host": "launches and host",
    "between": "gaps between kernels",
}
"""Key of `drynpu_pages.critical.GROUPS` -> what bounds a step."""

NO_BATCH = (
    "Another batch is no change here: the files have the shapes of kernels, and no shape says which of its axes is the "
    "batch. The script says it: drynpu fit --batch and drynpu sweep run it again."
)


NO_CALLS = (
    "No calls of the host were recorded: what gaps between kernels waited for is not known, so they last as recorded, "
    "and a host without gaps changes nothing."
)


def bound_by(outcome: Outcome) -> tuple[str, float]:
    """Return what bounds the steps most after the change, and its share of the critical path."""
    whole = float(outcome.groups["after_us"].sum()) or 1.0
    what, _, after = outcome.groups.row(0)
    return GROUP_NAMES[what], after / whole


def outcome_text(outcome: Outcome, change: Change) -> str:
    """Return the outcome in a sentence or two."""
    was, now = outcome.was_us, outcome.mean_us
    each = "a step" if outcome.steps["step"][0] else "the recording"
    between, (bound, share) = outcome.range_us, bound_by(outcome)
    sure = "" if between is None else f" Eight of ten such last {time_text(between[0])} to {time_text(between[1])}."
    return (
        f"With {change.text}, {each} takes {time_text(now)} in place of {time_text(was)} ({_difference(was, now)}). "
        f"What bounds it then: {bound} ({share_text(share)} of the critical path).{sure}"
    )


def _difference(was: float, now: float) -> str:
    share = now / was - 1 if was else 0.0
    return "no difference" if abs(share) < 0.0005 else f"{share:+.1%}".replace("%", " %")


def memory_text(peak_bytes: int | None, chip: Chip | None) -> str:
    """Return that a run does not fit on another chip; ``""`` where it does, or nobody knows."""
    if chip is None or peak_bytes is None or peak_bytes <= chip.memory_bytes:
        return ""
    peak, there = size_text(peak_bytes), size_text(chip.memory_bytes)
    return f"It does not fit there: {peak} were allocated, {chip.name} has {there}."


def cut_text(recorded: Recorded) -> str:
    """Return which part of a long run was simulated again; ``""`` where all of it was."""
    cut = recorded.cut
    if cut.all_steps:
        return ""
    part = f"the last {MOST_ENTRIES} kernels and collectives"
    if not cut.whole:
        return f"Simulated again are {part} alone: it is a long run."
    if len(cut.windows) == 1:
        return f"Simulated again: step {cut.windows[0].step} alone, of {cut.steps} steps."
    return f"Simulated again: the last {len(cut.windows)} of {cut.steps} steps."


def basis_text(recorded: Recorded, *, modelled: bool) -> str:
    """Return how much of a run the model knows, and how its times compare with the recorded ones."""
    known = recorded.coverage
    parts = [f"The model knows {share_text(known.known_us / (known.kernels_us or 1.0))} of the time of the kernels"]
    if known.collectives:
        parts.append(f"{known.known_collectives} of {known.collectives} collectives")
    if known.ratio is not None:
        times = "the recorded" if modelled else "the measured"
        parts.append(f"{times} times of these kernels are {known.ratio:.2f} times as long as the model says")
    return (
        f"{', '.join(parts)} ({recorded.chip.name}). What it does not know takes as long as recorded, "
        "and so do waits for other ranks."
    )
