"""``drynpu check`` of a script: what its first steps show, as text and as a document."""

from __future__ import annotations

import linecache
import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from drynpu import CommandError, printable
from drynpu.cli.shared import console, echo_json
from drynpu.options import Severity
from drynpu.platforms import Chip
from drynpu.views.theme import size_text
from drynpu_script_check._check import CheckedRun, check_environment, check_script, run_command
from drynpu_script_check._mistake import Mistake

_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.INFO: "bold cyan"}
_WORDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "remark"}
_INDENT = 9


def check_first_steps(
    script: Sequence[str],
    chip: Chip,
    *,
    is_module: bool,
    compute: bool,
    first_steps: int,
    total_steps: int | None,
    show_output: bool,
    json_output: bool,
) -> int:
    """Check a script, print what was found, and return the exit status: 1 where a mistake is an error."""
    if not is_module and not Path(script[0]).is_file():
        raise CommandError(f"no such script: {script[0]}", exit_code=2)
    run = check_script(
        run_command(script, compute=compute, is_module=is_module),
        chip,
        first_steps=first_steps,
        total_steps=total_steps,
        environment=check_environment(os.environ, chip),
    )
    if json_output:
        echo_json(_document(run, script, chip))
    else:
        out = console()
        if show_output:
            out.print(Text(printable(run.output)))
        out.print(Group(*_parts(run, script, chip, compute=compute)))
    return 1 if run.count(Severity.ERROR) else 0


def _document(run: CheckedRun, script: Sequence[str], chip: Chip) -> dict[str, object]:
    summary = run.summary
    return {
        "script": list(script),
        "chip": chip.name,
        "exit_code": run.exit_code,
        "steps": run.steps,
        "ended_by_limit": run.limited,
        "step_us": _step_us(run),
        "kernels_per_step": None if summary is None else summary.kernel_count / max(summary.steps.height, 1),
        "peak_allocated_bytes": _peak(run),
        **{f"{_WORDS[level]}s": run.count(level) for level in Severity},
        "mistakes": [
            {
                "name": each.name,
                "level": each.level.value,
                "file": each.place and each.place.file,
                "line": each.place and each.place.line,
                "title": each.title,
                "evidence": each.evidence,
                "fix": each.fix,
                "cost_us": each.cost_us,
                "per": each.per,
            }
            for each in run.mistakes
        ],
    }


def _step_us(run: CheckedRun) -> float | None:
    """Return the mean time of the recorded steps, ``None`` where none is marked."""
    if run.summary is None or not run.summary.steps.height:
        return None
    steps = run.summary.steps
    names = ("computing_us", "communication_not_overlapped_us", "free_us")
    return float(sum(steps[name].sum() for name in names)) / steps.height


def _peak(run: CheckedRun) -> int | None:
    return max((each.peak_allocated_bytes for each in run.observations if each.peak_allocated_bytes), default=None)


def _parts(run: CheckedRun, script: Sequence[str], chip: Chip, *, compute: bool) -> Iterator[RenderableType]:
    yield Rule(Text(printable(f"drynpu check {shlex.join(script)}")))
    yield Text(_head(run, chip, compute=compute), style="dim")
    if not run.observations and not run.exit_code:
        yield Text(
            "Nothing was looked at but the exit status: no framework with an npu was imported (docs/check.md).",
            style="yellow",
        )
    if any(each.served_by == "sink" for each in run.observations):
        yield Text(
            "npu: sink. Tensors on the wrong device, waits, FLOAT64, memory: not looked at without drynpu native build",
            style="yellow",
        )
    for mistake in run.mistakes:
        yield Text()
        yield from _mistake(mistake)
    yield Text()
    counts = [(run.count(level), _WORDS[level], _STYLES[level]) for level in Severity]
    shown = [
        Text(f"{count} {word}{'' if count == 1 else 's'}", style) for count, word, style in reversed(counts) if count
    ]
    yield Text(", ").join(shown) if shown else Text("Nothing found.", style="bold green")


def _head(run: CheckedRun, chip: Chip, *, compute: bool) -> str:
    summary, steps = run.summary, run.steps
    ran = f"The first {steps} steps" if run.limited else f"All {steps} steps" if steps else "The whole script"
    if run.exit_code:
        ran = f"The script failed after {steps} steps; it"
    # Only PyTorch runs on shapes alone.
    computed = compute or any(each.framework != "torch" for each in run.observations)
    head = f"{ran} ran {'' if computed else 'without computing '}on {chip.name} (simulated) in {run.duration_s:.1f} s."
    if summary is None:
        return head
    count, whole_us = summary.kernel_count / max(summary.steps.height, 1), _step_us(run)
    per = f"A step: {whole_us / 1000:.2f} ms, " if whole_us is not None and steps else "In all: "
    peak = _peak(run)
    memory = "" if peak is None else f", peak {size_text(peak)} of {size_text(chip.memory_bytes)}"
    return f"{head}\n{per}{count:.0f} kernels{memory}. Times are modelled."


def _mistake(mistake: Mistake) -> Iterator[RenderableType]:
    cost = "" if mistake.cost_us is None else f"  {mistake.cost_us / 1000:.3f} ms {mistake.per}"
    head = Table.grid(padding=0)
    head.add_column(width=_INDENT)
    head.add_column(overflow="fold")
    title = Text.assemble((printable(mistake.title), "bold"), (cost, "yellow"))
    head.add_row(Text(_WORDS[mistake.level], _STYLES[mistake.level]), title)
    if mistake.place is not None:
        head.add_row(Text(), Text(printable(str(mistake.place)), "blue", overflow="fold"))
        source = linecache.getline(mistake.place.file, mistake.place.line).strip()
        if source:
            head.add_row(Text(), Text(f"  {printable(source)}", "dim", overflow="ellipsis", no_wrap=True))
    yield head
    yield Padding(Text(printable(mistake.evidence)), (0, 0, 0, _INDENT))
    yield Padding(Text.assemble(("Fix: ", "green"), printable(mistake.fix)), (0, 0, 0, _INDENT))
