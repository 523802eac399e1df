"""The state machine: every order of the calls has its code, before and after release 9.1."""

from __future__ import annotations

import csv
import errno
import os
import random
import shutil
import threading
from pathlib import Path

import pytest

from drynpu.products import load_profile
from drynpu_acl.constants import DataType

ALL = 0x1 | 0x2 | 0x80


def config(acl, mask=ALL, devices=(0,), metrics=0):
    return acl.create_config(list(devices), metrics, 0, mask)


def directories(place="out"):
    return sorted(Path(place).glob("PROF_*"))


def test_the_documented_order(acl):
    assert acl.init("out") == 0
    first = config(acl)
    assert acl.start(first) == 0
    acl.execute()
    assert acl.stop(first) == 0
    assert acl.destroy_config(first) == 0
    assert acl.finalize() == 0
    (prof,) = directories()
    assert prof.name.startswith("PROF_000001_")
    assert {each.name for each in prof.iterdir()} >= {"host", "device_0", "mindstudio_profiler_output"}


def test_before_init(acl):
    first = config(acl)
    assert acl.start(first) == acl.stop(first) == acl.finalize() == 100043
    assert acl.init("out") == 0
    assert acl.init("out") == 100002
    assert acl.stop(first) == 100043
    assert acl.finalize() == 0
    assert acl.finalize() == 100043
    assert not directories()


def test_from_release_9_1_start_needs_no_init(make):
    acl = make(ACL_VERSION="9.1.0")
    first = config(acl)
    assert acl.stop(first) == acl.finalize() == 0
    assert acl.set_config(16, "chosen") == 0
    assert acl.start(first) == 0
    assert acl.init("out") == 100002
    assert acl.stop(first) == acl.finalize() == 0
    assert len(directories("chosen")) == 1


def test_a_path_is_refused_by_init_or_from_9_1_by_start(make):
    Path("file").write_text("")
    old, new = make(), make(ACL_VERSION="9.1")
    for text, code in (("", 100000), ("a" * 4096, 100000), ("a|b", 100003), ("a\nb", 100003)):
        assert old.init(text) == new.init(text) == code
    assert old.init("file") == 100003
    assert new.init("file") == 0
    assert new.start(config(new)) == 100003


def test_what_start_refuses(acl):
    assert acl.init("out") == 0
    assert acl.start(config(acl, mask=0)) == 100000
    assert acl.start(config(acl, mask=0x400)) == 200007
    assert acl.start(config(acl, mask=1 << 40)) == 200007
    assert acl.start(config(acl, mask=0x6, metrics=77)) == 100000
    assert acl.start(1234) == 100000
    freed = config(acl)
    acl.destroy_config(freed)
    assert acl.start(freed) == acl.stop(freed) == acl.stop(0) == 100000
    assert acl.start(config(acl, mask=0x3, metrics=77)) == 0, "metrics count with their bit alone"


def test_metrics_that_the_chip_lacks(make):
    acl = make(CHIP="Ascend910A")
    assert acl.init("out") == 0
    assert acl.start(config(acl, mask=0x6, metrics=6)) == 100000


def test_a_second_start_and_a_stop_with_another_mask(acl):
    assert acl.init("out") == 0
    first, again, other = config(acl), config(acl), config(acl, devices=(1,))
    assert acl.start(first) == 0
    assert acl.start(first) == acl.start(again) == 100042
    assert acl.start(config(acl, mask=0x1, devices=(2,))) == 100010
    assert acl.start(other) == 0
    assert acl.start(other) == 100042
    assert acl.stop(config(acl, mask=0x1)) == 100010
    assert acl.stop(again) == 0
    assert acl.stop(again) == 100043


def test_the_source_compares_masks_alone(make):
    acl = make(ACL_COMPAT="source")
    assert acl.init("out") == 0
    first = config(acl)
    assert acl.start(first) == acl.start(first) == 0
    assert acl.start(config(acl, mask=1)) == 100010


def test_another_collector_has_the_process(acl, monkeypatch):
    monkeypatch.setenv("PROFILING_MODE", "dynamic")
    assert acl.init("out") == 200006


