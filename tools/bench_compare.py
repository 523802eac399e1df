"""
Compare the speed of this checkout and of another revision, so that a regression is seen before it lands.

    python tools/bench_compare.py BASE [--rounds 8] [--with shapes|stack|modules|memory]

BASE is checked out into a temporary folder, with an environment of its own that reads all other packages from this
one. Both revisions take turns: in each round every workload runs once under each of them, and who is first changes from
round to round. A ratio divides the processor times of this checkout and of BASE in the same round, so other work of the
machine meets both. Workloads use nothing but what users call, so BASE may be any revision that has it.

The interval belongs to the median of the ratios: it holds the true one in at least 95 % of such runs (order statistics
of the sign test; with fewer than six rounds it is the range, which holds it less often). A workload is slower if the
interval lies above 1 and the median above 1.03; then the status is 1. Fewer than six rounds give no verdict.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import venv
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

from bench_profiler import MODELS, OPTIONS, Worker  # noqa: E402 - the folder is no package

CONFIDENCE = 0.95
FEWEST_ROUNDS = 6
"""With fewer, all ratios lie on one side of 1 by chance more often than the confidence allows: 1 in 16 for five."""
SLOWER = 1.03
"""The least median that counts as slower: smaller differences are within what two equal checkouts show."""
STATES = ("plain", "recording")
EMPTY = "empty.py"
COMMANDS = {
    "import torch_npu, torch included": ["-c", "import torch, torch_npu"],
    "drynpu --help": ["-m", "drynpu", "--help"],
    "drynpu run of an empty script": ["-m", "drynpu", "run", "--quiet", EMPTY],
    "drynpu chips": ["-m", "drynpu", "chips"],
}
"""What is measured as a whole process, by its title."""
MEASURED = {"step_ms": "step", "stop_processor_s": "stop to files", "recording_ms": "recording to files, by step"}
"""Figures of a stretch of steps that are compared: key of the benchmark -> title."""
Times = dict[str, list[float]]


@contextlib.contextmanager
def checkout(revision: str) -> Iterator[str]:
    """Yield the Python of an environment with drynpu as of *revision*."""
    with tempfile.TemporaryDirectory() as folder:
        tree, environment = Path(folder) / "tree", Path(folder) / "venv"
        git("worktree", "add", "--quiet", "--detach", str(tree), revision)
        try:
            python = environment_for(environment)
            install(tree, python)
            yield str(python)
        finally:
            git("worktree", "remove", "--force", str(tree))


def git(*arguments: str) -> None:
    """Run git in this checkout; what it says about a wrong revision is shown as it is."""
    if subprocess.run(["git", *arguments], cwd=ROOT, check=False).returncode:
        raise SystemExit(1)


def environment_for(folder: Path) -> Path:
    """Return the Python of a new environment that reads its packages from this one, drynpu apart."""
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    purelib = "import sysconfig; print(sysconfig.get_path('purelib'))"
    ours, theirs = (run([each, "-c", purelib]).strip() for each in (sys.executable, str(python)))
    # As a path, not as a site folder: its .pth files would put this checkout's drynpu first.
    Path(theirs, "of_the_tests.pth").write_text(ours + "\n", encoding="utf-8")
    return python


def install(tree: Path, python: Path) -> None:
    """Install the drynpu of *tree* for a Python, and compile its device."""
    shared = ["--quiet", "--no-deps", "--no-build-isolation", "--disable-pip-version-check"]
    run([str(python), "-m", "pip", "install", *shared, "-e", str(tree)])
    run([str(python), "-m", "drynpu", "native", "build"])


def run(command: Sequence[str]) -> str:
    """Return what a command prints; its complaints are shown if it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: status {done.returncode}")
    return done.stdout


def processor_s(python: str, arguments: Sequence[str]) -> float:
    """Return the processor seconds of a process, its children included."""
    environment = {**os.environ, "DRYNPU_QUIET": "1"}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, EMPTY).touch()
        started = subprocess.Popen([python, *arguments], cwd=folder, stdout=subprocess.DEVNULL, env=environment)
        _, status, used = os.wait4(started.pid, 0)
    started.returncode = os.waitstatus_to_exitcode(status)
    if started.returncode:
        raise SystemExit(f"{python} {' '.join(arguments)}: status {started.returncode}")
    return used.ru_utime + used.ru_stime


def round_of(pythons: Sequence[str], recorded: str) -> Iterator[tuple[str, float, str]]:
    """Measure everything once under each Python, in their order; yield the workload, its time, and the Python."""
    for title, arguments in COMMANDS.items():
        for python in pythons:
            yield title, processor_s(python, arguments), python
    workers = {python: Worker("torch_npu.profiler", recorded, python) for python in pythons}
    try:
        for model in MODELS:
            for state in STATES:
                for python, worker in workers.items():
                    for key, value in worker.ask(model, state).items():
                        if key in MEASURED:
                            yield f"{model}, {state}: {MEASURED[key]}", value, python
    finally:
        for worker in workers.values():
            worker.close()


def interval(ratios: Sequence[float]) -> tuple[float, float]:
    """
    Return the interval of the median that :data:`CONFIDENCE` asks for, or the range where there are too few rounds.

    >>> interval([1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 9.0])
    (1.0, 9.0)
    """
    ordered, count = sorted(ratios), len(ratios)
    cut = 0
    while 1 - 2 * sum(math.comb(count, each) for each in range(cut + 2)) / 2**count >= CONFIDENCE:
        cut += 1
    return ordered[cut], ordered[count - 1 - cut]


def verdict(ratios: Sequence[float]) -> str:
    """Return ``slower``, ``faster`` or ``""`` for the ratios of a workload."""
    low, high = interval(ratios)
    median = statistics.median(ratios)
    if len(ratios) < FEWEST_ROUNDS:
        return ""
    if low > 1 and median > SLOWER:
        return "slower"
    return "faster" if high < 1 and median < 1 / SLOWER else ""


def show(ratios: Mapping[str, Sequence[float]], base: str) -> int:
    """Print a row for each workload; return how many are slower."""
    print(f"processor time of this checkout / of {base}")
    for title, rounds in ratios.items():
        low, high = interval(rounds)
        print(f"  {title:48} {statistics.median(rounds):5.2f} ({low:.2f} to {high:.2f}) {verdict(rounds)}".rstrip())
    return sum(verdict(rounds) == "slower" for rounds in ratios.values())


def main() -> int:
    """Run the tool."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", help="a revision that git knows")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--with", dest="recorded", choices=OPTIONS, default="shapes", help="what is recorded")
    parser.add_argument("-o", "--output", type=Path, help="where to keep the ratios as JSON")
    options = parser.parse_args()
    ratios: Times = defaultdict(list)
    with checkout(options.base) as base:
        pythons = [base, sys.executable]
        for number in range(options.rounds):
            times: dict[str, dict[str, float]] = defaultdict(dict)
            for title, value, python in round_of(pythons[:: -1 if number % 2 else 1], options.recorded):
                times[title][python] = value
            for title, each in times.items():
                ratios[title].append(each[sys.executable] / each[base])
            print(f"round {number + 1} of {options.rounds}", file=sys.stderr, flush=True)
    if options.output:
        options.output.write_text(json.dumps({"base": options.base, "ratios": ratios}, indent=1), encoding="utf-8")
    return int(show(ratios, options.base) > 0)


if __name__ == "__main__":
    if shutil.which("git") is None:
        raise SystemExit("git is not here; it checks the other revision out")
    sys.exit(main())
