"""The option table's names of MindSpore's keywords (mindspore_profiler.md 2)."""

from __future__ import annotations

from attrs import fields_dict

from drynpu.options import option_names
from drynpu_mindspore.profiler import Parameters

NO_OPTIONS = {"data_process", "parallel_strategy", "start_profile", "sync_enable", "schedule", "on_trace_ready"}


def test_every_keyword_is_an_option_of_the_core() -> None:
    names = option_names("mindspore")
    assert set(names) == set(fields_dict(Parameters)) - NO_OPTIONS
    assert names["hbm_ddr"] == "sampling.hardware_memory_hz"
    assert names["pcie"] == names["sys_interconnection"] == "sampling.interconnection_hz"
    assert names["mstx"] == "switches.tx"
