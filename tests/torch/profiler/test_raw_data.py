"""How long raw data stays that waits for its export."""

from __future__ import annotations

from typing import Any

SCRIPT = """
from pathlib import Path
import torch
from torch_npu.profiler import _KinetoProfile, profile

def record(profiler):
    profiler.start()
    torch.ones(4, 4, device="npu").relu()
    profiler.stop()
    return profiler, Path(profiler.prof_if.prof_path)

plain, first = record(profile())
plain.export_chrome_trace("plain.json")
exported, second = record(_KinetoProfile())
exported.export_chrome_trace("exported.json")
unseen, third = record(_KinetoProfile())
analysed, fourth = record(_KinetoProfile())
analysed.prof_if.analyse()
analysed.export_chrome_trace("analysed.json")
again, fifth = record(_KinetoProfile())
again.export_chrome_trace("again.json")
again, sixth = record(again)
print("before", [path.is_dir() for path in (first, second, third, fourth, fifth, sixth)])
del exported, unseen, analysed, again
print("after", [path.is_dir() for path in (first, second, third, fourth, fifth, sixth)])
print("schedule", '"schedule": null' in (third / "profiler_info.json").read_text())
last, seventh = record(_KinetoProfile())
last.export_chrome_trace("last.json")
"""


def test_raw_data_goes_with_the_object_once_it_was_exported(scripts: Any) -> None:
    """Raw data stays of ``profile``, of what was analysed, and of what nobody exported."""
    run = scripts(SCRIPT)
    assert "before [True, True, True, True, True, True]" in run.stdout
    assert "after [True, False, True, True, False, True]" in run.stdout
    assert "schedule True" in run.stdout
    left = {path.name for path in (run.folder / "export_only_prof_dir").iterdir()}
    assert len(left) == 4, "the last one is removed at the end of the process"
    assert (run.folder / "last.json").is_file()


def test_raw_data_stays_where_the_script_had_it_put(scripts: Any) -> None:
    run = scripts('import os\nos.environ["ASCEND_WORK_PATH"] = "kept"\n' + SCRIPT)
    assert "after [True, True, True, True, True, True]" in run.stdout
    assert len(list((run.folder / "kept" / "profiling_data").iterdir())) == 7
