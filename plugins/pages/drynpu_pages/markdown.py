"""The summary as Markdown, for the page of a job in a continuous integration."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from drynpu import printable
from drynpu.analysis import Summary
from drynpu.analysis.hints import Finding
from drynpu.analysis.overlaps import STEP_PARTS
from drynpu.views.theme import size_text
from drynpu.writers.number_text import UNKNOWN

_TOP = 8


def markdown_summary(summary: Summary, hints: Sequence[Finding] = ()) -> str:
    """Return *summary* and *hints* as Markdown with tables, as GitHub shows it."""
    return "\n".join(_lines(summary, hints)) + "\n"


def _lines(summary: Summary, hints: Sequence[Finding]) -> Iterator[str]:
    simulated = summary.chip != UNKNOWN
    yield f"### {_text(summary.chip)} (simulated)" if simulated else "### Ascend profile"
    yield ""
    if simulated:
        yield f"Clock: {_text(summary.clock)}. Kernel times are modelled, not measured."
        yield ""
    if summary.steps.height:
        yield from _table(("step", "computing ms", "communication ms", "free ms", "total ms"), _steps(summary))
    if summary.kernels:
        yield from _table(("kernel", "core", "count", "total ms", "share"), _kernels(summary))
        yield f"{summary.kernel_count} kernels, {summary.kernel_us / 1000:.3f} ms."
    if summary.peak_allocated_bytes is not None and summary.peak_reserved_bytes is not None:
        allocated, reserved = size_text(summary.peak_allocated_bytes), size_text(summary.peak_reserved_bytes)
        yield f"Device memory: peak {allocated} allocated, {reserved} reserved."
    yield from (f"- {_text(absent.file)} is missing: {_text(absent.reason)}" for absent in summary.absent)
    if hints:
        yield ""
        yield from (f"- **{_text(hint.title)}**: {_text(hint.evidence)} {_text(hint.remedy)}" for hint in hints)


def _steps(summary: Summary) -> Iterator[Sequence[str]]:
    for row in summary.steps.iter_rows(named=True):
        times = [row[name] / 1000 for name in STEP_PARTS]
        yield (_text(row["step"] or "all"), *(f"{time:.3f}" for time in (*times, sum(times))))


def _kernels(summary: Summary) -> Iterator[Sequence[str]]:
    for kernel in summary.kernels[:_TOP]:
        known = kernel.total_us is not None
        total, share = (f"{kernel.total_us / 1000:.3f}", f"{kernel.ratio:.1%}") if known else (UNKNOWN, UNKNOWN)  # type: ignore[operator]
        yield (_text(kernel.op_type), _text(kernel.core), str(kernel.count), total, share)


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(headings)} |"
    yield f"| {' | '.join('---:' if heading.endswith(('ms', 'count', 'share')) else '---' for heading in headings)} |"
    yield from (f"| {' | '.join(row)} |" for row in rows)
    yield ""


def _text(text: str) -> str:
    """Return a text that is only text in Markdown: names come from somebody's files."""
    plain = printable(text)
    for sign in "\\`*_|<[":
        plain = plain.replace(sign, f"\\{sign}")
    return plain
