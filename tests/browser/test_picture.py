"""A page as a picture: its size, its colours, what is drawn on it."""

from __future__ import annotations

import base64
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("plotly", reason="figures are an extra")
pytest.importorskip("playwright", reason="pictures are looked at in a browser")

pytestmark = pytest.mark.slow

FREE = (0x9A, 0xA5, 0xB1)
"""Colour of free time, which the bars of a small training mostly are."""
COLOURS = """async (data) => {
  const image = new Image();
  image.src = "data:image/png;base64," + data;
  await image.decode();
  const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
  canvas.drawImage(image, 0, 0);
  const pixels = canvas.getImageData(0, 0, image.width, image.height).data;
  const counts = {};
  for (let at = 0; at < pixels.length; at += 4) {
    const colour = [pixels[at], pixels[at + 1], pixels[at + 2]].join();
    counts[colour] = (counts[colour] || 0) + 1;
  }
  return { width: image.width, height: image.height, corner: [...pixels.slice(0, 3)], counts };
}"""


@pytest.mark.parametrize(("options", "corner"), [((), (0xFF, 0xFF, 0xFF)), (("--dark",), (0x1C, 0x22, 0x29))])
def test_a_page_is_written_as_a_picture(
    tab: Any, runs: Mapping[str, Path], tmp_path: Path, options: tuple[str, ...], corner: tuple[int, ...]
) -> None:
    file = tmp_path / "overview.png"
    command = [sys.executable, "-m", "drynpu", "report", str(runs["torch"]), "-o", str(file), *options]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    seen = tab.evaluate(COLOURS, base64.b64encode(file.read_bytes()).decode())
    assert seen["width"] == 1280
    assert 800 < seen["height"] < 3000
    assert tuple(seen["corner"]) == corner
    assert seen["counts"][",".join(map(str, FREE))] > 2000