def test_rounds_with_other_paths_and_configurations(acl):
    for number, (path, mask) in enumerate((("a", 0x2), ("b", 0x801), ("a", 0x82)), start=1):
        assert acl.init(path) == 0
        first = config(acl, mask=mask)
        assert acl.start(first) == 0
        acl.execute()
        assert acl.finalize() == 0, "which ends what runs"
        assert directories(path)[-1].name.startswith(f"PROF_{number:06}_")
    assert len(directories("a")) == 2
    assert list(directories("a")[0].glob("**/op_summary_*.csv"))
    assert not list(directories("b")[0].glob("**/tensor_info*")), "task time L0 has no operators' shapes"


def test_what_runs_at_the_end_of_the_process_is_written(acl):
    assert acl.init("out") == 0
    assert acl.start(config(acl)) == 0
    acl.profiling.shut_down()
    assert len(directories()) == 1


def test_the_default_configuration(acl):
    assert acl.init("out") == 0
    assert acl.start(0) == 0
    acl.execute()
    assert acl.finalize() == 0
    (found,) = directories()[0].glob("**/op_summary_*.csv")
    with found.open(newline="") as file:
        assert [row["Op Name"] for row in csv.DictReader(file)] == ["fc1", "relu", "fc2"]


def test_a_directory_that_is_gone_when_the_result_is_written(acl, capsys):
    assert acl.init("out") == 0
    first = config(acl)
    assert acl.start(first) == 0
    shutil.rmtree("out")
    Path("out").write_text("in its place")
    assert acl.stop(first) == 0, "the vendor's toolkit writes after the call has returned"
    assert capsys.readouterr().err.count("no profile was written") == 1
    assert acl.finalize() == 0
    assert "written" not in capsys.readouterr().err, "told once"


@pytest.mark.parametrize("ending", ["stop", "finalize"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EACCES, errno.EMFILE])
def test_a_disk_that_fails_from_some_file_on_ends_no_program(acl, capsys, monkeypatch, number, ending):
    assert acl.init("out") == 0
    first = config(acl)
    assert acl.start(first) == 0
    acl.execute()
    opened = os.open

    def failing(path, flags, *arguments, **keywords):
        if flags & os.O_CREAT and "mindstudio_profiler_output" in str(path):
            raise OSError(number, os.strerror(number), str(path))
        return opened(path, flags, *arguments, **keywords)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", failing)
        assert (acl.stop(first) if ending == "stop" else acl.finalize()) == 0
    (prof,) = directories()
    (line,) = (line for line in capsys.readouterr().err.splitlines() if "results are missing" in line)
    assert os.strerror(number) in line
    assert f"drynpu analyze {prof.resolve()}" in line
    assert len(load_profile(prof).kernels) == 3, "the records stand"
    assert acl.start(first) == (100043 if ending == "finalize" else 0)


def test_a_rule_that_fails_ends_no_program(acl, capsys, monkeypatch):
    def plan(signature):
        raise LookupError(signature.name)

    assert acl.init("out") == 0
    first = config(acl)
    assert acl.start(first) == 0
    acl.execute()
    monkeypatch.setattr(acl.profiling.runtime, "plan", plan)
    assert acl.stop(first) == acl.finalize() == 0
    assert capsys.readouterr().err.count("no profile was written: LookupError('MatMul')") == 1


def test_steps(acl):
    assert acl.init("out") == 0
    first = config(acl, mask=0x42 | 0x800)
    assert acl.start(first) == 0
    step = acl.create_step_info()
    assert acl.get_step_timestamp(0, 0, 0) == acl.get_step_timestamp(step, 2, 0) == 100000
    assert acl.get_step_timestamp(step, 0, 4711) == 500002
    assert acl.get_step_timestamp(step, 0, 0) == 0
    acl.execute()
    assert acl.get_step_timestamp(step, 0, 0) == 100000
    assert acl.get_step_timestamp(step, 1, 0) == 0
    assert acl.destroy_step_info(step) is None
    assert acl.get_step_timestamp(step, 1, 0) == 100000
    assert acl.stop(first) == 0
    (found,) = directories()[0].glob("**/step_trace_*.csv")
    with found.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["Iteration ID"], row["Model ID"]) for row in rows] == [("1", "1"), ("1", "4294967295")]


