"""
Run the tests: each framework in a process of its own, several processes at a time.

    python tools/run_tests.py --part quick          # what `make test` runs
    python tools/run_tests.py --part rest           # what `make test-all` runs beyond that
    python tools/run_tests.py core/drynpu/raw       # every test of what stands there

Frameworks disturb each other. So a folder of tests with a ``process.yaml`` has a process of its own, which runs the
folders below it, too, but for those with a ``process.yaml`` themselves. The file may name

- ``python``: the environment that runs the tests (``.venv`` where it does not say),
- ``frameworks``: modules without which its tests cannot run; with another Python (``--suffix``) they may be missing,
- ``needs``: targets of make that set up what the tests use (``native``: the npu device of PyTorch, in C++),
- ``apart``: why the tests are in no part, and what runs them,
- ``ignore``: files of the folder that something else runs,
- ``waits``: why its tests take long though their files are short: it starts before the others.

The mark ``slow`` parts quick from rest. The quick part has a test of every room, or the run fails.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import IO
from xml.etree import ElementTree as ET

import yaml
from attrs import frozen

ROOT = Path(__file__).parents[1]
SETTINGS = "process.yaml"
PARTS = {"quick": "not slow and not exhaustive", "rest": "slow and not exhaustive", "all": "not exhaustive"}
"""Name of a part -> which marks its tests have."""
NO_TESTS = 5
"""Status of pytest where a process has no test of the part."""
RAN = frozenset({"passed", "failed", "xfailed", "xpassed", "error", "errors"})
"""What becomes of a test that runs, in the closing line of pytest."""
CLOSING = re.compile(r"^(?:=+ )?((?:\d+ \w+(?:, )?)+|no tests ran) in [\d.]+s", re.MULTILINE)


@frozen
class TestProcess:
    """The tests that one process of pytest runs."""

    folder: Path
    python: str = ".venv"
    frameworks: tuple[str, ...] = ()
    needs: tuple[str, ...] = ("native",)
    apart: str = ""
    ignore: tuple[str, ...] = ()
    waits: str = ""

    @property
    def test_bytes(self) -> int:
        """How long the files of tests are: the longest processes start first."""
        return sum(path.stat().st_size for path in self.folder.rglob("test_*.py"))


@frozen
class Outcome:
    """What a process of pytest left."""

    process: TestProcess
    status: int
    processor_s: float
    output: str
    ran: frozenset[str]
    """Rooms with a test that ran."""
    chosen: frozenset[str]
    """Rooms with a test of the part, skipped or not."""

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of tests by what became of them, from the closing line."""
        lines = CLOSING.findall(self.output)
        return {word: int(number) for number, word in re.findall(r"(\d+) (\w+)", lines[-1])} if lines else {}

    @property
    def failed(self) -> bool:
        """Whether a test failed, or the process did."""
        return self.status not in (0, NO_TESTS)


def processes_of(tests: Path) -> list[TestProcess]:
    """Return the processes that the folders of tests ask for."""
    processes = []
    for path in sorted(tests.rglob(SETTINGS)):
        settings = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
        lists = {name: tuple(value) for name, value in settings.items() if isinstance(value, list)}
        processes.append(TestProcess(path.parent, **{**settings, **lists}))
    return processes


def nearest(processes: Sequence[TestProcess], path: Path) -> TestProcess:
    """Return the process that runs the tests of a path."""
    around = [process for process in processes if path == process.folder or process.folder in path.parents]
    return max(around, key=lambda process: len(process.folder.parts))


def room_of(tests: Path, path: Path) -> str:
    """Return the room of a file of tests: its folder, two levels deep at most."""
    return "/".join(path.relative_to(tests).parts[:-1][:2]) or "tests"


def mirror_of(root: Path, path: str) -> Path:
    """
    Return what tests a path of the repository: itself below ``tests``, elsewhere the deepest folder that mirrors it.

    Raises
    ------
    LookupError
        Nothing mirrors it.
    """
    parts = list(Path(os.path.normpath(path)).parts)
    if parts[0] == "tests" and (root / path).exists():
        return root / path
    if parts[0] == "adapters" and len(parts) > 1:
        packages = [package.name.removeprefix("drynpu_") for package in (root / parts[0] / parts[1]).glob("drynpu_*")]
        parts[:2] = packages or parts[1:2]
    above = 2 if parts[0] == "plugins" else 1
    place = (root / "tests").joinpath(*parts[:above])
    if ".." in parts or not place.is_dir() or not (root / path).exists():
        tested = sorted(each.name for each in (root / "tests").iterdir() if each.is_dir() and each.name[0] not in "._")
        raise LookupError(f"{path}: there is no such path, or no tests of it; folders of tests: {', '.join(tested)}")
    # The package's folder, core/drynpu or adapters/torch/drynpu_torch, has no folder of tests.
    for part in parts[above:]:
        if (place / part).is_dir():
            place /= part
    of_the_file = place / f"test_{parts[-1].lstrip('_')}"
    return of_the_file if of_the_file.is_file() else place


