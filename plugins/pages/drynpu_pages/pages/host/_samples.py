"""Samples of the host as charts."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from drynpu.views.content import Chart
from drynpu_pages.figures import curves, thin

MIB_PER_KB = 1 / 1024


def chart(
    name: str, title: str, samples: pl.DataFrame, series: Mapping[str, str], unit: str, detail: str = ""
) -> Chart:
    """
    Return a chart of samples over time.

    Parameters
    ----------
    samples:
        Column ``time_ns`` and the columns of *series*, by time.
    series:
        Column -> name in the legend; columns without a value are left out.
    """
    known = [column for column in series if samples[column].null_count() < samples.height]
    rows = thin(samples.select("time_ns", *known), known)
    x = ((rows["time_ns"] - samples["time_ns"][0]) / 1e6).to_list()
    values = {column: (series[column], rows[column].to_list()) for column in known}
    means = (f"{series[column]} {_text(samples[column].mean())} {unit}" for column in known[:6])
    return Chart(
        name,
        title,
        lambda: curves(x, values, x_title="time (ms)", y_title=f"{title.lower()} ({unit})", height_px=280),
        f"Means over {samples.height} samples: {', '.join(means)}.",
        detail,
        height_px=280,
    )


def _text(mean: object) -> str:
    return f"{mean:.2f}" if isinstance(mean, float) else "N/A"


def mean(values: pl.Series) -> float | None:
    """Return the mean of what is known."""
    average = values.mean()
    return float(average) if isinstance(average, (int, float)) else None


def most(values: pl.Series) -> float | None:
    """Return the largest of what is known."""
    largest = values.max()
    return float(largest) if isinstance(largest, (int, float)) else None
