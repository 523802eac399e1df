"""
Change one fact or one piece of logic at a time, run the tests that should notice, and print what survives.

    python tests/mutation/mutants.py facts [--sample N]     # vendor constants: facts.py of each record group, raw, YAML
    python tests/mutation/mutants.py logic [--sample N]     # operators, comparisons, roundings of the core's own logic

Each mutant runs in a forked child that compiles the changed source in place of the file, so that nothing on disk
changes and libraries are imported once. A fact has to be caught by the tests of facts beside it. Logic has to be caught
by a test file of its room that calls the changed function, the module's own file first, then the quickest; what the
room's own tests miss may be caught by those that compare whole results with approved ones, and by those that export
whole profiles. The first failure ends a mutant. The exit status is 1 if a fact survives, or less than 90 % of the logic
mutants are caught.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import gc
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import io
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from attrs import frozen

sys.path.insert(0, str(Path(__file__).parent))
from changes import (
    CORE,
    LOGIC_ROOMS,
    ROOT,
    TESTS,
    Mutant,
    fact_files,
    fact_mutants,
    fact_tests,
    logic_files,
    logic_mutants,
)

LIMIT_CPU_S = 120
"""Processor time after which a mutant counts as caught because its tests hang; none of them takes half of this."""
LIMIT_S = 1800
"""The same of the clock on the wall, for tests that sleep for ever; other work may share this machine."""
NEEDED = 0.9
"""Share of the logic mutants that tests have to catch."""
TESTED_IN = dict.fromkeys(LOGIC_ROOMS, ("approved",)) | dict.fromkeys(
    ("analysis", "deliverables", "tables"), ("approved", "export")
)
"""Folders of tests that count for a room besides its own: whole results are compared there with approved ones."""


@frozen
class Traced:
    """One test file: the first lines of the functions that it calls, by file of the core, and its processor time."""

    test: Path
    passed: bool
    seconds: float
    called: Mapping[str, Sequence[int]]

    def calls(self, mutant: Mutant) -> bool:
        """Say whether a test of the file calls the function that a mutant changes."""
        first, last = mutant.function
        return any(first <= line <= last for line in self.called.get(str(mutant.path), ()))


# ------------------------------------------------------------------------------------------------------ children


class _Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Import one module from a changed source."""

    def __init__(self, name: str, mutant: Mutant) -> None:
        self.name, self.mutant = name, mutant

    def find_spec(self, name: str, path: object = None, target: object = None) -> importlib.machinery.ModuleSpec | None:
        if name != self.name:
            return None
        return importlib.util.spec_from_file_location(name, self.mutant.path, loader=self)

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self.mutant.source, str(self.mutant.path), "exec"), module.__dict__)


def in_child(work: Callable[[], int]) -> int:
    """Return the exit status of a function in a forked child; a child that hangs is killed and returns 1."""
    child = os.fork()
    if child == 0:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (LIMIT_CPU_S, LIMIT_CPU_S))
        with Path(os.devnull).open("w") as nothing:
            os.dup2(nothing.fileno(), 1)
            os.dup2(nothing.fileno(), 2)
        os._exit(work())
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return int(status != 0)
        time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return 1


def is_caught(mutant: Mutant, tests: Sequence[Path]) -> bool:
    """Return whether one of the test files fails with a mutant."""
    return bool(tests) and in_child(lambda: _judge(mutant, tests)) != 0


def _judge(mutant: Mutant, tests: Sequence[Path]) -> int:
    if mutant.path.suffix == ".yaml":
        original = Path.read_text

        def read_text(path: Path, *arguments: Any, **keywords: Any) -> str:
            return mutant.source if path == mutant.path else original(path, *arguments, **keywords)

        Path.read_text = read_text  # type: ignore[method-assign]
    else:
        name = ".".join(mutant.path.relative_to(CORE.parent).with_suffix("").parts)
        if name in sys.modules:
            _forget("drynpu")
        sys.meta_path.insert(0, _Changed(name, mutant))
    for test in tests:
        if not _passes(test, facts=mutant.path in fact_files()):
            return 1
        _forget("tests", "conftest")
    return 0


def _passes(test: Path, *, facts: bool, more: Sequence[str] = ()) -> bool:
    """Run one test file. Tests of facts do without the recordings that conftest.py of the core makes."""
    import pytest

    options = ["-x", "-q", "--no-header", "-p", "no:cacheprovider", "--hypothesis-seed=0", *more]
    if facts:
        options.append(f"--confcutdir={TESTS / test.relative_to(TESTS).parts[0]}")
    return pytest.main([*options, str(test)]) in (0, 5)


def _forget(*prefixes: str) -> None:
    for name in [name for name in sys.modules if name.startswith(prefixes)]:
        del sys.modules[name]