def set_up(processes: Sequence[TestProcess]) -> None:
    """Make what the processes need; where something cannot be made, its tests say so and the others run."""
    targets = sorted({need for process in processes for need in process.needs})
    if targets:
        # Make hands the PYTHON of its command line on.
        subprocess.run(["make", "--keep-going", "--no-print-directory", *targets], cwd=ROOT, check=False)


def environment_of(process: TestProcess, suffix: str) -> Path:
    """Return the Python that runs the tests of a process."""
    return ROOT / f"{process.python}{suffix}" / "bin" / "python"


def missing_framework(process: TestProcess, suffix: str) -> str:
    """Return the first framework that a process needs and that its environment lacks, "" for none."""
    find = "import sys; from importlib.util import find_spec; sys.exit(find_spec(sys.argv[1]) is None)"
    for framework in process.frameworks:
        command = [str(environment_of(process, suffix)), "-c", find, framework]
        try:
            status = subprocess.run(command, check=False, capture_output=True).returncode
        except FileNotFoundError:
            return framework
        if status:
            return framework
    return ""


def with_frameworks(chosen: dict[TestProcess, list[Path]], suffix: str) -> dict[TestProcess, list[Path]]:
    """Return the processes whose frameworks another Python has; a line names each of the others."""
    left = {}
    for process, paths in chosen.items():
        if missing := missing_framework(process, suffix):
            print(f"LEFT OUT: {process.folder.relative_to(ROOT)}: there is no {missing} in {process.python}{suffix}")
        else:
            left[process] = paths
    return left


def rooms_in(tests: Path, report: Path) -> Iterator[tuple[str, bool]]:
    """Return the room of each test of a report, and whether the test ran."""
    if report.is_file():
        for case in ET.parse(report).iter("testcase"):
            # A class's name follows the module's, if the test is in one.
            names = case.get("classname", "").split(".")[1:]
            end = next((place for place, name in enumerate(names) if name.startswith("test_")), len(names))
            yield room_of(tests, tests.joinpath(*names[: end + 1])), case.find("skipped") is None


def run(
    process: TestProcess, others: Sequence[TestProcess], paths: Sequence[Path], marks: str, suffix: str = ""
) -> Outcome:
    """Run a process of pytest to its end."""
    stem = ROOT / "build" / "tests" / "-".join(process.folder.relative_to(ROOT).parts)
    stem.parent.mkdir(parents=True, exist_ok=True)
    report, log = stem.with_suffix(".xml"), stem.with_suffix(".log")
    report.unlink(missing_ok=True)
    python = environment_of(process, suffix)
    command = [str(python), "-m", "pytest", "-q", f"--junitxml={report}", *(["-m", marks] if marks else [])]
    command += [str(path.relative_to(ROOT)) for path in paths]
    below = [other.folder for other in others if process.folder in other.folder.parents]
    ignored = [*below, *(process.folder / name for name in process.ignore)]
    command += [f"--ignore={path.relative_to(ROOT)}" for path in ignored if path not in paths]
    status, processor_s = 1, 0.0
    # Each has its own folder for temporary files: pytest removes old ones there, and two would be in each other's way.
    with tempfile.TemporaryDirectory(prefix="tests.", ignore_cleanup_errors=True) as folder, log.open("w") as output:
        try:
            status, processor_s = ended(command, {**os.environ, "PYTEST_DEBUG_TEMPROOT": folder}, output)
        except FileNotFoundError:
            print(f"{python} is not there: make says above why", file=output)
    rooms = list(rooms_in(ROOT / "tests", report))
    return Outcome(
        process=process,
        status=status,
        processor_s=processor_s,
        output=log.read_text(encoding="utf-8"),
        ran=frozenset(room for room, ran in rooms if ran),
        chosen=frozenset(room for room, _ in rooms),
    )


def ended(command: Sequence[str], environment: Mapping[str, str], output: IO[str]) -> tuple[int, float]:
    """Return the status of a command, and its seconds of a processor, its children's included."""
    running = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT)
    _, status, used = os.wait4(running.pid, 0)
    running.returncode = os.waitstatus_to_exitcode(status)
    return running.returncode, used.ru_utime + used.ru_stime


