"""A collector outside: the whole process, a window of it, commands at a socket, and one that is not drynpu's."""

from __future__ import annotations

import csv
import os
import time
from pathlib import Path

import pytest
from attrs import evolve

from drynpu.options import ProfilingRequest
from drynpu.recorder import CollectionCommand, ControlClient, ControlCommand, ControlReply, control_socket

NODES = 3


@pytest.fixture
def order(monkeypatch):
    """Put an order into the environment and return it."""

    def of(ago_s=0.0, control=None, **window):
        request = ProfilingRequest()
        made = CollectionCommand(
            request=evolve(request, window=evolve(request.window, **window)),
            directory=Path.cwd() / "out",
            journal=Path.cwd() / "journal",
            launched_ns=time.time_ns() - round(ago_s * 1e9),
            control=control,
        )
        monkeypatch.setenv("DRYNPU_COLLECT", made.to_text())
        return made

    return of


def kernels(path):
    from drynpu.products import export_msprof, load_profile

    export_msprof(load_profile(path))
    (found,) = path.glob("**/op_summary_*.csv")
    with found.open(newline="") as file:
        return len(list(csv.DictReader(file)))


def test_the_library_from_beginning_to_end_and_again(acl, order):
    given = order()
    for number in (1, 2):
        assert acl.profiling.initialize("no file is looked at") == 0
        assert acl.init("x") == 100042
        acl.execute()
        acl.profiling.finalize()
        assert len(given.reports()) == number, "each told once"
    assert acl.init("x") == 0
    assert [kernels(report.path) for report in given.reports()] == [NODES, NODES]


def test_a_window_of_time(acl, order):
    given = order(ago_s=0.7, delay_s=1, duration_s=1)
    assert acl.profiling.initialize(None) == 0
    acl.execute()
    assert acl.init("x") == 100042, "the process is the collector's before the window, too"
    time.sleep(0.6)
    acl.execute()
    deadline = time.monotonic() + 20
    while not given.reports() and time.monotonic() < deadline:
        time.sleep(0.05)
    acl.execute()
    acl.profiling.finalize()
    (report,) = given.reports()
    assert kernels(report.path) == NODES


@pytest.mark.parametrize(("window", "count"), [({"delay_s": 1000}, 0), ({"duration_s": 1000}, 1)])
def test_a_library_that_ends_before_its_window(acl, order, window, count):
    given = order(**window)
    assert acl.profiling.initialize(None) == 0
    acl.execute()
    acl.profiling.finalize()
    assert len(given.reports()) == count


@pytest.mark.parametrize("attached", [False, True])
def test_commands(acl, order, monkeypatch, tmp_path, attached):
    monkeypatch.setenv("HOME", str(tmp_path))
    given = order(control=control_socket(os.getpid()))
    if attached:
        monkeypatch.delenv("DRYNPU_COLLECT")
        monkeypatch.setenv("PROFILING_MODE", "dynamic")
    assert acl.profiling.initialize(None) == 0
    assert acl.init("x") == 200006
    client = ControlClient(key=os.getpid(), path=given.control)
    assert client.connect(given, 5)
    assert client.send(ControlCommand.STOP, 20) is ControlReply.NOT_STARTED
    for _ in range(2):
        acl.execute()
        assert client.send(ControlCommand.START, 20) is ControlReply.SUCCESS
        assert client.send(ControlCommand.START, 20) is ControlReply.ALREADY_STARTED
        assert acl.start(acl.create_config([0], 0, 0, 1)) == 100042
        acl.execute()
        assert client.send(ControlCommand.STOP, 20) is ControlReply.SUCCESS
    assert client.send(ControlCommand.START, 20) is ControlReply.SUCCESS
    acl.execute()
    acl.profiling.finalize()
    assert client.send(ControlCommand.START, 20) is ControlReply.FAILED, "the library has ended"
    client.close()
    assert [kernels(report.path) for report in given.reports()] == [NODES] * 3
    assert acl.profiling.sessions.finished == [], "the command shows them, not the process at its end"


def test_commands_while_somebody_else_has_the_process(acl, order, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    given = order(control=control_socket(os.getpid()))
    source, sink = os.pipe()
    assert acl.profiling.initialize(None) == 0
    assert acl.model_subscribe(1, acl.create_subscribe_config(1, 255, sink)) == 0
    client = ControlClient(key=os.getpid(), path=given.control)
    assert client.connect(given, 5)
    assert client.send(ControlCommand.START, 20) is ControlReply.FAILED
    assert acl.model_unsubscribe(1) == 0
    os.close(source)
    assert client.send(ControlCommand.START, 20) is ControlReply.SUCCESS
    client.close()
    deadline = time.monotonic() + 20
    while not given.reports() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(given.reports()) == 1, "who hangs up stops it"


def test_another_msprof_wins_over_the_file(acl, monkeypatch, capsys):
    monkeypatch.setenv("PROFILER_SAMPLECONFIG", "{}")
    Path("acl.json").write_text('{"profiler": {"switch": "on", "output": "out"}}')
    assert acl.profiling.initialize("acl.json") == 0
    assert "PROFILER_SAMPLECONFIG" in capsys.readouterr().err
    assert acl.init("x") == acl.start(acl.create_config([0], 0, 0, 1)) == 100042
    acl.execute()
    acl.profiling.finalize()
    assert not Path("out").exists()
    assert acl.init("x") == 0