def _warm() -> None:
    """Import what all children need, pytest's plugins too; what a mutant changes is imported anew in its child."""
    for name in ("attrs", "cattrs", "numpy", "polars", "pytest", "yaml", "drynpu.platforms", "drynpu.raw"):
        importlib.import_module(name)
    with contextlib.redirect_stdout(io.StringIO()):
        _passes(TESTS / "raw" / "test_ids.py", facts=True, more=["--collect-only"])
    _forget("tests", "conftest")
    gc.freeze()


# ------------------------------------------------------------------------------------------------------- tracing


def traced(test: Path) -> Traced:
    """Run a test file unchanged in a child and return what it calls."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "called.json"
        status = in_child(lambda: _trace(test, answer))
        document = json.loads(answer.read_text()) if answer.exists() else {}
    return Traced(test, status == 0, document.get("seconds", 0.0), document.get("called", {}))


def _trace(test: Path, answer: Path) -> int:
    seen: dict[int, CodeType] = {}

    def note(frame: Any, event: str, argument: object) -> None:
        if event == "call":
            seen[id(frame.f_code)] = frame.f_code

    begin = time.process_time()
    sys.setprofile(note)
    passed = _passes(test, facts=False)
    sys.setprofile(None)
    called: dict[str, list[int]] = {}
    for code in seen.values():
        if code.co_filename.startswith(str(CORE)):
            called.setdefault(code.co_filename, []).append(code.co_firstlineno)
    answer.write_text(json.dumps({"seconds": time.process_time() - begin, "called": called}))
    return int(not passed)


def nearest(mutant: Mutant, all_traced: Sequence[Traced]) -> list[Path]:
    """Return the test files that call the changed function: the module's own first, then the quickest."""
    nearest = f"test_{mutant.path.stem.lstrip('_')}.py"
    calling = [each for each in all_traced if each.calls(mutant)]
    return [each.test for each in sorted(calling, key=lambda each: (each.test.name != nearest, each.seconds))]


# ------------------------------------------------------------------------------------------------------- running


def fact_survivors(mutants: Sequence[Mutant]) -> Iterator[tuple[Mutant, bool]]:
    """Yield each mutant of a fact and whether it survived its tests, which have to pass without any change."""
    for path in {mutant.path: None for mutant in mutants}:
        tests = fact_tests(path)
        if is_caught(Mutant(path, 0, "unchanged", path.read_text()), tests):
            raise SystemExit(f"tests of {path.relative_to(ROOT)} fail without any change")
        yield from ((mutant, not is_caught(mutant, tests)) for mutant in mutants if mutant.path == path)


def logic_survivors(mutants: Sequence[Mutant]) -> Iterator[tuple[Mutant, bool]]:
    """Yield each mutant of logic and whether it survived the tests that call it, those of its room before others."""
    left: list[Mutant] = []
    for mutant in mutants:
        if is_caught(mutant, nearest(mutant, traced_folder(TESTS / _room(mutant)))):
            yield mutant, False
        else:
            left.append(mutant)
    for mutant in left:
        others = [each for folder in TESTED_IN.get(_room(mutant), ()) for each in traced_folder(TESTS / folder)]
        yield mutant, not is_caught(mutant, nearest(mutant, others))


def _room(mutant: Mutant) -> str:
    return mutant.path.relative_to(CORE).parts[0]


@functools.cache
def traced_folder(folder: Path) -> list[Traced]:
    """Trace the test files of a folder, which have to pass without any change."""
    found = [traced(test) for test in sorted(folder.rglob("test_*.py"))]
    failing = [str(each.test.relative_to(ROOT)) for each in found if not each.passed]
    if failing:
        raise SystemExit(f"tests fail without any change: {', '.join(failing)}")
    print(f"... {folder.name}: {len(found)} test files take {sum(each.seconds for each in found):.0f} s", flush=True)
    return found


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=("facts", "logic"))
    parser.add_argument("--sample", type=int, help="run N mutants only, chosen by --seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="part of the path of the files to change")
    options = parser.parse_args(argv)
    files = fact_files() if options.kind == "facts" else logic_files()
    change = fact_mutants if options.kind == "facts" else logic_mutants
    mutants = [mutant for path in files if options.only in str(path) for mutant in change(path)]
    total = len(mutants)
    if options.sample is not None and options.sample < total:
        mutants = sorted(random.Random(options.seed).sample(mutants, options.sample), key=lambda each: each.place)
    _warm()
    survivors = []
    judged = fact_survivors(mutants) if options.kind == "facts" else logic_survivors(mutants)
    for number, (mutant, survived) in enumerate(judged, 1):
        if survived:
            survivors.append(mutant)
            print(f"survived  {mutant.place}", flush=True)
        if number % 25 == 0:
            print(f"... {number} of {len(mutants)}, {len(survivors)} survived", flush=True)
    share = 1 - len(survivors) / max(len(mutants), 1)
    print(f"{options.kind}: {len(mutants)} of {total} mutants, {len(mutants) - len(survivors)} caught ({share:.0%})")
    return int(bool(survivors) if options.kind == "facts" else share < NEEDED)


if __name__ == "__main__":
    sys.exit(main())