def test_the_calls_of_the_script_are_those_that_are_shown(acl):
    assert acl.init("out") == 0
    first = config(acl, mask=0x3)
    assert acl.start(first) == 0
    acl.execute()
    acl.execute()
    assert acl.stop(first) == 0
    (found,) = directories()[0].glob("**/api_statistic_*.csv")
    with found.open(newline="") as file:
        of_acl = {row["API Name"]: row["Count"] for row in csv.DictReader(file) if row["Level"] == "acl"}
    assert of_acl == {"aclmdlExecute": "2"}


def test_the_devices_that_worked_share_one_directory(acl, capsys):
    assert acl.init("out") == 0
    first, more = config(acl, devices=(3, 1)), config(acl, devices=(5,))
    assert acl.start(first) == acl.start(more) == 0
    for device in (0, 1, 5, 5):
        acl.profiling.runtime.device = device
        acl.execute()
        assert acl.mark_ex(f"on {device}", 0x5000) == 0
        step = acl.create_step_info()
        assert acl.get_step_timestamp(step, 0, 0) == acl.get_step_timestamp(step, 1, 0) == 0
    stamp = acl.create_stamp()
    assert acl.mark(stamp) == 0
    assert acl.stop(first) == 0
    assert "device 0 worked and is not recorded: the configuration names 1, 3, 5" in capsys.readouterr().err
    (prof,) = directories()
    assert {each.name for each in prof.iterdir()} >= {"host", "device_1", "device_5"}
    assert not (prof / "device_0").exists()

    def rows(stem):
        (file,) = prof.glob(f"**/{stem}_*.csv")
        with file.open(newline="") as lines:
            return list(csv.DictReader(lines))

    kernels = rows("op_summary")
    assert [row["Device_id"] for row in kernels] == ["1"] * 3 + ["5"] * 6
    assert {(row["Model ID"], row["Op Name"]) for row in kernels} == {("1", name) for name in ("fc1", "relu", "fc2")}
    marks = rows("msprof_tx")
    # What the host did for a device that is not recorded is still what the host did.
    assert sorted(row["message"] for row in marks) == ["", "on 0", "on 1", "on 5", "on 5"]
    shown = [row["Device Start_time(us)"].strip() for row in marks]
    assert len(set(shown) - {"N/A"}) == 3, "each mark has its own place on its device"
    calls = [row for row in rows("api_statistic") if row["API Name"] == "aclmdlExecute"]
    assert [row["Count"] for row in calls] == ["4"]
    assert "no host record" not in " ".join(load_profile(prof).notes)


@pytest.mark.slow
@pytest.mark.parametrize("chip", ["Ascend910B2", "Ascend310P3", "Ascend910A"])
def test_every_bit_alone_and_all_together(make, chip):
    acl = make(CHIP=chip)
    lacking = 0 if chip == "Ascend910B2" else DataType.TASK_TIME_L3
    bits = [bit for bit in DataType if not bit & lacking]
    for mask in (*bits, sum(bits)):
        assert acl.init("out") == 0
        assert acl.start(config(acl, mask=int(mask))) == 0
        acl.execute()
        assert acl.finalize() == 0
    assert len(directories()) == len(bits) + 1
    if lacking:
        assert acl.init("out") == 0
        assert acl.start(config(acl, mask=int(lacking))) == 200007


def test_threads_that_call_everything_at_once(acl):
    """Nothing raises, and what is left works."""
    failures = []

    def work(seed):
        chance = random.Random(seed)
        own = config(acl)
        source, sink = os.pipe()
        subscription = acl.create_subscribe_config(1, 0xFF, sink)
        steps = [
            lambda: acl.init("out"),
            lambda: acl.start(own),
            lambda: acl.execute(),
            lambda: acl.mark(acl.create_stamp()),
            lambda: acl.pop(),
            lambda: acl.stop(own),
            lambda: acl.finalize(),
            lambda: acl.model_subscribe(1, subscription),
            lambda: acl.model_unsubscribe(1),
        ]
        try:
            for _ in range(60):
                chance.choice(steps)()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is told below
            failures.append(error)
        acl.model_unsubscribe(1)
        os.close(source)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    acl.finalize()
    assert acl.init("out") == 0
    assert acl.start(config(acl)) == 0
    acl.execute()
    assert acl.finalize() == 0
