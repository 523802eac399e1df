"""
Run test files in forked children: with a changed source in place of one of the core, or traced, to learn what they run.

Nothing on disk changes, and libraries are imported once.
"""

from __future__ import annotations

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
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

from attrs import frozen
from changes import CORE, ROOT, TESTS, Mutant, fact_files

LIMIT_CPU_S = 600
"""Processor time after which a mutant counts as caught because its tests hang; all of a room take a third of this."""
LIMIT_S = 1800
"""The same of the clock on the wall, for tests that sleep for ever; other work may share this machine."""
KEPT = ROOT / "build" / "mutants"
"""Keeps which lines each test file runs; tracing all of them takes longer than most samples of mutants."""


@frozen
class Traced:
    """One test file: the lines inside functions that it runs, by file of the core, and its processor time."""

    test: Path
    passed: bool
    seconds: float
    lines: Mapping[str, Sequence[int]]

    def runs(self, mutant: Mutant) -> bool:
        """Say whether a test of the file runs a line that a mutant changes."""
        return any(
            mutant.line <= line <= mutant.last for line in self.lines.get(str(mutant.path.relative_to(ROOT)), ())
        )


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
    if mutant.path in fact_files():
        groups = [[test] for test in tests]
    else:  # most are caught by the first; the others share what their folders record
        groups = [group for group in (tests[:1], tests[1:]) if group]
    for group in groups:
        if not _passes(*group, facts=mutant.path in fact_files()):
            return 1
        _forget("tests", "conftest")
    return 0


def _passes(*tests: Path, facts: bool, more: Sequence[str] = ()) -> bool:
    """Run test files. Tests of facts do without the recordings that conftest.py of the core makes."""
    import pytest

    options = ["-x", "-q", "--no-header", "-p", "no:cacheprovider", "--hypothesis-seed=0", *more]
    if facts:
        options.append(f"--confcutdir={TESTS / tests[0].relative_to(TESTS).parts[0]}")
    return pytest.main([*options, *map(str, tests)]) in (0, 5)


def _forget(*prefixes: str) -> None:
    for name in [name for name in sys.modules if name.startswith(prefixes)]:
        del sys.modules[name]


def warm() -> None:
    """Import what all children need, pytest's plugins too; what a mutant changes is imported anew in its child."""
    for name in ("attrs", "cattrs", "numpy", "polars", "pytest", "yaml", "drynpu.platforms", "drynpu.raw"):
        importlib.import_module(name)
    with contextlib.redirect_stdout(io.StringIO()):
        _passes(TESTS / "raw" / "test_ids.py", facts=True, more=["--collect-only"])
    _forget("tests", "conftest")
    gc.freeze()


# ------------------------------------------------------------------------------------------------------- tracing


def traced(test: Path, path: Path) -> Traced:
    """
    Return what a test file runs of the core; it runs unchanged in a child.

    What was learned before counts if neither the test, nor what it shares with others, nor the core's file at *path*
    changed since. Changes elsewhere can at most hide that the test runs lines of it.
    """
    kept = KEPT / f"{test.stem}-{_digest(_shared(test.relative_to(TESTS).parts[0]))}-{_digest((test,))}.json"
    document = json.loads(kept.read_text()) if kept.exists() else {}
    if not document or document["files"].get(str(path.relative_to(ROOT))) not in (None, _digest((path,))):
        KEPT.mkdir(parents=True, exist_ok=True)
        kept.unlink(missing_ok=True)
        status = in_child(lambda: _trace(test, kept))
        document = json.loads(kept.read_text()) if status == 0 else {}
    return Traced(test, bool(document), document.get("seconds", 0.0), document.get("lines", {}))


@functools.cache
def _digest(paths: Sequence[Path]) -> str:
    digest = sha256()
    for path in paths:
        digest.update(bytes(path.relative_to(ROOT)) + path.read_bytes())
    return digest.hexdigest()[:16]


@functools.cache
def _shared(folder: str) -> Sequence[Path]:
    """Return the modules that tests of a folder share."""
    files = {*TESTS.glob("*.py"), *(TESTS / folder).rglob("*.py")}
    return tuple(sorted(path for path in files if not path.name.startswith("test_")))


def _trace(test: Path, answer: Path) -> int:
    unseen: dict[int, tuple[CodeType, set[int]]] = {}

    def on_call(frame: FrameType, event: str, argument: object) -> Callable[..., Any] | None:
        code = frame.f_code
        if id(code) not in unseen:
            ours = code.co_filename.startswith(str(CORE))
            unseen[id(code)] = code, {line for *_, line in code.co_lines() if line} if ours else set()
        return on_line if unseen[id(code)][1] else None

    def on_line(frame: FrameType, event: str, argument: object) -> Callable[..., Any]:
        left = unseen[id(frame.f_code)][1]
        left.discard(frame.f_lineno)
        if not left:
            frame.f_trace_lines = False  # a loop is traced until all its lines were seen
        return on_line

    begin = time.process_time()
    threading.settrace(on_call)
    sys.settrace(on_call)
    passed = _passes(test, facts=False)
    sys.settrace(None)
    threading.settrace(None)  # type: ignore[arg-type]
    lines: dict[str, set[int]] = {}
    for code, left in unseen.values():
        if code.co_filename.startswith(str(CORE)):
            seen = {line for *_, line in code.co_lines() if line} - left
            lines.setdefault(str(Path(code.co_filename).relative_to(ROOT)), set()).update(seen)
    document = {path: sorted(numbers) for path, numbers in lines.items()}
    files = {path: _digest((ROOT / path,)) for path in document}
    answer.write_text(json.dumps({"seconds": time.process_time() - begin, "files": files, "lines": document}))
    return int(not passed)
