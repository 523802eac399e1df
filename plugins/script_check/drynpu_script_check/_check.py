"""A script is run as far as its first steps, in a process of its own, and all rules look at what it did."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from attrs import evolve, frozen

from drynpu import at_stage
from drynpu.analysis import Summary, summarise
from drynpu.checks import Observation, read_observations
from drynpu.options import Severity
from drynpu.platforms import Chip
from drynpu.products import find_profiles, load_profile
from drynpu.recorder import CHECK_VARIABLE, CheckCommand
from drynpu.tables import Profile
from drynpu_script_check._mistake import Mistake
from drynpu_script_check._outputs import output_mistakes, size_mistakes
from drynpu_script_check._profilers import profiler_mistakes
from drynpu_script_check._recorded import memory_mistakes, recorded_mistakes
from drynpu_script_check._requests import request_mistakes
from drynpu_script_check._script import script_mistakes

_SKIPPED = 2
"""Steps before the recorded ones: the first sets up optimizers and caches, the lines of the second are noted."""
_ORDER = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}


@frozen(kw_only=True)
class CheckedRun:
    """
    What the first steps of a script left.

    Attributes
    ----------
    profiles:
        The recordings by process id, for as long as the folder of the check is there.
    summary:
        Of the first recording; ``None`` if nothing ran on the npu.
    output:
        What the script printed, both streams.
    """

    exit_code: int
    duration_s: float
    output: str
    observations: tuple[Observation, ...]
    summary: Summary | None
    mistakes: tuple[Mistake, ...]

    @property
    def steps(self) -> int:
        """Steps that were made."""
        return max((each.steps for each in self.observations), default=0)

    @property
    def limited(self) -> bool:
        """Whether the script was ended at the limit of steps."""
        return any(each.limited for each in self.observations)

    def count(self, level: Severity) -> int:
        """Return how many mistakes are of a level."""
        return sum(mistake.level is level for mistake in self.mistakes)


def check_script(
    command: Sequence[str], chip: Chip, *, first_steps: int, total_steps: int | None, environment: Mapping[str, str]
) -> CheckedRun:
    """
    Run *command*, which starts the script under ``drynpu run``, for *first_steps* steps and apply all rules.

    A script that ends before a step is recorded is run once more, and recorded from its beginning. *total_steps* is the
    length of the real run, if it is known.
    """
    folder = Path(tempfile.mkdtemp(prefix="drynpu_check_"))
    try:
        order = CheckCommand(folder=folder, first_steps=first_steps, skip_steps=_SKIPPED)
        at_stage(f"Running the first {first_steps} steps")
        run, profiles = _run(command, order, environment)
        if not run.exit_code and run.observations and not profiles:
            at_stage("Running it again, recorded from its beginning")
            run, profiles = _run_again(command, run, folder / "again", environment)
        run = evolve(run, observations=tuple(_with_peak(each, profiles.get(each.pid)) for each in run.observations))
        at_stage("Looking for mistakes")
        mistakes = list(_mistakes(run, profiles, chip, total_steps))
        distinct = {(each.name, each.place, each.title): each for each in mistakes}
        ordered = sorted(distinct.values(), key=lambda each: (_ORDER[each.level], -(each.cost_us or 0.0)))
        first = next(iter(profiles.values()), None)
        return evolve(run, summary=None if first is None else summarise(first), mistakes=tuple(ordered))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(
    command: Sequence[str], order: CheckCommand, environment: Mapping[str, str]
) -> tuple[CheckedRun, dict[int, Profile]]:
    order.folder.mkdir(exist_ok=True)
    begin_s = time.monotonic()
    process = subprocess.Popen(
        command,
        env={**environment, CHECK_VARIABLE: order.to_text()},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    try:
        output, _ = process.communicate()
    except KeyboardInterrupt:
        process.send_signal(signal.SIGINT)
        process.wait()
        raise
    observations = read_observations(order.folder)
    profiles = {}
    for each in observations:
        place = order.folder / f"profile_{each.pid}"
        directories = find_profiles(place) if place.is_dir() else []
        if directories:
            profiles[each.pid] = load_profile(directories[0])
    run = CheckedRun(
        exit_code=process.returncode,
        duration_s=time.monotonic() - begin_s,
        output=output,
        observations=tuple(observations),
        summary=None,
        mistakes=(),
    )
    return run, profiles


def _run_again(
    command: Sequence[str], run: CheckedRun, folder: Path, environment: Mapping[str, str]
) -> tuple[CheckedRun, dict[int, Profile]]:
    """Run a script of few steps again and record all of it; all but the waits is as the first run noted it."""
    again, profiles = _run(command, CheckCommand(folder=folder, first_steps=run.steps or None), environment)
    recorded = {each.rank: each for each in again.observations}
    observations = [
        evolve(each, pid=recorded[each.rank].pid, waits=recorded[each.rank].waits) if each.rank in recorded else each
        for each in run.observations
    ]
    return evolve(run, observations=tuple(observations), duration_s=run.duration_s + again.duration_s), profiles


def _mistakes(
    run: CheckedRun, profiles: Mapping[int, Profile], chip: Chip, total_steps: int | None
) -> Iterator[Mistake]:
    yield from script_mistakes(run.exit_code, run.output, run.observations)
    for each in run.observations:
        yield from profiler_mistakes(each, total_steps)
        yield from request_mistakes(each, chip, failed=bool(run.exit_code))
        yield from memory_mistakes(each, chip)
    yield from output_mistakes(run.observations)
    for each in run.observations:
        profile = profiles.get(each.pid)
        if profile is None:
            continue
        summary = summarise(profile)
        for profiler in each.profilers:
            steps = total_steps if total_steps is not None or each.limited else each.steps
            yield from size_mistakes(profiler, summary, steps)
        yield from recorded_mistakes(profile, summary, each)


def _with_peak(observation: Observation, profile: Profile | None) -> Observation:
    """Return *observation* with the peak of memory of the recorded steps, where the process does not know its own."""
    if profile is None or observation.peak_allocated_bytes is not None:
        return observation
    summary = summarise(profile)
    peak, reserved = summary.peak_allocated_bytes, summary.peak_reserved_bytes
    return evolve(observation, peak_allocated_bytes=peak, peak_reserved_bytes=peak if reserved is None else reserved)


def run_command(script: Sequence[str], *, compute: bool, is_module: bool) -> list[str]:
    """Return the command that runs *script*, its name and arguments, under ``drynpu run`` of this installation."""
    flags = ["--quiet", *([] if compute else ["--no-compute"]), *(["-m"] if is_module else [])]
    return [sys.executable, "-m", "drynpu", "run", *flags, *script]


def check_environment(environment: Mapping[str, str], chip: Chip) -> dict[str, str]:
    """Return the environment of a checked script: its chip, and a full memory is counted instead of refused."""
    return {"DRYNPU_OOM": "warn", "PYTHONUNBUFFERED": "1", **environment, "DRYNPU_CHIP": chip.name}
