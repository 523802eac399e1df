"""
Kill and starve profiled trainings at every file call, and count what is lost.

    python tests/torture/torture.py core torch tf acl mindspore --calls 60 --times 20 [--seed 7]

For each workload: an undisturbed run counts the calls that change a file of its result. Then for a sample of these
calls and each fault (SIGKILL, ENOSPC, EIO, EACCES, EMFILE; once, and from there on) the workload runs again and the
call fails; then it is killed at random times; then it runs on small file systems where these can be mounted. After
each case what is left is examined. A table of counts is printed; the exit status is 1 if one of them is not 0.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from attrs import define, field, frozen

sys.path.insert(0, str(Path(__file__).parent))

from examine import Findings, examine
from faults import FAULTS, KILL, FaultState, build_library

FOLDER = Path(__file__).parent
WORKLOADS = {
    "core": "core_recording",
    "torch": "torch_training",
    "tf": "tf_session",
    "acl": "acl_inference",
    "mindspore": "mindspore_training",
}
SIZES = ("64k", "256k", "1m", "4m", "16m")
"""File systems that are too small for a result, up to one that nearly holds it."""
COLUMNS = ("cases", "half files", "tracebacks", "unreadable", "lost", "result changed", "hung")
"""Of each the number of cases; ``lost`` are those with steps on disk that cannot be recovered."""


@frozen
class Case:
    """One disturbed run of a workload."""

    name: str
    fault: str = ""
    nth: int = 0
    lasting: bool = False
    kill_after_s: float = 0.0
    size: str = ""

    @property
    def is_killed(self) -> bool:
        """Whether the run is not to come to its end."""
        return self.fault == "kill" or self.kill_after_s > 0


@define
class Workload:
    """A process that runs one workload in forks, with the library preloaded."""

    name: str
    scratch: Path
    library: Path
    _process: subprocess.Popen[str] | None = field(default=None, init=False)

    @property
    def state(self) -> FaultState:
        """What arms the calls of this workload's cases."""
        return FaultState(self.scratch / "state")

    def start(self) -> None:
        """Start the process and wait until its framework is imported."""
        self.state.arm(self.scratch / "nowhere")
        environment = {
            **os.environ,
            "LD_PRELOAD": str(self.library),
            "TORTURE_STATE": str(self.state.path),
            "DRYNPU_QUIET": "1",
            "TF_ENABLE_ONEDNN_OPTS": "0",
            "KINETO_LOG_LEVEL": "99",
            "TF_CPP_MIN_LOG_LEVEL": "3",
            "GLOG_v": "3",
        }
        server = [str(FOLDER / "server.py"), str(FOLDER / "workloads" / f"{WORKLOADS[self.name]}.py")]
        runner = [sys.executable, "-m", "drynpu", "run"] if self.name == "mindspore" else [sys.executable]
        self._process = subprocess.Popen(
            [*runner, *server], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.strip() == "ready":
                return
        raise SystemExit(f"{self.name}: the workload cannot be imported")

    def run(self, case: Case, folder: Path) -> int | str:
        """Run one case in *folder*; return its exit status, or "timeout"."""
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        self.state.arm(folder / "out", case.nth, FAULTS.get(case.fault, 0), lasting=case.lasting)
        process.stdin.write(json.dumps({"folder": str(folder), "kill_after_s": case.kill_after_s}) + "\n")
        process.stdin.flush()
        for line in process.stdout:
            if line.startswith('{"status"'):
                status: int | str = json.loads(line)["status"]
                return status
        raise SystemExit(f"{self.name}: the server of the workload has ended")

    def stop(self) -> None:
        """End the process."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            self._process.wait()


def plan_cases(calls: int, seconds: float, options: argparse.Namespace) -> Iterator[Case]:
    """Yield the disturbed runs of a workload that makes *calls* file calls and takes *seconds*."""
    chooser = random.Random(options.seed)
    count = min(calls, options.calls)
    for fault in FAULTS:
        for nth in sorted(chooser.sample(range(1, calls + 1), count)):
            lasting = FAULTS[fault] != KILL and chooser.random() < 0.5
            yield Case(f"{fault}{'+' if lasting else ''} at call {nth}", fault=fault, nth=nth, lasting=lasting)
    for _ in range(options.times):
        moment = chooser.uniform(0.02, seconds)
        yield Case(f"killed after {moment:.2f} s", kill_after_s=moment)
    for size in SIZES if options.times else ():
        yield Case(f"file system of {size}", size=size)


@contextlib.contextmanager
def case_folder(scratch: Path, size: str) -> Iterator[Path | None]:
    """Give a new folder for a case, on a file system of *size* for its results; None if that cannot be mounted."""
    folder = Path(tempfile.mkdtemp(dir=scratch))
    out = folder / "out"
    mounted = False
    if size:
        out.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(out)]
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    try:
        yield None if size and not mounted else folder
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(out)], check=False)
        shutil.rmtree(folder, ignore_errors=True)


def result_of(folder: Path) -> str:
    """Return the line in which a workload tells what it computed."""
    text = (folder / "stdout").read_text(errors="replace") if (folder / "stdout").exists() else ""
    return next((line for line in text.splitlines() if line.startswith("RESULT")), "")


def judge(case: Case, status: int | str, result: str, expected: str, found: Findings) -> Iterator[tuple[str, str]]:
    """Yield each problem of a case, as the column that counts it and a line for people."""
    for column, lines in (
        ("half files", found.half_files),
        ("tracebacks", found.tracebacks),
        ("unreadable", found.unreadable),
        ("lost", found.lost),
    ):
        for line in lines:
            yield column, line
    if status == "timeout":
        yield "hung", "the run did not end"
    elif not case.is_killed and (status != 0 or result != expected):
        yield "result changed", f"exit status {status}, {result!r} instead of {expected!r}"


def torture(workload: Workload, options: argparse.Namespace) -> Counter[str]:
    """Run all cases of a workload, print what is wrong, and return the counts."""
    counts: Counter[str] = Counter()
    workload.start()
    with case_folder(workload.scratch, "") as folder:
        assert folder is not None
        began = os.times().elapsed
        status = workload.run(Case("undisturbed"), folder)
        seconds = os.times().elapsed - began
        expected, calls = result_of(folder), workload.state.read()[0]
        found = examine(folder)
        if status != 0 or not found.kernels or found.half_files or found.unreadable:
            stderr = (folder / "stderr").read_text(errors="replace")
            raise SystemExit(f"{workload.name}: the undisturbed run fails: {status} {found}\n{stderr}")
    print(f"{workload.name}: {calls} file calls, {seconds:.1f} s, {found.kernels} kernels", flush=True)
    for case in plan_cases(calls, seconds, options):
        with case_folder(workload.scratch, case.size) as folder:
            if folder is None:
                print(f"{workload.name}: SKIPPED: {case.name} cannot be mounted here", flush=True)
                continue
            status = workload.run(case, folder)
            counts["cases"] += 1
            place = workload.state.read()[2].replace(str(folder), "")
            findings = examine(folder)
            counts["recovered steps"] += findings.recovered
            for column, line in judge(case, status, result_of(folder), expected, findings):
                counts[column] += 1
                print(f"{workload.name}, {case.name} ({place}): {column}: {line}", flush=True)
    workload.stop()
    return counts


def main() -> int:
    """Torture the workloads that the command line names, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", choices=list(WORKLOADS), default=["core"])
    parser.add_argument("--calls", type=int, default=60, help="calls to disturb with each fault")
    parser.add_argument("--times", type=int, default=20, help="random times to kill at; with 0 no small disks")
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    total: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="drynpu-torture-") as scratch:
        library = build_library(Path(scratch))
        if library is None:
            print("SKIPPED: no C compiler (cc, gcc or clang), so no file call can be made to fail")
            return 0
        print(f"{'':12}" + "".join(f"{column:>16}" for column in COLUMNS))
        for name in options.workloads:
            folder = Path(scratch, name)
            folder.mkdir()
            counts = torture(Workload(name, folder, library), options)
            print(f"{name:12}" + "".join(f"{counts[column]:>16}" for column in COLUMNS), flush=True)
            print(f"{name}: {counts['recovered steps']} steps recovered of runs that were cut", flush=True)
            total += counts
    return int(any(total[column] for column in COLUMNS[1:]))


if __name__ == "__main__":
    sys.exit(main())
