"""The summary in the terminal: where the step time went, the top kernels, what was written, what to do next."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from rich.console import Console, Group, JustifyMethod, OverflowMethod, RenderableType
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from drynpu._printable import printable
from drynpu.analysis import Summary, summarise
from drynpu.analysis.overlaps import STEP_PARTS
from drynpu.layouts.result_files import TRACE_VIEW_FILE
from drynpu.tables import Profile
from drynpu.views._console import plain_console
from drynpu.views.theme import size_text, time_text
from drynpu.writers.number_text import UNKNOWN

# The kernels that matter fit one screen.
_TOP = 8
_COLUMNS = 80
_INTERVAL = "80 %"
_SHARE = "share"
_BAR = range(len(_SHARE), 13)
"""Lengths that the bar of a step may have; it is left out where its row would not fit the width above."""
_SIGNS = (("█", "green"), ("▓", "yellow"), ("░", "dim"))
_PAUSE = 0.95
"""Share of free time from which a recording without steps is a pause with a few kernels in it; ours."""
_OUTPUT = "ASCEND_PROFILER_OUTPUT/"
_TRACE = f"{_OUTPUT}{TRACE_VIEW_FILE}"
_TIMELINE = re.compile(r"(?:^|/)msprof_(?:slice_0_)?(\d{14})\.json$")
"""The toolkit's timeline, of several slices the first. Files of one layer (``msprof_tx_*.json``) begin alike."""


def print_summary(
    profile: Profile,
    *,
    others: Sequence[Path] = (),
    remarks: Mapping[Path, str] = MappingProxyType({}),
    console: Console | None = None,
) -> None:
    """Print the summary of *profile*; *others* are further directories of the run, *remarks* say what ran there."""
    (console or plain_console()).print(render_summary(summarise(profile), others=others, remarks=remarks))


def render_summary(
    summary: Summary, *, others: Sequence[Path] = (), remarks: Mapping[Path, str] = MappingProxyType({})
) -> Group:
    """Return the summary as something rich can print."""
    return Group(*_parts(summary, others, remarks))


def _parts(summary: Summary, others: Sequence[Path], remarks: Mapping[Path, str]) -> Iterator[RenderableType]:
    yield Rule(_text("Ascend profile" if summary.chip == UNKNOWN else f"{summary.chip} (simulated)"))
    if summary.chip != UNKNOWN:
        served = "" if summary.served_by == UNKNOWN else f" npu: {summary.served_by}."
        yield _text(f"Clock: {summary.clock}. Kernel times are modelled, not measured.{served}", style="dim")
    if _is_one_pause(summary):
        yield _text(_known(summary))
    elif summary.steps.height:
        yield _text("Where the step time went, ms (communication: what computing does not hide)", style="italic")
        table = _step_table(summary)
        yield table
        yield _legend([str(column.header) for column in table.columns])
    if summary.iterations:
        yield _text("Iterations of graphs, ms (medians; wait: since the end of the one before)", style="italic")
        yield _iteration_table(summary)
    if summary.role:
        yield _text(f"What ran: {summary.role}.")
    if summary.kernels:
        yield _text(f"Top kernels ({summary.kernel_count} in all, {_total(summary)})", style="italic")
        yield _kernel_table(summary)
        if any(kernel.core == UNKNOWN for kernel in summary.kernels[:_TOP]):
            yield _text("N/A: types and cores are recorded from profiler level Level1 on.", style="dim")
    yield from _remarks(summary)
    yield from _written(summary, others, remarks)


def _is_one_pause(summary: Summary) -> bool:
    """Return whether no step is marked and next to nothing ran in the recording: parts of it would say nothing."""
    if summary.steps.height != 1 or summary.steps["step"][0]:
        return False
    parts = [float(summary.steps[name][0]) for name in STEP_PARTS]
    return parts[-1] > _PAUSE * sum(parts)


def _known(summary: Summary) -> str:
    """Return what is known of a recording in which the device did next to nothing."""
    whole = sum(float(summary.steps[name][0]) for name in STEP_PARTS)
    runs = sum(graph.count for graph in summary.iterations)
    graphs = f"{_counted(runs, 'run')} of {_counted(len(summary.iterations), 'graph')}, " if runs else ""
    kernels = f"{_counted(summary.kernel_count, 'kernel')} of {time_text(summary.kernel_us)}"
    return (
        f"No step is marked. {graphs}{kernels} in {time_text(whole)}: for the rest of the time the device has nothing"
        " to do, or nothing was recorded."
    )


