"""``drynpu check``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

OPTIONS = {"output": "/tmp", "training_trace": "on", "aic_metrics": "PipeUtilization"}
REQUEST = """
level: l2
schedule: {wait: 1, warmup: 1, active: 2, repeat: 1}
"""


def test_json_text(drynpu: Callable[..., Any], tmp_path: Path) -> None:
    ended = drynpu("check", json.dumps({**OPTIONS, "output": str(tmp_path)}), "--json")
    assert (ended.code, ended.err) == (0, "")
    document = json.loads(ended.out)
    assert set(document) == {"chip", "dialect", "options", "notices", "bytes_per_kernel", "bytes_per_operator"}
    assert (document["chip"], document["dialect"]) == ("Ascend910B2", "profiling_options")
    options = {row["option"]: row for row in document["options"]}
    assert set(options["training_trace"]) == {
        "path",
        "option",
        "value",
        "origin",
        "files",
        "only_on_device",
        "bytes_per_kernel",
        "bytes_per_operator",
        "bytes_per_second",
        "bytes_per_step",
    }
    assert options["training_trace"]["path"] == "switches.training_trace"
    assert options["training_trace"]["origin"] != options["l2"]["origin"] == "default"
    assert document["bytes_per_kernel"] > 0


def test_the_table_shows_what_was_given_or_has_files(drynpu: Callable[..., Any], tmp_path: Path) -> None:
    text = json.dumps({**OPTIONS, "output": str(tmp_path)})
    ended = drynpu("check", text)
    assert ended.code == 0
    assert "dialect: profiling_options, chip: Ascend910B2" in ended.out
    assert "│ training_trace " in ended.out
    assert "│ dvpp_freq " not in ended.out
    assert "MB per 1000 kernels" in ended.out
    assert "│ dvpp_freq " in drynpu("check", text, "--all").out


def test_what_only_a_real_device_leaves_is_said(drynpu: Callable[..., Any], tmp_path: Path) -> None:
    text = json.dumps({"output": str(tmp_path), "l2": "on", "dvpp_freq": 50, "sys_hardware_mem_freq": 50})
    ended = drynpu("check", text)
    lines = [line for line in ended.out.splitlines() if "only a real device leaves" in line]
    named = {line.split(" leaves ")[1].split(":")[0] for line in lines}
    layers = {f"msprof_*.json ({name})" for name in ("Acc PMU", "Stars Soc Info", "QoS")}
    assert named == {"soc_pmu_*.csv", "dvpp_*.csv"} | layers
    table = ended.out.split("only a real device")[0]
    assert "l2_cache_*.csv" in table
    assert "dvpp_*.csv" not in table.rpartition("└")[0]
    rows = {row["option"]: row for row in json.loads(drynpu("check", text, "--json").out)["options"]}
    assert rows["l2"]["files"] == ["l2_cache_*.csv", "soc_pmu_*.csv"]
    assert [line.split(":")[0] for line in rows["l2"]["only_on_device"]] == ["soc_pmu_*.csv"]


def test_a_file_in_yaml_or_json_and_yaml_text(drynpu: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "request.yaml").write_text(REQUEST)
    (tmp_path / "config.json").write_text('{"profiler_level": "Level1", "aic_metrics": "PipeUtilization"}')
    for given in (tmp_path / "request.yaml", REQUEST):
        document = json.loads(drynpu("check", given, "--json").out)
        values = {row["path"]: row["value"] for row in document["options"]}
        assert (document["dialect"], values["schedule.active"]) == ("request", "2")
    assert json.loads(drynpu("check", tmp_path / "config.json", "--json").out)["dialect"] == "experimental_config"


def test_a_misspelt_value_gets_the_nearest_spelling(drynpu: Callable[..., Any], tmp_path: Path) -> None:
    text = json.dumps({"output": str(tmp_path), "aic_metrics": "PipeUtilisation", "task_time": "l9"})
    ended = drynpu("check", text)
    assert (ended.code, ended.out) == (1, "")
    assert "Did you mean 'PipeUtilization'?" in ended.err
    assert "task_time" in ended.err, "all problems of the document together"
    assert "Did you mean 'aic_metrics'?" in drynpu("check", '{"aic_metric": "x"}').err


def test_text_that_is_no_document(drynpu: Callable[..., Any], tmp_path: Path) -> None:
    ended = drynpu("check", '{"output": "/tmp", }')
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith("drynpu: ")
    assert "line 1 column" in ended.err
    binary = tmp_path / "binary"
    binary.write_bytes(b"level: \xff\xfe")
    cases = {
        str(tmp_path / "missing.json"): "missing.json: no such file",
        str(binary): "binary: not UTF-8 text: invalid start byte at byte 7",
        str(tmp_path): f"{tmp_path}: cannot be read: Is a directory",
        "just words": "a mapping of options",
    }
    for given, message in cases.items():
        ended = drynpu("check", given)
        assert ended.code == 1
        assert message in ended.err


def test_a_document_may_be_longer_than_a_path(drynpu: Callable[..., Any]) -> None:
    ended = drynpu("check", "level: l2\n" + "# a comment\n" * 1000, "--json")
    assert (ended.code, ended.err) == (0, "")


def test_strict_refuses_where_the_collector_does(
    drynpu: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = json.dumps({"output": str(tmp_path), "sys_hardware_mem_freq": "50"})
    helped = drynpu("check", text, "--json")
    assert helped.code == 0
    assert any("sys_hardware_mem_freq" in notice for notice in json.loads(helped.out)["notices"])
    refused = drynpu("check", text, "--strict")
    assert refused.code == 1
    assert "sys_hardware_mem_freq" in refused.err
    monkeypatch.setenv("DRYNPU_STRICT", "1")
    assert drynpu("check", text).code == 1


def test_a_schedule_that_never_records_within_the_run(drynpu: Callable[..., Any]) -> None:
    assert json.loads(drynpu("check", REQUEST, "--steps", "10", "--json").out)["notices"] == []
    document = json.loads(drynpu("check", REQUEST, "--steps", "2", "--json").out)
    assert len(document["notices"]) == 1
    assert f"\n{document['notices'][0]}\n" in drynpu("check", REQUEST, "--steps", "2").out


def test_the_chip_decides_what_is_allowed(drynpu: Callable[..., Any], tmp_path: Path) -> None:
    text = json.dumps({"output": str(tmp_path), "instr_profiling": "on"})
    codes = {chip: drynpu("check", text, "--chip", chip, "--strict").code for chip in ("910B2", "950PR")}
    assert codes == {"910B2": 1, "950PR": 0}
    assert drynpu("check", "{}", "--chip", "911").code == 1
