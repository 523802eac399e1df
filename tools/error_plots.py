"""
Draw how far predictions are off: measured against predicted times of kernels of which no coefficient was fitted.

    python tools/error_plots.py DATA [--folder docs/pictures]

DATA is the folder that ``tools/calibrate.py`` takes. A picture for each generation of chips: every point is a kernel,
predicted while no kernel of its network was fitted; the lines are equality and a factor of 2 either way.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
from calibrate import MOST_ROWS, left_out, load, network, thinned
from playwright.sync_api import sync_playwright

from drynpu.arrays import F64
from drynpu_pages.report import find_browser

ROOT = Path(__file__).parents[1]
SIZE = {"width": 760, "height": 640}
TITLES = {"split": "910B2 and 910B4", "unified": "910, first generation", "mini": "310"}
COLOURS = ("#2a78d6", "#d9822b", "#1a936f", "#8e44ad", "#c0392b", "#7f8c8d")


def figure(title: str, networks: list[str], measured: F64, predicted: F64) -> go.Figure:
    """Return the scatter of one generation; times in us, both axes logarithmic."""
    ends = [float(min(measured.min(), predicted.min()) / 1.5), float(max(measured.max(), predicted.max()) * 1.5)]
    drawn = go.Figure()
    for factor, dash in ((1.0, "solid"), (2.0, "dot"), (0.5, "dot")):
        line = {"color": "#888", "width": 1, "dash": dash}
        drawn.add_scatter(x=ends, y=[end * factor for end in ends], mode="lines", line=line, showlegend=False)
    names = np.array(networks)
    for colour, name in zip(COLOURS * 2, sorted(set(networks)), strict=False):
        rows = names == name
        error = float(np.median(abs(predicted[rows] / measured[rows] - 1)))
        label = f"{name.removeprefix('hpm_').removeprefix('msinsight_')}: {error:.0%}"
        marker = {"size": 6, "opacity": 0.6, "color": colour}
        drawn.add_scatter(x=measured[rows], y=predicted[rows], mode="markers", marker=marker, name=label)
    drawn.update_xaxes(type="log", title="measured, us", range=np.log10(ends))
    drawn.update_yaxes(type="log", title="predicted, us", range=np.log10(ends))
    drawn.update_layout(
        title=f"{title}: network left out, median error of each",
        template="plotly_white",
        margin={"l": 70, "r": 20, "t": 60, "b": 60},
        legend={"x": 0.02, "y": 0.98, "bgcolor": "rgba(255,255,255,0.8)"},
        **SIZE,
    )
    return drawn


def main() -> int:
    """Predict, draw, take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--folder", type=Path, default=ROOT / "docs" / "pictures")
    chosen = parser.parse_args()
    kernels = load(chosen.data)
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=["--no-sandbox"])
        for generation, title in TITLES.items():
            every = [k for k in kernels if k.chip.generation == generation]
            chip = thinned(every, MOST_ROWS.get(generation, len(every)))
            predicted, _ = left_out(chip, lambda k: network(k.source))
            measured = np.array([k.duration_us for k in chip])
            page = Path(scratch) / f"{generation}.html"
            figure(title, [network(k.source) for k in chip], measured, predicted).write_html(page)
            tab = browser.new_page(viewport=SIZE)
            tab.goto(page.as_uri())
            tab.wait_for_selector(".main-svg")
            tab.screenshot(path=chosen.folder / f"errors-{generation}.png")
            sys.stdout.write(f"{chosen.folder / f'errors-{generation}.png'}\n")
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
