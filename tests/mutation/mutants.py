"""
Change one fact or one piece of logic at a time, run the tests that should notice, and print what survives.

    python tests/mutation/mutants.py facts [--sample N]     # vendor constants: facts.py of each record group, raw, YAML
    python tests/mutation/mutants.py logic [--sample N]     # operators, comparisons, roundings of the core's own logic

Each mutant runs in a forked child that compiles the changed source in place of the file, so that nothing on disk
changes and libraries are imported once. A fact has to be caught by the tests of facts beside it. Logic has to be caught
by a test file that runs the changed line: one in the folders that mirror the module's, or one that compares
whole results with approved ones; the module's own file is run first, then the quickest. The first failure ends it.
Changes that provably change no result are named with the reason in equivalent.yaml and counted apart. The exit status
is 1 if a fact survives, or less than 90 % of the logic mutants are caught.
"""

from __future__ import annotations

import argparse
import functools
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).parent))
from changes import (
    CORE,
    ROOT,
    TESTS,
    Mutant,
    fact_files,
    fact_mutants,
    fact_tests,
    logic_files,
    logic_mutants,
)
from running import Traced, is_caught, traced, warm

EQUIVALENT = Path(__file__).with_name("equivalent.yaml")
"""Changes of logic that change no result, each with the reason, by file."""
NEEDED = 0.9
"""Share of the logic mutants that tests have to catch."""
TESTED_IN = ("approved",)
"""Folders of tests that count for every file besides its own: whole results are compared there with approved ones."""


def nearest(mutant: Mutant, all_traced: Sequence[Traced]) -> list[Path]:
    """Return the test files that run the changed lines: the module's own first, then the quickest."""
    nearest = f"test_{mutant.path.stem.lstrip('_')}.py"
    running = [each for each in all_traced if each.runs(mutant)]
    return [each.test for each in sorted(running, key=lambda each: (each.test.name != nearest, each.seconds))]


def fact_survivors(mutants: Sequence[Mutant]) -> Iterator[tuple[Mutant, bool]]:
    """Yield each mutant of a fact and whether it survived its tests, which have to pass without any change."""
    for path in {mutant.path: None for mutant in mutants}:
        tests = fact_tests(path)
        if is_caught(Mutant(path, 0, "unchanged", path.read_text()), tests):
            raise SystemExit(f"tests of {path.relative_to(ROOT)} fail without any change")
        yield from ((mutant, not is_caught(mutant, tests)) for mutant in mutants if mutant.path == path)


def logic_survivors(mutants: Sequence[Mutant]) -> Iterator[tuple[Mutant, bool]]:
    """Yield each mutant of logic and whether it survived the tests that run its lines."""
    for mutant in mutants:
        tests = [test for folder in test_folders(mutant.path) for test in traced_folder(folder, mutant.path)]
        yield mutant, not is_caught(mutant, nearest(mutant, tests))


def test_folders(path: Path) -> list[Path]:
    """Return the folders whose tests count for a file: those that mirror its own ones, and approved results."""
    parts = path.relative_to(CORE).parts[:-1]
    mirrored = [TESTS.joinpath(*parts[:depth]) for depth in range(1, len(parts) + 1)]
    return [*(folder for folder in mirrored if folder.is_dir()), *(TESTS / name for name in TESTED_IN)]


def sampled(mutants: Sequence[Mutant], count: int, seed: int) -> tuple[list[Mutant], list[Mutant]]:
    """
    Draw mutants by chance until there are *count* that can be caught; return these and those that cannot.

    They stay in the order in which they were drawn: what is known of the first of them is a sample as well.
    """
    chosen: list[Mutant] = []
    equal: list[Mutant] = []
    for mutant in random.Random(seed).sample(mutants, len(mutants)):
        if len(chosen) < count:
            (equal if is_equivalent(mutant) else chosen).append(mutant)
    return chosen, equal


def is_equivalent(mutant: Mutant) -> bool:
    """Say whether a change stands among those that change no result."""
    return mutant.note in equivalent().get(str(mutant.path.relative_to(ROOT)), {})


@functools.cache
def equivalent() -> dict[str, dict[str, str]]:
    """Return the reason why each change changes no result, by the note of the change, by file."""
    document: dict[str, dict[str, str]] = yaml.safe_load(EQUIVALENT.read_text()) or {}
    return document


@functools.cache
def traced_folder(folder: Path, path: Path) -> list[Traced]:
    """Return what the test files of a folder run, lines of a file of the core for sure; all of them have to pass."""
    found = [traced(test, path) for test in sorted(folder.glob("test_*.py"))]
    failing = [str(each.test.relative_to(ROOT)) for each in found if not each.passed]
    if failing:
        raise SystemExit(f"tests fail without any change: {', '.join(failing)}")
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
    mutants, equal = sampled(mutants, min(options.sample or total, total), options.seed)
    for mutant in equal:
        print(f"changes no result, not counted  {mutant.place}")
    warm()
    survivors = []
    judged = fact_survivors(mutants) if options.kind == "facts" else logic_survivors(mutants)
    for number, (mutant, survived) in enumerate(judged, 1):
        if survived:
            survivors.append(mutant)
            print(f"survived  {mutant.place}", flush=True)
        if number % 10 == 0:
            print(f"... {number} of {len(mutants)}, {len(survivors)} survived", flush=True)
    share = 1 - len(survivors) / max(len(mutants), 1)
    print(f"{options.kind}: {len(mutants)} of {total} mutants, {len(mutants) - len(survivors)} caught ({share:.0%})")
    return int(bool(survivors) if options.kind == "facts" else share < NEEDED)


if __name__ == "__main__":
    sys.exit(main())
