"""
Try a release of PyTorch: install it into an environment of its own, train, profile, and print its row of the table.

    python tools/torch_release.py 2.10.0            # what `make test-torch TORCH=2.10.0` runs
    python tools/torch_release.py 2.10.0 --write    # put the row into docs/install.md, too

The table of docs/install.md is the one list of the releases that were tried. The status is 0 if every outcome is
the table's, where a cell may state a reason in brackets behind what came out, or good where the table has no such row.

PyPI's wheels for x86 are builds for CUDA, which need NVIDIA's libraries to be imported. Releases of one generation of
CUDA share one folder of these (``.nvidia-cu12``, 4.5 GB), which stays; the environment is removed.
"""

from __future__ import annotations

import argparse
import csv
import datetime as dt
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path

from attrs import field, frozen
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "install.md"
COLUMNS = ("import", "native device", "demo", "losses", "kernels", "values", "profiler", "two ranks")
GOOD = frozenset({"works", "equal", "pass"})
DEMO = ROOT / "examples" / "torch" / "train_gpt.py"
QUICK_FILES = ("demo", "one_step", "marks", "streams", "messages", "lost_parts")
PLAIN = "tests/torch/profiler/test_demo.py::test_losses_equal_a_plain_cpu_run"
PASSING = "not slow and not exhaustive"
OF_THIS_RUN = ("Device_id", "Model ID", "Task ID", "Stream ID", "Start Time(us)", "Wait Time(us)")
"""Columns of the list of kernels that hang on when the host launched them."""
TESTS: Mapping[str, Sequence[str]] = {
    "losses": (PLAIN,),
    "values": ("tests/torch/native/test_acceptance.py", "tests/torch/test_import.py"),
    "profiler": tuple(f"tests/torch/profiler/test_{name}.py" for name in QUICK_FILES),
    "two ranks": ("tests/torch/distributed/test_ddp_example.py",),
}
QUIET = {"KINETO_LOG_LEVEL": "99", "TORCH_CPP_LOG_LEVEL": "ERROR", "PYTHONDONTWRITEBYTECODE": ""}


class Broken(Exception):
    """A step failed, for which its output says why."""


@frozen
class Environment:
    """An environment with one release of PyTorch; its folder has the cache with the native device, too."""

    folder: Path
    variables: dict[str, str] = field(factory=dict)

    @property
    def site(self) -> Path:
        """Where its packages are."""
        (folder,) = self.folder.glob("lib/python*/site-packages")
        return folder

    def run(self, *arguments: str, program: str = "python", cwd: Path = ROOT) -> str:
        """Run a program of the environment, and return what it printed on both streams."""
        ours = ("DRYNPU_", "ASCEND_", "VIRTUAL_ENV", "RANK", "WORLD_SIZE", "PYTHONPATH")
        kept = {name: text for name, text in os.environ.items() if not name.startswith(ours)}
        done = subprocess.run(
            [str(self.folder / "bin" / program), *arguments],
            cwd=cwd,
            env={**kept, **QUIET, **self.variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode:
            raise Broken(done.stdout)
        return done.stdout

    def pip(self, *arguments: str) -> str:
        """Install packages."""
        return self.run("-m", "pip", "--disable-pip-version-check", "install", "--quiet", *arguments)

    def requirements(self) -> Iterator[Requirement]:
        """Return what its PyTorch asks for on this machine."""
        (torch,) = metadata.distributions(name="torch", path=[str(self.site)])
        for line in torch.requires or ():
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                yield requirement


def make_environment(folder: Path) -> Environment:
    """Return a new environment, or the one that is there."""
    if not (folder / "bin" / "python").exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    return Environment(folder, {"XDG_CACHE_HOME": str(folder / "cache")})


def install(environment: Environment, release: str) -> None:
    """Install PyTorch with what it needs to be imported, drynpu, and the tools of the tests."""
    environment.pip("--no-deps", f"torch=={release}")
    wanted = list(environment.requirements())
    libraries = [each for each in wanted if each.name.startswith("nvidia-") or each.name == "cuda-toolkit"]
    # Its compiler of kernels for CUDA is 0.2 GB, and its bindings serve CUDA alone.
    others = [each for each in wanted if each not in libraries and each.name not in ("triton", "cuda-bindings")]
    environment.pip("hatchling", "pytest", "pytest-timeout", "hypothesis", *map(str, others))
    environment.pip("--no-build-isolation", "-e", str(ROOT))
    if libraries:
        generation = "cu12" if any(each.name.endswith("-cu12") for each in libraries) else "cu13"
        shared = make_environment(ROOT / f".nvidia-{generation}")
        there = {each.name: each.version for each in metadata.distributions(path=[str(shared.site)])}
        if missing := [each for each in libraries if not _serves(there.get(each.name), each)]:
            print(f"fetching libraries of {generation} into {shared.folder.name} (once; 2.5 GB)", flush=True)
            shared.pip(*map(str, missing))
        (environment.site / "nvidia").symlink_to(shared.site / "nvidia")
        if generation == "cu12":  # where releases up to 2.7 look for it
            (environment.site / "cusparselt").symlink_to(shared.site / "nvidia" / "cusparselt")


def _serves(version: str | None, wanted: Requirement) -> bool:
    """Return whether an installed version is the one that is wanted, or newer: old builds load new libraries."""
    least = [each.version for each in wanted.specifier if each.operator in ("==", ">=")]
    return version is not None and all(_numbers(version) >= _numbers(each) for each in least)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version.partition("+")[0])))


