"""Only one module asks what machine this is; the rest of drynpu asks that module."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PARTS = ("core", "adapters", "plugins")
HOST = ROOT / "core" / "drynpu" / "host.py"
QUESTIONS = {
    "sys": re.compile("platform|getwindowsversion"),
    "os": re.compile(r"name|uname|fork\w*|eventfd|pidfd_open|sched_\w+|memfd_create|sysconf"),
    "platform": re.compile("system|machine|uname|architecture|libc_ver"),
    "socket": re.compile("SO_PEERCRED"),
    "time": re.compile(r"CLOCK_\w+"),
    "resource": re.compile("getrusage"),
}
"""Names of modules of Python whose values, or which themselves, are different or absent on some system."""
ASKED = {"os", "time", "socket", "signal", "resource"}
FOLDERS_OF_LINUX = ("/proc", "/sys/", "/dev/shm", "/dev/fd")
FUNCTIONS_OF_LINUX = {"malloc_trim", "prctl", "gettid"}
ONE_SYSTEM = re.compile(
    r"__(linux|APPLE|MACH|x86_64|aarch64|arm64)|\bSYS_\w+|syscall\(|\"/proc|\bdup3\(|\bpthread_threadid"
)
"""What C++ says where systems differ."""
HOST_HEADERS = {"host.h", "delays.h"}


def sources() -> list[Path]:
    return [path for part in PARTS for path in (ROOT / part).rglob("*.py") if "__pycache__" not in path.parts]


def is_question(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute):
        names = QUESTIONS.get(node.value.id) if isinstance(node.value, ast.Name) else None
        return node.attr in FUNCTIONS_OF_LINUX or (names is not None and names.fullmatch(node.attr) is not None)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("hasattr", "getattr"):
        return isinstance(node.args[0], ast.Name) and node.args[0].id in ASKED
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith(FOLDERS_OF_LINUX)


def questions(text: str) -> Iterator[int]:
    """Lines that ask what kind of machine this is, or read a folder that only some have; docstrings may name them."""
    nodes = list(ast.walk(ast.parse(text)))
    documented = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if is_question(node) and not (isinstance(node, ast.Constant) and id(node) in documented):
            yield node.lineno  # type: ignore[attr-defined]


def test_only_one_module_asks_what_machine_this_is() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}" for path in sources() if path != HOST for line in questions(path.read_text())
    ]
    assert not wrong, "ask drynpu.host:\n" + "\n".join(wrong)


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ('if sys.platform == "darwin": ...', 1),
        ("kind = platform.machine()", 1),
        ('free = hasattr(os, "sched_getaffinity") and len(os.sched_getaffinity(0))', 2),
        ('_STAT = Path("/proc/self/stat")', 1),
        ("library.prctl(1, 9)", 1),
        ('"""/proc is read."""', 0),
        ("folder = os.getcwd()", 0),
    ],
)
def test_questions_are_counted(code: str, count: int) -> None:
    assert len(list(questions(code))) == count


def test_only_two_headers_ask_what_machine_this_is() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{number}"
        for part in PARTS[1:]
        for path in (ROOT / part).rglob("native/*")
        if path.suffix in (".h", ".cpp") and path.name not in HOST_HEADERS
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if ONE_SYSTEM.search(line.partition("//")[0])
    ]
    assert not wrong, "\n".join(wrong)


def test_names_of_files_differ_in_more_than_case() -> None:
    """Of two files whose names differ in case alone macOS keeps one."""
    for part in (*PARTS, "docs", "tests", "examples", "tools"):
        names = [str(path) for path in (ROOT / part).rglob("*") if "__pycache__" not in path.parts]
        assert len({name.casefold() for name in names}) == len(names)
