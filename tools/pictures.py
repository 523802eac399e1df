"""
Take the pictures of the pages that README and docs show.

    python tools/pictures.py [--folder docs/pictures] [--runs FOLDER]

Records the example that trains a small GPT and the one with two ranks, unless ``--runs`` has runs already, serves them
and takes pictures with Chromium at 1280 x 800.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from drynpu.views.runs import find_runs
from drynpu_pages.report import find_browser

ROOT = Path(__file__).parents[1]
PAGES = {
    "overview": ("gpt", "overview", "", "light"),
    "operators": ("gpt", "operators", "", "light"),
    "timeline": ("gpt", "timeline", "", "dark"),
    "memory": ("gpt", "memory", "", "light"),
    "calculation": ("gpt", "calculation", "", "dark"),
    "hints": ("gpt", "hints", "", "light"),
    "cluster": ("ddp", "cluster", "", "light"),
}
"""Picture -> run, page, query and colours."""
SIZE: Any = {"width": 1280, "height": 800}


def main() -> int:
    """Record, serve, take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=ROOT / "docs" / "pictures")
    parser.add_argument("--runs", type=Path, help="folder with gpt/ and ddp/; recorded without it")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        runs = arguments.runs or _record(Path(scratch))
        arguments.folder.mkdir(parents=True, exist_ok=True)
        with _served(runs) as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=find_browser(), args=["--no-sandbox"])
            for name, (kind, page, query, scheme) in PAGES.items():
                run = find_runs(runs / kind)[0].folders[0].path.relative_to(runs).as_posix()
                file = arguments.folder / f"{name}.png"
                _take(browser, f"{address}run/{run}/{page}{query}", scheme, file)
                sys.stdout.write(f"{file}\n")
            browser.close()
    return 0


def _record(folder: Path) -> Path:
    environment = {**os.environ, "DRYNPU_QUIET": "1"}
    single, several = folder / "gpt", folder / "ddp"
    for place in (single, several):
        place.mkdir()
    run = [sys.executable, "-m", "drynpu", "run"]
    gpt = [*run, str(ROOT / "examples/torch/train_gpt.py")]
    subprocess.run(gpt, cwd=single, env={**environment, "RANK": "0"}, check=True, capture_output=True)
    ddp = [*run, "-m", "torch.distributed.run", "--nproc-per-node", "2", str(ROOT / "examples/torch/train_ddp.py")]
    subprocess.run([*ddp, "--slow-rank", "1"], cwd=several, env=environment, check=True, capture_output=True)
    return folder


@contextmanager
def _served(runs: Path) -> Iterator[str]:
    command = [sys.executable, "-u", "-m", "drynpu", "dashboard", str(runs), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            address = re.search(r"http://\S+", process.stdout.readline() if process.stdout else "")
            if address is None:
                raise RuntimeError("the dashboard did not start")
            yield address.group()
        finally:
            process.terminate()


def _take(browser: Any, address: str, scheme: str, file: Path) -> None:
    context = browser.new_context(viewport=SIZE, color_scheme=scheme)
    tab = context.new_page()
    tab.goto(address)
    tab.wait_for_selector("main h1")
    tab.wait_for_load_state("networkidle")
    tab.wait_for_selector("main .card, main .hint")
    # Figures grow into their places.
    tab.wait_for_timeout(3000)
    tab.screenshot(path=file)
    context.close()


if __name__ == "__main__":
    sys.exit(main())
