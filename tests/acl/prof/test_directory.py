"""The PROF directory of a program: there from ``start`` on, filled by ``stop``."""

from __future__ import annotations

PROGRAM = """
import json, os, sys
import acl

def seen(name):
    found = sorted(os.listdir("out")) if os.path.isdir("out") else []
    print(name + "=" + json.dumps([[each, sorted(os.listdir("out/" + each))] for each in found]))

assert acl.init() == 0
assert acl.rt.set_device(0) == 0
assert acl.prof.init("out") == 0
seen("before")
config = acl.prof.create_config([0], 0, 0, 0x1 | 0x2)
for number in (1, 2):
    assert acl.prof.start(config) == 0
    seen(f"during{number}")
    pointer, ret = acl.rt.malloc(64, 0)
    if sys.argv[1] == "full" and number == 2:
        os.chdir("/")
        import drynpu_acl.recording._devices_recording as recording
        def refuse(*arguments, **keywords):
            raise OSError(28, "No space left on device")
        recording.Recorder.write = refuse
        os.chdir(sys.argv[2])
    assert acl.prof.stop(config) == 0
    seen(f"after{number}")
assert acl.prof.finalize() == 0
assert acl.finalize() == 0
"""


def names(run, moment):
    return [name for name, _ in run.printed(moment)]


def test_it_is_there_from_start_on_and_is_the_one_that_stop_fills(programs):
    run = programs(PROGRAM, "whole", environment={"DRYNPU_QUIET": "1"})
    assert run.printed("before") == []
    ((first, inside),) = run.printed("during1")
    assert first.startswith("PROF_000001_")
    assert inside == ["host"]
    ((again, inside),) = run.printed("after1")
    assert again == first
    assert {"device_0", "host", "mindstudio_profiler_output"} <= set(inside)
    assert [name[:12] for name in names(run, "during2")] == ["PROF_000001_", "PROF_000002_"]
    assert names(run, "after2") == names(run, "during2")


def test_one_that_could_not_be_filled_is_removed(programs):
    folder = programs.folder()
    run = programs(PROGRAM, "full", str(folder), folder=folder, environment={"DRYNPU_QUIET": "1"})
    assert len(names(run, "during2")) == 2
    assert names(run, "after2") == names(run, "after1")
    assert "no profile was written" in run.stderr
