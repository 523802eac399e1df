"""
Run one workload again and again, each time in a fork that finds its framework imported.

    python server.py WORKLOAD        one JSON document per line on stdin: {"folder": ..., "kill_after_s": ...}

A case runs in its folder as a process group of its own, its output goes to ``stdout`` and ``stderr`` there. The answer
is one line on stdout: ``{"status": ...}``, negative for a signal, and "timeout" where it had to be ended.
"""

from __future__ import annotations

import atexit
import importlib.util
import json
import os
import signal
import sys
import time
import traceback
from pathlib import Path
from types import ModuleType

LIMIT_S = 120.0
"""A case that takes longer hangs: an undisturbed one takes less than 20 s on a busy machine."""


def load_workload(path: Path) -> ModuleType:
    """Import the workload, and with it its framework."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_in_child(workload: ModuleType, folder: Path) -> None:
    """Run the workload as a script would run: its result on stdout, its exit handlers, its exit status."""
    os.setpgid(0, 0)
    os.chdir(folder)
    for number, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT), number)
    status = 0
    try:
        print("RESULT", json.dumps(workload.main()))
    except SystemExit as ending:
        status = ending.code if isinstance(ending.code, int) else 1
    except BaseException:  # noqa: BLE001 - whatever ends a script ends this case
        traceback.print_exc()
        status = 1
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def wait(child: int, kill_after_s: float) -> int | str:
    """Return the exit status of a case, which is killed after *kill_after_s* unless that is 0."""
    began = time.monotonic()
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        elapsed = time.monotonic() - began
        if kill_after_s and elapsed > kill_after_s:
            os.killpg(child, signal.SIGKILL)
            kill_after_s = 0.0
        if elapsed > LIMIT_S:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return "timeout"
        time.sleep(0.005)


def serve(workload: ModuleType) -> None:
    """Run the cases that come on stdin."""
    print("ready", flush=True)
    for line in sys.stdin:
        case = json.loads(line)
        child = os.fork()
        if child == 0:
            run_in_child(workload, Path(case["folder"]))
        print(json.dumps({"status": wait(child, case.get("kill_after_s", 0.0))}), flush=True)


if __name__ == "__main__":
    serve(load_workload(Path(sys.argv[1])))
