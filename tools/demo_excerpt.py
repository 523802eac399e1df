"""
Write what the demo says into README.md.

    python tools/demo_excerpt.py [--check]

Runs the example of ``make demo`` and puts the last loss, the table of steps and the largest kernels into the marked
block. With ``--check`` it writes nothing, and ends with 1 if the page and the run differ in more than digits.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "README.md"
BLOCK = re.compile(r"(<!-- Written by tools/demo_excerpt\.py[^\n]*-->\n```\n)(.*?)(```\n)", re.DOTALL)
KERNELS = 3
"""How many rows of the table of kernels are shown."""
LOSS_TOLERANCE = 1e-4
"""Relative; another type of processor sums in another order."""


def run_demo(folder: Path) -> str:
    """Return what the example prints, run in a folder."""
    quiet = {"RANK": "0", "KINETO_LOG_LEVEL": "99", "TORCH_CPP_LOG_LEVEL": "ERROR", "COLUMNS": "80"}
    command = [sys.executable, "-m", "drynpu", "run", str(ROOT / "examples/torch/train_gpt.py")]
    done = subprocess.run(command, cwd=folder, env={**os.environ, **quiet}, capture_output=True, text=True, check=True)
    return done.stdout


def excerpt(stdout: str) -> str:
    """Cut the excerpt from what the demo printed: last loss, steps, the first kernels, where the files are."""
    lines = stdout.splitlines()
    begin = max(index for index, line in enumerate(lines) if re.match(r"step \d+ loss ", line))
    title = next(index for index, line in enumerate(lines) if line.startswith("Top kernels"))
    written = next(line for line in lines if line.startswith("Written: "))
    shown = [*lines[begin : title + 4 + KERNELS], "  ...", written]
    return "".join(f"{line}\n" for line in shown)


def page_excerpt(page: str) -> str:
    """Return the block of the page."""
    match = BLOCK.search(page)
    if match is None:
        raise ValueError("README.md has no block of tools/demo_excerpt.py")
    return match[2]


def differences(page: str, run: str) -> list[str]:
    """Say where an excerpt of the page differs from one of a run: its words, its layout, its loss."""
    wrong = [f"{a!r} is now {b!r}" for a, b in zip(_words(page), _words(run), strict=False) if a != b]
    if len(_words(page)) != len(_words(run)):
        wrong.append(f"{len(_words(page))} lines are now {len(_words(run))}")
    was, now = (float(re.findall(r"loss (\S+)", text)[0]) for text in (page, run))
    if abs(was - now) > LOSS_TOLERANCE * abs(now):
        wrong.append(f"loss {was} is now {now}")
    return wrong


def _words(text: str) -> list[str]:
    """Lines without what differs between machines: numbers, the name of the folder and the padding."""
    lines = (re.sub(r"demo_out/\S+", "demo_out/X", line) for line in text.splitlines())
    return [re.sub(r"[\s─━]+", " ", re.sub(r"\d+(\.\d+)?", "0", line)) for line in lines]


def main() -> int:
    """Run the demo, then write or check the page."""
    page = PAGE.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        now = excerpt(run_demo(Path(folder)))
    if "--check" in sys.argv:
        wrong = differences(page_excerpt(page), now)
        sys.stderr.write("".join(f"README.md: {line}\n" for line in wrong))
        return bool(wrong)
    PAGE.write_text(BLOCK.sub(lambda match: match[1] + now + match[3], page), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
