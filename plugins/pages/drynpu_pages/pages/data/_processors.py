"""What the processors did while MindSpore prepared its data: of the machine and of the process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from drynpu.views.content import EMPTY, Block, Chart, Fact, Facts, Note
from drynpu.views.runs import View
from drynpu.views.theme import count_text, share_text
from drynpu_pages.figures import lines

_OWNERS = {"machine": "Machine", "process": "Process"}
_SHARES = {
    "user_utilization": ("cpu user", "user"),
    "sys_utilization": ("cpu system", "system"),
    "io_utilization": ("cpu iowait", "waiting for disks"),
    "idle_utilization": ("cpu idle", "idle"),
}
"""Measures in percent of the owner's time, with their colour and name (mindinsight_dashboard.md 8)."""
_TOO_SHORT = (
    "The use of the processors was not sampled: data was prepared for less than an interval of MindSpore's dataset "
    "profiler, 1000 ms (mindspore.dataset.config.set_monitor_sampling_interval)."
)
_COUNTS = {"runnable_process": "Processes that wait for a core", "context_switch_count": "Context switches"}


def processors(view: View) -> Iterator[Block]:
    """Yield use of the processors by the machine and by the process; nothing where it was not recorded."""
    table = view.rank.profile.frame("pipeline_cpu")
    if table.is_empty():
        return
    # Until the first interval is over, all values are 0.
    measured = {
        (row["owner"], row["measure"]): row["values"] for row in table.iter_rows(named=True) if any(row["values"])
    }
    if not any(measure in _SHARES for _, measure in measured):
        yield Note(_TOO_SHORT, EMPTY)
        return
    interval, cores = table["sample_interval"].drop_nulls().first(), table["cores"].drop_nulls().first()
    yield Facts(tuple(_facts(measured, cores)), "Processors while data was prepared")
    for owner, title in _OWNERS.items():
        series = {
            colour: (name, measured[owner, measure])
            for measure, (colour, name) in _SHARES.items()
            if (owner, measure) in measured
        }
        if series:
            yield _chart(owner, title, series, int(interval) if isinstance(interval, int) else 0)


def _facts(measured: dict[tuple[str, str], list[float]], cores: object) -> Iterator[Fact]:
    for owner, title in _OWNERS.items():
        for measure, (_, name) in _SHARES.items():
            if (owner, measure) in measured:
                yield Fact(f"{title}: {name}", share_text(_mean(measured[owner, measure]) / 100), "mean of the samples")
    for measure, label in _COUNTS.items():
        if ("machine", measure) in measured:
            yield Fact(label, count_text(round(_mean(measured["machine", measure]))), "mean of the samples")
    if isinstance(cores, int):
        yield Fact("Cores", count_text(cores), "of the machine")


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _chart(owner: str, title: str, series: dict[str, tuple[str, list[float]]], interval: int) -> Chart:
    count = max(len(values) for _, values in series.values())
    x = [sample * (interval or 1) for sample in range(count)]
    x_title = "time (ms)" if interval else "sample"
    texts = (f"{name} {share_text(_mean(values) / 100)}" for name, values in series.values())
    return Chart(
        f"pipeline-cpu-{owner}",
        f"Processors of the {owner}",
        lambda: lines(x, series, x_title=x_title, y_title="%", height_px=260),
        f"{title}: {', '.join(texts)} on average.",
        "as MindSpore's dataset profiler sampled it" if owner == "machine" else "of all cores",
        height_px=260,
    )
