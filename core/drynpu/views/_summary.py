"""The summary in the terminal: where the step time went, the top kernels, what was written, what to do next."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from drynpu.analysis import Summary, summarise
from drynpu.tables import Profile

__all__ = ["print_summary", "render_summary"]

_TOP = 8
_BAR = 12
_UNKNOWN = "N/A"
_TRACE = "ASCEND_PROFILER_OUTPUT/trace_view.json"


def print_summary(profile: Profile, *, others: Sequence[Path] = (), console: Console | None = None) -> None:
    """Print the summary of *profile*; *others* are further result directories of the same run."""
    (console or Console()).print(render_summary(summarise(profile), others=others))


def render_summary(summary: Summary, *, others: Sequence[Path] = ()) -> Group:
    """Return the summary as something rich can print."""
    return Group(*_parts(summary, others))


def _parts(summary: Summary, others: Sequence[Path]) -> Iterator[RenderableType]:
    yield Rule(Text("Ascend profile" if summary.chip == _UNKNOWN else f"{summary.chip} (simulated)"))
    if summary.chip != _UNKNOWN:
        yield Text(f"Clock: {summary.clock}. Kernel times are modelled, not measured.", style="dim")
    if summary.steps.height:
        yield _step_table(summary)
    if summary.kernels:
        yield _kernel_table(summary)
    yield from _remarks(summary)
    yield from _written(summary, others)


def _step_table(summary: Summary) -> Table:
    table = Table(
        title="Where the step time went, ms (communication: what computing does not hide)", title_justify="left"
    )
    table.add_column("step")
    for heading in ("computing", "communication", "free", "total"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("share", no_wrap=True)
    for row in summary.steps.iter_rows(named=True):
        parts = (row["computing_us"], row["communication_not_overlapped_us"], row["free_us"])
        whole = sum(parts) or 1.0
        cells = [f"{part / 1000:.3f} {part / whole:4.0%}" for part in parts]
        table.add_row(row["step"] or "all", *cells, f"{sum(parts) / 1000:.3f}", _bar(parts, whole))
    return table


def _bar(parts: tuple[float, float, float], whole: float) -> Text:
    bar = Text()
    for part, sign, style in zip(parts, "█▓░", ("green", "yellow", "dim"), strict=True):
        bar.append(sign * round(part / whole * _BAR), style=style)
    return bar


def _kernel_table(summary: Summary) -> Table:
    shown = summary.kernels[:_TOP]
    title = f"Top kernels ({summary.kernel_count} in all, {summary.kernel_us / 1000:.3f} ms)"
    table = Table(title=title, title_justify="left")
    for heading in ("type", "core", "count", "total ms", "share"):
        table.add_column(heading, justify="left" if heading in ("type", "core") else "right")
    for kernel in shown:
        cells = (str(kernel.count), f"{kernel.total_us / 1000:.3f}", f"{kernel.ratio:.1%}")
        table.add_row(kernel.op_type, kernel.core, *cells)
    return table


def _remarks(summary: Summary) -> Iterator[Text]:
    if summary.peak_allocated_bytes is not None and summary.peak_reserved_bytes is not None:
        allocated, reserved = summary.peak_allocated_bytes / 2**20, summary.peak_reserved_bytes / 2**20
        yield Text(f"Device memory: peak {allocated:.1f} MB allocated, {reserved:.1f} MB reserved")
    if summary.unmapped:
        names = ", ".join(f"{name} x{count}" for name, count in summary.unmapped.items())
        yield Text(
            f"{summary.unmapped_count} kernels stand for operators without a rule (a generic vector kernel): {names}",
            style="yellow",
        )
    elif summary.chip != _UNKNOWN:
        yield Text("Every operator that launches a kernel is mapped.")
    for note in summary.notes:
        yield Text(f"note: {note}", style="yellow")


def _written(summary: Summary, others: Sequence[Path]) -> Iterator[Text]:
    directory = _shown(summary.path)
    size = sum(summary.files.values()) / 2**20
    yield Text(f"Written: {directory} ({len(summary.files)} files, {size:.1f} MB)", overflow="fold")
    for name in summary.files:
        if name.startswith("ASCEND_PROFILER_OUTPUT/"):
            yield Text(f"  {name}", overflow="fold")
    for path in others:
        yield Text(f"Written before: {_shown(path)}", overflow="fold")
    yield Text("Next:")
    yield Text(
        f"  drynpu analyze {shlex.quote(directory)}   # this summary again, deliverables rebuilt", overflow="fold"
    )
    if _TRACE in summary.files:
        yield Text(
            f"  open {_TRACE} in https://ui.perfetto.dev, chrome://tracing or MindStudio Insight", overflow="fold"
        )


def _shown(path: Path) -> str:
    """Relative to the working directory where that is shorter."""
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)
