"""Numbers of recorded tests in a file: written once, and what later runs are checked against."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import define, field, frozen

from drynpu import OutputError
from drynpu.writers.files import new_file
from drynpu_blocks.block_profile import BlockProfile

_LEAST_MS = 0.001
"""Growth of a time that nobody acts on."""
_VERSION = 1


@frozen
class Change:
    """One number of a test that is not as the baseline has it, with its unit; a kernel is named by its type."""

    what: str
    before: float
    now: float
    unit: str
    worse: bool

    def __str__(self) -> str:
        """Return what changed, both values and by how much."""
        digits = 3 if self.unit == "ms" else 0
        values = f"{self.before:.{digits}f} -> {self.now:.{digits}f} {self.unit}".rstrip()
        share = f" ({self.now / self.before - 1:+.1%})" if self.before else ""
        return f"{self.what}: {values}{share}"


def numbers_of(profile: BlockProfile) -> Mapping[str, object]:
    """Return the numbers that a baseline keeps: times in ms, memory in bytes, each type of kernel with both."""
    kernels: dict[str, dict[str, float]] = {}
    for share in profile.summary.kernels:
        kernel = kernels.setdefault(share.op_type, {"count": 0, "ms": 0.0})
        kernel["count"] += share.count
        kernel["ms"] = round(kernel["ms"] + (share.total_us or 0.0) / 1000, 6)
    return {
        "chip": profile.summary.chip,
        "step_ms": round(profile.step_ms, 6),
        "kernel_ms": round(profile.kernel_ms, 6),
        "peak_bytes": profile.summary.peak_allocated_bytes,
        "kernels": dict(sorted(kernels.items())),
    }


@define
class Baseline:
    """
    The numbers of tests by their names, in a JSON file.

    Parameters
    ----------
    path:
        The file. Where there is none, every test is new.
    tolerance:
        Share by which a time or the memory may grow. Counts of kernels may not grow.
    update:
        Whether the numbers of this run replace those in the file.
    """

    path: Path
    tolerance: float
    update: bool = False
    known: Mapping[str, Mapping[str, object]] = field(factory=dict)
    seen: dict[str, Mapping[str, object]] = field(factory=dict)
    better: dict[str, list[Change]] = field(factory=dict)
    absent: bool = True
    """Whether the file was not there when the run began."""

    def load(self) -> Baseline:
        """
        Read the file, if there is one.

        Raises
        ------
        OutputError
            The file is no baseline.
        """
        try:
            document = json.loads(self.path.read_text(encoding="utf-8"))
            self.known, self.absent = document["tests"], False
        except FileNotFoundError:
            pass
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise OutputError(f"{self.path} is no baseline that --npu-baseline has written: {error}") from error
        return self

    def check(self, test: str, numbers: Mapping[str, object]) -> str:
        """Keep the numbers of a test; return why they fail it, ``""`` where they do not."""
        self.seen[test] = numbers
        before = self.known.get(test)
        if before is None or self.update:
            return ""
        if before["chip"] != numbers["chip"]:
            return (
                f"{test} cannot be checked: {self.path} has it on {before['chip']}, it ran on {numbers['chip']}; "
                "use a file for each chip, or --npu-baseline-update"
            )
        changes = [*_changes(before, numbers, self.tolerance)]
        worse = [str(change) for change in changes if change.worse]
        if worse:
            head = f"{test} is worse than {self.path} allows (times and memory +{self.tolerance:.0%}, no more kernels):"
            return "\n  ".join([head, *worse, "If that is meant: --npu-baseline-update"])
        if changes:
            self.better[test] = changes
        return ""

    @property
    def new(self) -> list[str]:
        """Tests of this run that the file does not have."""
        return [test for test in self.seen if test not in self.known]

    def store(self) -> bool:
        """Write the file where it was absent or is to be updated; return whether it was written."""
        if not self.seen or not (self.absent or self.update):
            return False
        tests = dict(sorted({**self.known, **self.seen}.items()))
        text = json.dumps({"version": _VERSION, "tests": tests}, indent=1) + "\n"
        with new_file(self.path) as out:
            out.write(text.encode())
        return True


def _changes(before: Mapping[str, Any], now: Mapping[str, Any], tolerance: float) -> Iterator[Change]:
    """Yield what changed by more than *tolerance*, what a kernel costs after what it adds up to."""
    yield from _grown("step", before["step_ms"], now["step_ms"], "ms", tolerance)
    yield from _grown("all kernels", before["kernel_ms"], now["kernel_ms"], "ms", tolerance)
    yield from _grown("peak memory", before["peak_bytes"] or 0, now["peak_bytes"] or 0, "bytes", tolerance)
    none = {"count": 0, "ms": 0.0}
    for kind in {**before["kernels"], **now["kernels"]}:
        one, other = before["kernels"].get(kind, none), now["kernels"].get(kind, none)
        yield from _grown(f"kernels {kind}", one["count"], other["count"], "calls", 0)
        # The time of more calls is longer in any case.
        if one["count"] == other["count"]:
            yield from _grown(f"kernels {kind}", one["ms"], other["ms"], "ms", tolerance)


def _grown(what: str, before: float, now: float, unit: str, tolerance: float) -> Iterator[Change]:
    least = _LEAST_MS if unit == "ms" else 0
    if abs(now - before) > max(before * tolerance, least):
        yield Change(what, before, now, unit, now > before)
