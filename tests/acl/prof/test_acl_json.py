"""``acl.init`` with a file: what its profiler section begins, and what begins nothing."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest


def begin(acl, document, name="acl.json"):
    Path(name).write_text(document if isinstance(document, str) else json.dumps(document))
    return acl.profiling.initialize(name)


def directories(place):
    return sorted(Path(place).glob("PROF_*"))


def test_everything_between_init_and_finalize_is_recorded(acl):
    section = {"switch": "on", "output": "out", "aic_metrics": "ArithmeticUtilization", "msproftx": "on"}
    assert begin(acl, {"profiler": section}) == 0
    config = acl.create_config([0], 0, 0, 1)
    assert acl.init("x") == acl.start(config) == acl.stop(config) == acl.finalize() == 100042
    assert acl.model_subscribe(1, acl.create_subscribe_config(1, 255, 1)) == acl.model_unsubscribe(1) == 100042
    assert acl.mark(acl.create_stamp()) == 0
    acl.execute()
    acl.profiling.finalize()
    (prof,) = directories("out")
    (summary,) = prof.glob("**/op_summary_*.csv")
    assert "aic_mac_fp16_ratio" in summary.read_text()
    assert list(prof.glob("**/msprof_tx_*.csv"))
    assert acl.init("y") == 0


@pytest.mark.parametrize(
    ("document", "code"),
    [
        ({}, 0),
        ({"dump": {}}, 0),
        ({"profiler": {}}, 0),
        ({"profiler": {"switch": "off"}}, 0),
        ({"profiler": {"switch": "On"}}, 0),
        ({"profiler": {"switch": "off", "nonsense": "on"}}, 100000),
        ({"profiler": {"switch": "on", "task_time": "l9"}}, 100000),
        ({"profiler": {"switch": "on", "sys_hardware_mem_freq": 101}}, 100000),
        ({"profiler": "on"}, 100000),
        ("{", 100006),
        ("[]", 100006),
        ('{"a": ' + "[" * 11 + "]" * 11 + "}", 100006),
    ],
)
def test_codes(acl, document, code, capsys):
    assert begin(acl, document) == code
    assert bool(capsys.readouterr().err) == (code != 0)
    assert acl.init("out") == 0, "nobody has the process"


def test_a_quoted_number_is_refused_in_strict_mode(make):
    document = {"profiler": {"switch": "on", "output": "out", "sys_hardware_mem_freq": "15"}}
    assert begin(make(STRICT="1"), document) == 100000
    assert begin(make(), document) == 0


def test_bytes_that_are_no_text(acl):
    Path("acl.json").write_bytes(b'{"dump": "\xff"}')
    assert acl.profiling.initialize("acl.json") == 100006


def test_what_is_said_of_a_path_is_one_line(acl, capsys):
    assert acl.profiling.initialize("nowhere\n" * 500) == 100003
    assert capsys.readouterr().err.count("\n") == 1


def test_a_missing_file_and_no_file(acl):
    assert acl.profiling.initialize("nowhere.json") == 100003
    assert acl.profiling.initialize(None) == acl.profiling.initialize("") == 0


def test_without_output_it_goes_to_the_work_path_or_beside_the_script(acl, monkeypatch, tmp_path):
    (tmp_path / "app").mkdir()
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "app" / "main.py")])
    assert begin(acl, {"profiler": {"switch": "on"}}) == 0
    acl.profiling.finalize()
    monkeypatch.setenv("ASCEND_WORK_PATH", str(tmp_path / "work"))
    assert begin(acl, {"profiler": {"switch": "on"}}) == 0
    acl.profiling.finalize()
    assert len(directories("app")) == len(directories("work/profiling_data")) == 1