def _total(summary: Summary) -> str:
    """Return the time of all kernels, with the interval that holds it four times out of five."""
    total = f"{summary.kernel_us / 1000:.3f} ms"
    if summary.kernel_interval_us is None:
        return total
    low, high = summary.kernel_interval_us
    return f"{total}; 80 %: {low / 1000:.3g} to {high / 1000:.3g} ms"


def _step_table(summary: Summary) -> Table:
    several = summary.steps["device_id"].n_unique() > 1
    headings = [*(["device"] if several else []), "step", "computing", "communication", "free", "total"]
    rows = []
    shares = []
    for row in summary.steps.iter_rows(named=True):
        parts = [row[name] for name in STEP_PARTS]
        whole = sum(parts) or 1.0
        shares.append([part / whole for part in parts])
        cells = [f"{_ms(part)} {part / whole:4.0%}" for part in parts]
        rows.append([*([str(row["device_id"])] if several else []), row["step"] or "all", *cells, _ms(sum(parts))])
    intervals = [f"{low / 1000:.3g} to {high / 1000:.3g}" for low, high in summary.step_intervals_us or ()]
    if intervals:
        surer = [[*row, interval] for row, interval in zip(rows, intervals, strict=True)]
        if _left([*headings, _INTERVAL], surer) >= 0:
            headings, rows = [*headings, _INTERVAL], surer
    left = min(_left([*headings, ""], [[*row, ""] for row in rows]), _BAR.stop - 1)
    table = Table()
    for heading in headings:
        justify: JustifyMethod = "left" if heading in ("device", "step") else "right"
        table.add_column(heading, justify=justify, no_wrap=True)
    if left in _BAR:
        table.add_column(_SHARE, no_wrap=True)
    for cells, share in zip(rows, shares, strict=True):
        table.add_row(*map(_text, cells), *([_bar(share, left)] if left in _BAR else []))
    return table


def _legend(headings: Sequence[str]) -> Text:
    """Return what the headings of the table of steps do not say by themselves."""
    parts = ["free: the device waits for work"]
    if _INTERVAL in headings:
        parts.append(f"{_INTERVAL}: 8 of 10 such steps last so long")
    if _SHARE in headings:
        begin = headings.index("computing")
        names = headings[begin : begin + len(_SIGNS)]
        parts.append(f"share: {', '.join(f'{sign} {name}' for (sign, _), name in zip(_SIGNS, names, strict=True))}")
    return _text("; ".join(parts), style="dim")


