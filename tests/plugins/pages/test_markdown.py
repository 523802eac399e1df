"""The summary as Markdown, from results written by hand, and its way to the page of a job."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

KERNELS = (
    "Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim\n"
    "a,Mat|Mul,AI_CORE,1\t,2000,0,1\nb,Add_x,AI_VECTOR_CORE,3000\t,500,0,1\n"
)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    output = tmp_path / "host_1_20260101000000000_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True)
    (output.parent / "profiler_info_0.json").write_text("{}")
    (output / "step_trace_time.csv").write_text("Step,Computing,Communication(Not Overlapped),Free\n7,2500,100,400\n")
    (output / "kernel_details.csv").write_text(KERNELS)
    return output.parent


def report(directory: Path, *arguments: str, **environ: str) -> str:
    kept = {name: text for name, text in os.environ.items() if not name.startswith("GITHUB_")}
    done = subprocess.run(
        [sys.executable, "-m", "drynpu", "report", str(directory), "--summary", *arguments],
        env={**kept, **environ},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_steps_and_kernels_are_tables(directory: Path) -> None:
    lines = report(directory).splitlines()
    assert lines[0] == "### Ascend profile"
    assert lines[2] == "| step | computing ms | communication ms | free ms | total ms |"
    assert lines[4] == "| 7 | 2.500 | 0.100 | 0.400 | 3.000 |"
    # Names are texts: they end no cell and make nothing italic.
    assert "| Mat\\|Mul | AI\\_CORE | 1 | 2.000 | 80.0% |" in lines
    assert "| Add\\_x | AI\\_VECTOR\\_CORE | 1 | 0.500 | 20.0% |" in lines
    assert "2 kernels, 2.500 ms." in lines


def test_it_is_added_to_the_page_of_a_job(directory: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n")
    out = report(directory, "--json", GITHUB_STEP_SUMMARY=str(page))
    text = page.read_text()
    assert text == "before\n" + report(directory)
    assert json.loads(out) == {"written": str(page), "bytes": len(text.encode()) - len("before\n")}