def selections(processes: Sequence[TestProcess], root: Path, paths: Sequence[str]) -> dict[TestProcess, list[Path]]:
    """Return the paths that each process runs, the longest process first; all are chosen where no path is named."""
    if not paths:
        chosen = {process: [process.folder] for process in processes if not process.apart}
    else:
        chosen = {}
        for path in paths:
            place = mirror_of(root, path)
            print(f"{path}: {place.relative_to(root)}")
            inside = [process for process in processes if place in process.folder.parents]
            for process in [nearest(processes, place), *inside]:
                chosen.setdefault(process, []).append(process.folder if process in inside else place)
    return dict(sorted(chosen.items(), key=lambda item: (not item[0].waits, -item[0].test_bytes)))


def show(outcome: Outcome) -> None:
    """Print what pytest printed."""
    print(f"\n== {outcome.process.folder.relative_to(ROOT)}, {outcome.processor_s:.0f} s of a processor", flush=True)
    print(outcome.output, end="", flush=True)


def rooms_of(tests: Path, processes: Sequence[TestProcess], chosen: Sequence[TestProcess]) -> set[str]:
    """Return every room that the chosen processes have tests of; files beside rooms are in none."""
    near = {path: nearest(processes, path) for path in tests.rglob("test_*.py")}
    rooms = {room_of(tests, path) for path, process in near.items() if process in chosen}
    return rooms - {"tests"} - {room.rpartition("/")[0] for room in rooms}


def summary(
    outcomes: Sequence[Outcome], rooms: set[str], seconds: Sequence[tuple[str, float]], part: str = "quick"
) -> list[str]:
    """
    Return how much of the whole was run, what was left out, and how long it took.

    The rest does not say how much it is: it does not look at files without slow tests.
    """
    counts = [outcome.counts for outcome in outcomes]
    left_out = sum(count.get("deselected", 0) for count in counts)
    skipped = sum(count.get("skipped", 0) for count in counts)
    ran = sum(number for count in counts for word, number in count.items() if word in RAN)
    whole = ran + skipped + left_out
    covered = frozenset[str]().union(*(outcome.ran for outcome in outcomes))
    share = f" of {whole} ({ran / max(whole, 1):.0%})" if part != "rest" else ""
    lines = [f"tests: {ran}{share}; rooms: {len(covered & rooms)} of {len(rooms)}"]
    if skipped:
        lines.append(f"{skipped} tests were SKIPPED; pytest says why above")
    if nowhere := sorted(rooms - covered):
        lines.append(f"rooms without a test that ran: {', '.join(nowhere)}")
    lines += [f"FAILED: {outcome.process.folder.relative_to(ROOT)}" for outcome in outcomes if outcome.failed]
    lines.append("; ".join(f"{name}: {int(took) // 60} min {int(took) % 60} s" for name, took in seconds))
    return lines


def main() -> int:
    """Run the tool."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "paths", nargs="*", help="folders or files of the repository: what tests them is run, all of it"
    )
    parser.add_argument("--part", choices=PARTS, default="quick", help="which tests to run if no path is named")
    parser.add_argument("--jobs", type=int, default=(os.cpu_count() or 1) + 2, help="processes at a time")
    parser.add_argument("--suffix", default="", help="what the names of the environments end in: another Python")
    parser.add_argument("--since", type=float, default=time.time(), help="when the set-up began (date +%%s)")
    options = parser.parse_args()
    tests = ROOT / "tests"
    processes = processes_of(tests)
    try:
        chosen = selections(processes, ROOT, options.paths)
    except LookupError as error:
        parser.error(str(error))
    set_up(list(chosen))
    if options.suffix:
        chosen = with_frameworks(chosen, options.suffix)
    begin = time.time()
    marks = "" if options.paths else PARTS[options.part]
    # A process has one busy thread most of the time and waits for scripts the rest of it.
    with ThreadPoolExecutor(options.jobs) as pool:
        running = [
            pool.submit(run, process, processes, paths, marks, options.suffix) for process, paths in chosen.items()
        ]
        outcomes = []
        for done in as_completed(running):
            outcomes.append(done.result())
            show(outcomes[-1])
    reached = frozenset[str]().union(*(outcome.chosen for outcome in outcomes))
    rooms = set(reached) if options.paths else rooms_of(tests, processes, list(chosen))
    seconds = (("set-up", begin - options.since), ("testing", time.time() - begin))
    print("", *summary(outcomes, rooms, seconds, options.part), sep="\n")
    return int(any(outcome.failed for outcome in outcomes) or (options.part == "quick" and not rooms <= reached))


if __name__ == "__main__":
    sys.exit(main())
