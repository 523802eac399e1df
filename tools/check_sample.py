"""
Write what ``drynpu check`` finds in a small script into docs/check.md.

    python tools/check_sample.py [--check]

With ``--check`` it writes nothing, and ends with 1 if the page and the run differ in more than digits.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "check.md"
BLOCK = re.compile(r"(<!-- Written by tools/check_sample\.py[^\n]*-->\n```\n)(.*?)(```\n)", re.DOTALL)
WIDTH = 96
"""Columns: the page and a terminal of 100 show them."""
SHOWN = ("prof.step() is never called", "The host waits for the device: a tensor printed")
"""The findings of the page; the others are remarks about a script of this size."""

SCRIPT = """\
import argparse

import torch
import torch_npu

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=1)
arguments = parser.parse_args()

model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.Linear(512, 8)).to("npu")
optimizer = torch.optim.AdamW(model.parameters())
schedule = torch_npu.profiler.schedule(wait=1, warmup=1, active=2, repeat=1)
prof = torch_npu.profiler.profile(
    schedule=schedule, on_trace_ready=torch_npu.profiler.tensorboard_trace_handler("/tmp/prof")
)

prof.start()
for epoch in range(arguments.epochs):
    for step in range(20):
        inputs = torch.randn(64, 256).to("npu")
        targets = torch.randint(0, 8, (64,)).to("npu")
        loss = torch.nn.functional.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print("loss", loss)
prof.stop()
"""


def run_check(folder: Path) -> str:
    """Return what the check of the script prints, run in a folder."""
    (folder / "train.py").write_text(SCRIPT, encoding="utf-8")
    quiet = {"KINETO_LOG_LEVEL": "99", "TORCH_CPP_LOG_LEVEL": "ERROR", "COLUMNS": str(WIDTH)}
    command = [sys.executable, "-m", "drynpu", "check", "train.py", "--epochs", "1"]
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **quiet}, capture_output=True, text=True, check=False, timeout=300
    )
    return done.stdout


def excerpt(stdout: str) -> str:
    """Cut the head and the findings of the page from what was printed."""
    head, *findings = "\n".join(line.rstrip() for line in stdout.splitlines()).split("\n\n")
    shown = [head, *(each for title in SHOWN for each in findings if title in each)]
    return "\n\n".join(shown) + "\n"


def page_excerpt(page: str) -> str:
    """Return the block of the page."""
    match = BLOCK.search(page)
    if match is None:
        raise ValueError("docs/check.md has no block of tools/check_sample.py")
    return match[2]


def words(text: str) -> list[str]:
    """Return the words of an excerpt without their numbers, wherever its lines break."""
    return re.sub(r"\d+(\.\d+)?", "0", text).split()


def main() -> int:
    """Write the block, or compare it; return the exit status."""
    page = PAGE.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        now = excerpt(run_check(Path(folder)))
    if "--check" in sys.argv[1:]:
        was = page_excerpt(page)
        if words(was) != words(now):
            print(f"docs/check.md says\n{was}\nand a run\n{now}", file=sys.stderr)
            return 1
        return 0
    page_excerpt(page)
    PAGE.write_text(BLOCK.sub(lambda match: match[1] + now + match[3], page), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