def _left(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """Return how many characters are left of the width beside a table of these cells."""
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    # Three columns of frame and padding per column, one at the end.
    return _COLUMNS - sum(widths) - 3 * len(widths) - 1


def _ms(time_us: float) -> str:
    """Return milliseconds with as many decimals as mean something beside the rest of the number."""
    decimals = 3 if time_us < 1e6 else 1 if time_us < 1e9 else 0
    return f"{time_us / 1000:.{decimals}f}"


def _bar(shares: Sequence[float], length: int) -> Text:
    """Return a bar of just that length; each part ends where the sum of the shares up to it does."""
    bar = _text()
    begin, total = 0, 0.0
    for share, (sign, style) in zip(shares, _SIGNS, strict=True):
        total += share
        end = round(total * length)
        bar.append(sign * (end - begin), style=style)
        begin = end
    return bar


def _iteration_table(summary: Summary) -> Table:
    table = Table()
    table.add_column("graph", overflow="fold")
    for heading in ("count", "iteration", "FP to BP", "wait"):
        table.add_column(heading, justify="right", no_wrap=True)
    for graph in summary.iterations[:_TOP]:
        times = (graph.iteration_us, graph.forward_backward_us, graph.wait_us)
        cells = (graph.graph, str(graph.count), *(UNKNOWN if time is None else _ms(time) for time in times))
        table.add_row(*map(_text, cells))
    return table


def _kernel_table(summary: Summary) -> Table:
    table = Table()
    table.add_column("type", overflow="fold")
    table.add_column("core", no_wrap=True)
    for heading in ("count", "total ms", "share"):
        table.add_column(heading, justify="right", no_wrap=True)
    for kernel in summary.kernels[:_TOP]:
        times = (UNKNOWN, UNKNOWN) if kernel.total_us is None else (_ms(kernel.total_us), f"{kernel.ratio:.1%}")
        cells = (kernel.op_type, kernel.core, str(kernel.count), *times)
        table.add_row(*map(_text, cells))
    return table


def _remarks(summary: Summary) -> Iterator[Text]:
    if summary.peak_allocated_bytes is not None and summary.peak_reserved_bytes is not None:
        allocated, reserved = size_text(summary.peak_allocated_bytes), size_text(summary.peak_reserved_bytes)
        yield _text(f"Device memory: peak {allocated} allocated, {reserved} reserved")
    if summary.unmapped:
        names = ", ".join(f"{name} x{count}" for name, count in summary.unmapped.items())
        yield _text(
            f"{summary.unmapped_count} kernels stand for operators without a rule (a generic vector kernel): {names}",
            style="yellow",
        )
    elif summary.chip != UNKNOWN and summary.kernel_count > sum(summary.unknown.values()):
        yield _text("Every operator that launches a kernel is mapped.")
    if summary.unknown:
        names = ", ".join(f"{name or UNKNOWN} x{count}" for name, count in summary.unknown.items())
        yield _text(
            f"{sum(summary.unknown.values())} kernels of unknown shape have no time and no share in totals: {names}",
            style="yellow",
        )
    if summary.missing is not None:
        absent = f" Not in them: {', '.join(summary.missing)}." if summary.missing else ""
        yield _text(f"No raw data: read from results.{absent}")
    for note in summary.notes:
        yield _text(f"note: {note}", style="yellow")


def _written(summary: Summary, others: Sequence[Path], remarks: Mapping[Path, str]) -> Iterator[Text]:
    directory = _shown(summary.path)
    size = size_text(sum(summary.files.values()))
    done = "Written" if summary.missing is None else "Read"
    yield _text(f"{done}: {directory} ({_counted(len(summary.files), 'file')}, {size})", overflow="fold")
    # The toolkit's own results are listed where there is nothing else: they hold the same, file by file.
    main = [name for name in summary.files if name.startswith(_OUTPUT)] or list(summary.files)
    for name in main:
        yield _text(f"  {name}", overflow="fold")
    for absent in summary.absent:
        yield _text(f"  {absent.file} is missing: {absent.reason}", style="yellow")
    for path in others:
        said = f" ({remarks[path]})" if path in remarks else ""
        yield _text(f"Written before: {_shown(path)}{said}", overflow="fold")
    yield _text("Next:")
    if summary.missing is not None:
        yield _text(f"  drynpu analyze {shlex.quote(directory)} --output FOLDER", overflow="fold")
        yield _text("    writes what this says as files of its own; what was read stays as it is")
        yield from _open_trace(summary)
        return
    yield _text(f"  drynpu analyze {shlex.quote(directory)}", overflow="fold")
    yield _text("    shows this again and rebuilds the files from the raw data")
    yield from _open_trace(summary)


def _open_trace(summary: Summary) -> Iterator[Text]:
    trace = _trace(summary)
    if trace:
        yield _text(f"  open {trace}", overflow="fold")
        yield _text("    in https://ui.perfetto.dev, chrome://tracing or MindStudio Insight")


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _trace(summary: Summary) -> str:
    """Return the timeline to open: the framework's, else the toolkit's latest, else nothing."""
    for name in (_TRACE, Path(_TRACE).name):
        if name in summary.files:
            return name
    matches = [(_TIMELINE.search(name), name) for name in summary.files]
    return max(((match[1], name) for match, name in matches if match is not None), default=("", ""))[1]


def _text(text: str = "", style: str = "", overflow: OverflowMethod | None = None) -> Text:
    """Return a text whose control characters are spelled out: names come from somebody's files."""
    return Text(printable(text), style=style, overflow=overflow)


def _shown(path: Path) -> str:
    """Relative to the working directory where that is shorter."""
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)