def run_demo(environment: Environment, folder: Path) -> list[dict[str, str]]:
    """Return the kernels of the demo, without what hangs on when they were launched."""
    environment.run("run", "--quiet", str(DEMO), program="drynpu", cwd=folder)
    (path,) = folder.glob("demo_out/*_ascend_pt/ASCEND_PROFILER_OUTPUT/kernel_details.csv")
    with path.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    return [{name: text for name, text in row.items() if name not in OF_THIS_RUN} for row in rows]


def differing(kernels: Sequence[dict[str, str]], others: Sequence[dict[str, str]]) -> str:
    """Return "equal", or how many kernels stand on one side alone."""
    one, other = (Counter(json.dumps(row) for row in rows) for rows in (kernels, others))
    alone = [len(list(side.elements())) for side in (one - other, other - one)]
    return "{} here, {} there".format(*alone) if any(alone) else "equal"


def run_tests(environment: Environment, paths: Sequence[str]) -> str:
    """Return "pass", or how many tests of *paths* failed; their last lines are printed."""
    marks = ("-m", PASSING) if len(paths) == len(QUICK_FILES) else ()
    try:
        environment.run("-m", "pytest", "-q", *marks, *paths)
    except Broken as broken:
        print(str(broken)[-6000:], flush=True)
        failed = re.findall(r"(\d+) (?:failed|error)", str(broken).splitlines()[-1])
        return f"{sum(map(int, failed))} fail" if failed else "broken"
    return "pass"


def try_release(release: str, environment: Environment, folder: Path) -> dict[str, str]:
    """Return what came out for each column; "-" where an earlier step that it needs failed."""
    outcomes = dict.fromkeys(COLUMNS, "-")
    kernels: list[dict[str, str]] = []

    def imported() -> None:
        said = environment.run("-c", "import torch_npu; print(torch_npu.__version__)", cwd=folder)
        if said.split()[-1] != f"{release}+drynpu":
            raise Broken(f"torch_npu says that it is {said}")

    def built() -> None:
        environment.run("native", "build", program="drynpu")
        environment.run("native", "status", program="drynpu")

    def trained() -> None:
        kernels.extend(run_demo(environment, folder))

    steps: Mapping[str, Callable[[], None]] = {"native device": built, "import": imported, "demo": trained}
    for name, step in steps.items():
        print(f"{release}: {name}", flush=True)
        try:
            step()
        except Broken as broken:
            print(str(broken)[-6000:], flush=True)
            return outcomes | {name: "broken"}
        outcomes[name] = "works"
    with tempfile.TemporaryDirectory() as other:
        outcomes["kernels"] = differing(kernels, run_demo(Environment(ROOT / ".venv"), Path(other)))
    for name, paths in TESTS.items():
        print(f"{release}: {name}", flush=True)
        outcomes[name] = run_tests(environment, paths)
    return outcomes


def table(page: str) -> dict[str, dict[str, str]]:
    """Return the rows of the page: the cells of each release by their columns."""
    rows = re.findall(r"^\| (\d+\.\d+\.\d+) \|(.*)\|$", page, re.MULTILINE)
    return {release: dict(zip(COLUMNS, map(str.strip, cells.split("|")), strict=False)) for release, cells in rows}


def is_expected(outcome: str, cell: str | None) -> bool:
    """Return whether an outcome is good, or the one for which the cell of the page states a reason."""
    return outcome in GOOD if cell is None or "(" not in cell else outcome in (cell.partition(" (")[0], *GOOD)


def row(release: str, outcomes: Mapping[str, str], known: Mapping[str, str]) -> str:
    """Return the row of a release; the reasons that the page states for outcomes stay."""
    cells = [
        known[name] if known.get(name, "").startswith(f"{outcome} (") else outcome for name, outcome in outcomes.items()
    ]
    return f"| {' | '.join([release, *cells, dt.datetime.now().astimezone().date().isoformat()])} |"


def with_row(page: str, release: str, text: str) -> str:
    """Return the page with the row in place of the old one of its release, or behind the last older release."""
    lines = page.splitlines(keepends=True)
    places = {number: each for number, line in enumerate(lines) for each in table(line)}
    there = [number for number, each in places.items() if each == release]
    older = [number for number, each in places.items() if _numbers(each) < _numbers(release)]
    if there:
        lines[there[0]] = f"{text}\n"
    else:
        lines.insert(max(older, default=min(places) - 1) + 1, f"{text}\n")
    return "".join(lines)


def main() -> int:
    """Try the release, print its row and return the status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("release", help="as pip knows it, for example 2.10.0")
    parser.add_argument("--write", action="store_true", help="put the row into docs/install.md")
    parser.add_argument("--keep", action="store_true", help="do not remove the environment")
    options = parser.parse_args()
    release: str = options.release
    folder = ROOT / f".venv-torch-{release}"
    try:
        environment = make_environment(folder)
        with tempfile.TemporaryDirectory() as place:
            if not (environment.folder / "installed").exists():
                install(environment, release)
                (environment.folder / "installed").touch()
            outcomes = try_release(release, environment, Path(place))
    except Broken as broken:
        print(f"{release} cannot be installed:\n{broken}")
        return 1
    finally:
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)
    page = PAGE.read_text(encoding="utf-8")
    known = table(page).get(release, {})
    text = row(release, outcomes, known)
    print(text)
    if options.write:
        PAGE.write_text(with_row(page, release, text), encoding="utf-8")
    wrong = [name for name, outcome in outcomes.items() if not is_expected(outcome, known.get(name))]
    if wrong:
        print(f"{release} has other outcomes than docs/install.md states: {', '.join(wrong)}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
