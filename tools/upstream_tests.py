"""
Run the vendor's own tests of the npu on drynpu's device, and print what passes of each file.

    python tools/upstream_tests.py CHECKOUT [--folder test/npu] [--files NAME ...] [--together 1] [--markdown FILE]

CHECKOUT is one of Ascend/pytorch. A copy of its tests runs, ``--together`` files in one process each.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from attrs import field, frozen

TEST_SECONDS, PROCESS_SECONDS = 60, 420
_TEST = re.compile(r"^(\w+\.py)(?:::\S+)? (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)\b", re.MULTILINE)
_SUMMARY = re.compile(r"^(?:FAILED|ERROR) (\w+\.py)\S* - (.*)$", re.MULTILINE)
_NUMBERS = re.compile(r"0x[0-9a-f]+|\b\d+\b")
_MOST_TEXT, _MOST_REASONS = 110, 3


@frozen
class Outcome:
    """How the tests of one file ended, and what the failed ones said."""

    file: str
    counts: Mapping[str, int]
    said: Mapping[str, int] = field(factory=dict)

    @property
    def line(self) -> str:
        """A row of the table."""
        failed = self.counts.get("FAILED", 0) + self.counts.get("ERROR", 0)
        shown = Counter(self.said).most_common(_MOST_REASONS)
        why = "; ".join(f"{text} ({number})" if number > 1 else text for text, number in shown)
        return (
            f"| `{self.file}` | {self.counts.get('PASSED', 0)} | {failed} | {self.counts.get('SKIPPED', 0)} | {why} |"
        )


def run_files(folder: Path, names: Sequence[str]) -> Iterator[Outcome]:
    """Run the tests of some files in one process."""
    command = [sys.executable, "-m", "pytest", "-v", "-rfE", "-p", "no:cacheprovider", "--tb=no"]
    environment = {**os.environ, "DRYNPU_QUIET": "1", "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "250"}
    with subprocess.Popen(
        [*command, "--continue-on-collection-errors", f"--timeout={TEST_SECONDS}", *names],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        try:
            output = process.communicate(timeout=PROCESS_SECONDS)[0]
            ended = f"the process ended with {process.returncode}"
        except subprocess.TimeoutExpired:
            process.kill()
            output, ended = process.communicate()[0], f"not done after {PROCESS_SECONDS} s"
    output = output.replace(f"{folder.parents[1]}/", "")
    counts, said = defaultdict[str, Counter[str]](Counter), defaultdict[str, Counter[str]](Counter)
    for name, end in _TEST.findall(output):
        counts[name][end] += 1
    for name, text in _SUMMARY.findall(output):
        said[name][_NUMBERS.sub("N", text)[:_MOST_TEXT].replace("|", "/").replace("<", "&lt;")] += 1
    for name in names:
        yield Outcome(name, counts[name], said[name] if counts[name] or said[name] else {ended: 1})


def main() -> int:
    """Run the files and print a row for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--folder", default="test/npu")
    parser.add_argument("--files", nargs="*", default=[])
    parser.add_argument("--together", type=int, default=1)
    parser.add_argument("--markdown", type=Path)
    arguments = parser.parse_args()
    lines = ["| file | passed | failed | skipped | why |", "| --- | ---: | ---: | ---: | --- |"]
    total: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as scratch:
        # Away from the checkout's torch_npu, which would be imported from the current folder.
        shutil.copytree(arguments.checkout / "test", Path(scratch) / "test")
        folder = Path(scratch) / arguments.folder
        names = arguments.files or sorted(path.name for path in folder.glob("test_*.py"))
        for first in range(0, len(names), arguments.together):
            for outcome in run_files(folder, names[first : first + arguments.together]):
                total.update(outcome.counts)
                lines.append(outcome.line)
                sys.stdout.write(f"{outcome.line}\n")
                sys.stdout.flush()
    sys.stdout.write(f"{len(names)} files: {', '.join(f'{number} {end}' for end, number in total.most_common())}\n")
    if arguments.markdown:
        arguments.markdown.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
