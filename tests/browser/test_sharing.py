"""Two servers look at one folder while a training writes into it: both show it, and neither touches it."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("dash", reason="the dashboard is an extra")
pytest.importorskip("playwright", reason="pages are looked at in a browser")

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parents[2] / "examples" / "torch" / "train_gpt.py"
DETAILS = "ASCEND_PROFILER_OUTPUT/kernel_details.csv"


@contextmanager
def training(folder: Path) -> Iterator[subprocess.Popen[str]]:
    environment = {**os.environ, "RANK": "0", "DRYNPU_QUIET": "1", "KINETO_LOG_LEVEL": "99"}
    command = [sys.executable, "-m", "drynpu", "run", str(SCRIPT)]
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def files(folder: Path) -> Mapping[str, tuple[int, int]]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in found}


def test_two_servers_and_a_training_share_a_folder(
    tab: Any, ready: Callable[[Any], None], serving: Callable[..., Any], tmp_path: Path
) -> None:
    other = tab.context.new_page()
    other.set_default_timeout(90_000)
    with serving(tmp_path) as first, serving(tmp_path) as second, training(tmp_path) as process:
        pages = {tab: first, other: second}
        for page, server in pages.items():
            page.goto(server.address)
            # The directory is there before the training has ended; what it holds by then is shown or said.
            page.locator("table.list a").first.click()
            page.locator("main h1", has_text="Overview").or_(page.locator("main [role=alert]")).first.wait_for()
        assert process.wait(timeout=600) == 0
        (run,) = (tmp_path / "demo_out").glob("*_ascend_pt")
        before = files(tmp_path)
        with (run / DETAILS).open(newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["Accelerator Core"] != "AI_CPU"]
        shown = []
        for page, server in pages.items():
            page.goto(server.page(run, "operators"))
            ready(page)
            shown.append(page.locator("dl.facts .value, .ag-row").all_text_contents())
        assert shown[0] == shown[1]
        assert shown[0][0].replace("\u202f", "") == str(len(rows))
        assert files(tmp_path) == before
