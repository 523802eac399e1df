"""
Check docs/lists/coverage-*.yaml against the code, and write the tables docs/lists/coverage-*.md from them.

``python docs/generate_coverage.py`` writes, ``--check`` only compares; both end with status 1 and one line per problem
where the list says something about a name that the code does not bear out. ``--page NAME`` takes one list (its
framework has to be installed), ``--list FILE`` and ``--table FILE`` other files for it.
"""
# ruff: noqa: INP001

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import importlib.util
import inspect
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TypeGuard

import yaml
from attrs import field, frozen

DOCS = Path(__file__).resolve().parent
LISTS = DOCS / "lists"

SHOWN = {
    "done": "done",
    "recorded": "recorded",
    "accepted": "later",
    "taken": "by design not",
    "later": "later",
    "not": "by design not",
}
THERE = ("done", "recorded", "accepted", "taken")
NO_EFFECT = "taken and checked, has no effect yet"
RUNS = re.compile(r"\b(scripts|programs|without_mindspore|torchrun|run_ranks|subprocess)\b")
"""What a test of these needs to run a script in a process of its own."""


@frozen(kw_only=True)
class Page:
    """
    One table: what it is called, what it says of itself, and where code may read environment variables.

    With a folder of ``tests`` every name that is there has to be shown by one of them (``shown_by`` of its section).
    """

    title: str
    about: tuple[str, ...]
    sources: tuple[str, ...]
    tests: str | None = None


PAGES = {
    "torch": Page(
        title="Coverage of torch_npu.profiler",
        about=(
            "The names of `torch_npu.profiler` 2.13 and of the modules around it. *done*: does what the vendor's",
            "does. *later*: missing, or accepted without effect; the note says which. *by design not*: missing, or",
            "accepted and checked without effect; the note says why. A test checks that drynpu has exactly the names",
            "that this page says it has. The last column names a test below `tests/torch`, or of a plugin below",
            "`tests`, that runs a script as a user would.",
        ),
        sources=("core/drynpu", "adapters/torch", "plugins"),
        tests="tests/torch",
    ),
    "mindspore": Page(
        title="Coverage of mindspore.profiler",
        about=(
            "The names of `mindspore.profiler` 2.7.2, of older releases' profilers, and of `mindspore_like`. *done*:",
            "does what the vendor's does. *recorded*: checked and kept as in the vendor's package, without its",
            "effect. *by design not*: missing; the note says why. A test checks that drynpu has exactly the names",
            "that this page says it has. The last column names a test below `tests/mindspore`, or of a plugin below",
            "`tests`, that runs a script as a user would and fails where the name stops doing what its row says; what",
            "is only kept, it reads back.",
        ),
        sources=("core/drynpu", "adapters/mindspore_like", "plugins"),
        tests="tests/mindspore",
    ),
    "tensorflow": Page(
        title="Coverage of npu_bridge and npu_device",
        about=(
            "The names of the TensorFlow adapters for NPUs, `npu_bridge` (TensorFlow 1) and `npu_device` (2), and of",
            "`hccl` as far as their scripts import it. *done*: does what the vendor's does, or its equivalent in one",
            "process on a CPU (see the note). *recorded*: kept where the vendor keeps it, without use on a simulated",
            "device. *later*: missing, or without the vendor's effect. *by design not*: missing; the note says why. A",
            "test checks that drynpu has exactly the names that this page says it has. The last column names a test",
            "below `tests/tf` that runs a script as a user would and fails where the name stops doing what its row",
            "says; what is only kept, it reads back.",
        ),
        sources=("core/drynpu", "adapters/tf"),
        tests="tests/tf",
    ),
    "pyacl": Page(
        title="Coverage of pyACL",
        about=(
            "The names of pyACL (module `acl`) for profiling, and of the runtime that such programs use. *done*: does",
            "what the vendor's does, or its equivalent on a CPU (see the note). *recorded*: exists and is empty.",
            "*later*: missing. *by design not*: missing; the note says why. A test checks that drynpu has exactly the",
            "names that this page says it has. The last column names a test below `tests/acl`, or of a plugin below",
            "`tests`, that runs a program as a user would and fails where the name stops doing what its row says.",
        ),
        sources=("core/drynpu", "adapters/acl", "plugins"),
        tests="tests/acl",
    ),
}


@frozen(kw_only=True)
class Name:
    """One name of a section; ``value`` is what it has to be, ``None`` for anything."""

    name: str
    status: str
    note: str = ""
    value: object = None


@frozen(kw_only=True)
class Section:
    """Names that are found in one place."""

    title: str
    kind: str
    """``owner``, ``parameters_of``, ``instance_of`` or ``environment``."""
    where: str
    names: tuple[Name, ...]
    shown_by: Mapping[str, tuple[str, ...]]
    """Tests, as ``file::function`` below the page's folder of tests or as ``plugins/...``, and what each shows."""
    arguments: Mapping[str, object] = field(factory=dict)

    def tests_of(self, name: str) -> list[str]:
        """Return the tests that show a name."""
        return [test for test, names in self.shown_by.items() if name in names]


def read(path: Path) -> list[Section]:
    """Return the sections of a list. Raises ``SystemExit`` for a status or a place that does not exist."""
    sections = []
    for entry in yaml.safe_load(path.read_text(encoding="utf-8")):
        kind = next((key for key in ("owner", "parameters_of", "instance_of", "environment") if key in entry), "")
        names = tuple(
            Name(name=name, **({"status": told} if isinstance(told, str) else told))
            for name, told in entry["names"].items()
        )
        bad = [name for name in names if name.status not in SHOWN]
        if bad or not kind:
            raise SystemExit(f"{path}: {entry['title']}: {bad or 'no place is given'}; statuses: {', '.join(SHOWN)}")
        shown_by = {test: tuple(shown.split()) for test, shown in entry.get("shown_by", {}).items()}
        sections.append(
            Section(
                title=entry["title"],
                kind=kind,
                where=str(entry[kind]),
                names=names,
                shown_by=shown_by,
                arguments=entry.get("arguments", {}),
            )
        )
    return sections


def resolve(dotted: str) -> object:
    """Return the object behind a dotted path, importing modules on the way; ``LookupError`` where it ends."""
    parts = dotted.split(".")
    value: object = importlib.import_module(parts[0])
    for number, part in enumerate(parts[1:], start=2):
        if not hasattr(value, part):
            with contextlib.suppress(ImportError):
                importlib.import_module(".".join(parts[:number]))
        try:
            value = getattr(value, part)
        except AttributeError as error:
            raise LookupError(dotted) from error
    return value


def finder(section: Section, sources: Sequence[str]) -> Callable[[str], object]:
    """Return a function that gives the object of a name, or raises ``LookupError`` where it is not there."""
    if section.kind == "environment":
        read_by_code = set(_strings(sources))
        return lambda name: _member(read_by_code, name)
    try:
        place = resolve(section.where)
    except LookupError:
        return _nowhere
    if section.kind == "parameters_of":
        parameters = inspect.signature(place).parameters  # type: ignore[arg-type]
        return lambda name: _member(parameters, name)
    if section.kind == "instance_of":
        with open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing):  # noqa: PTH123 - a device
            place = place(**section.arguments)  # type: ignore[operator]
    return lambda name: _attribute(place, name)


def _nowhere(name: str) -> object:
    raise LookupError(name)


def _member(among: Sequence[str] | Mapping[str, object] | set[str], name: str) -> object:
    if name not in among:
        raise LookupError(name)
    return name


def _attribute(place: object, name: str) -> object:
    try:
        return getattr(place, name)
    except AttributeError as error:
        # A module that changes PyTorch when it is imported (transfer_to_npu) is found without importing it.
        module = importlib.util.find_spec(f"{place.__name__}.{name}") if _is_package(place) else None
        if module is None:
            raise LookupError(name) from error
        return module


def _is_package(place: object) -> TypeGuard[ModuleType]:
    return isinstance(place, ModuleType) and hasattr(place, "__path__")


def _strings(sources: Sequence[str]) -> Iterator[str]:
    """Yield every upper-case string literal of the sources: that is how environment variables are spelt there."""
    for source in sources:
        for file in sorted((DOCS.parent / source).rglob("*.py")):
            yield from re.findall(r'"([A-Z][A-Z0-9_]+)"', file.read_text(encoding="utf-8"))


def problems(sections: Sequence[Section], page: Page) -> Iterator[str]:
    """Yield one line per name that the code contradicts or, on a page with a folder of tests, no test shows."""
    for section in sections:
        find = finder(section, page.sources)
        for name in section.names:
            try:
                value = find(name.name)
            except LookupError:
                if name.status in THERE:
                    yield f"{section.title}: {name.name} is marked {name.status}, but it is not there"
                continue
            if name.status not in THERE:
                yield f"{section.title}: {name.name} is marked {name.status}, but it is there: mark it done or accepted"
            elif name.value is not None and value != name.value:
                yield f"{section.title}: {name.name} is {value!r} instead of {name.value!r}"
        if page.tests is not None:
            yield from unshown(section, DOCS.parent / page.tests)


def unshown(section: Section, tests: Path) -> Iterator[str]:
    """Yield one line per name that no test shows, and per test that cannot show what it is said to."""
    listed = {name.name for name in section.names}
    for name in section.names:
        if name.status in THERE and not section.tests_of(name.name):
            yield f"{section.title}: no test shows {name.name}"
    for test, names in section.shown_by.items():
        file, _, function = test.partition("::")
        path = (tests.parent if file.startswith("plugins/") else tests) / file
        if not path.is_file() or function not in functions(path):
            yield f"{section.title}: there is no test {test}"
            continue
        texts = [path.read_text(encoding="utf-8"), *beside(path)]
        if not RUNS.search(texts[0]):
            yield f"{section.title}: {file} runs no script"
        for name in names:
            if name not in listed:
                yield f"{section.title}: {test} is to show {name}, which is not listed"
            elif not any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) for text in texts):
                yield f"{section.title}: {file} does not use {name}"


def functions(path: Path) -> set[str]:
    """Return the functions at the top level of a file, and the methods of its classes as ``Class::method``."""
    names = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.ClassDef):
            names |= {f"{node.name}::{each.name}" for each in node.body if isinstance(each, ast.FunctionDef)}
    return names


def beside(path: Path) -> list[str]:
    """Return the texts of the scripts in the same folder that a test, or the fixtures of its folder, name."""
    tests = [file for file in (path, path.with_name("conftest.py")) if file.is_file()]
    named = [name for file in tests for name in re.findall(r'"(\w+\.py)"', file.read_text(encoding="utf-8"))]
    return [file.read_text(encoding="utf-8") for name in named if (file := path.with_name(name)).is_file()]


def render(sections: Sequence[Section], name: str) -> str:
    """Return the page *name*."""
    count = Counter(SHOWN[name.status] for section in sections for name in section.names)
    total = ", ".join(f"{count[status]} {status}" for status in dict.fromkeys(SHOWN.values()) if count[status])
    lines = [
        f"# {PAGES[name].title}",
        "",
        f"<!-- Written by docs/generate_coverage.py from docs/lists/coverage-{name}.yaml; do not edit. -->",
        "",
        *PAGES[name].about,
        "",
        f"{sum(count.values())} names: {total}.",
    ]
    columns = ["name", "status", "note", *(["shown by"] if PAGES[name].tests is not None else [])]
    for section in sections:
        lines += ["", f"## {_heading(section)}", "", _row(columns), _row(["---"] * len(columns))]
        lines += [_row(_cells(entry, section)[: len(columns)]) for entry in section.names]
    return "\n".join(lines) + "\n"


def _cells(entry: Name, section: Section) -> list[str]:
    note = entry.note or (NO_EFFECT if entry.status == "accepted" else "")
    tests = ", ".join(f"`{test}`" for test in section.tests_of(entry.name))
    return [f"`{entry.name}`", SHOWN[entry.status], note, tests]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _heading(section: Section) -> str:
    return f"Parameters of {section.title}" if section.kind == "parameters_of" else section.title


def work_through(name: str, names: Path, table: Path, *, only_check: bool) -> Iterator[str]:
    """Check one list and write its page, or compare with it; yield one line per problem."""
    sections = read(names)
    disagreements = list(problems(sections, PAGES[name]))
    yield from disagreements
    page = render(sections, name)
    if not only_check and not disagreements:
        table.write_text(page, encoding="utf-8")
    elif only_check and (not table.is_file() or table.read_text(encoding="utf-8") != page):
        yield f"{table.name} is not up to date; run python docs/generate_coverage.py"


def main() -> None:
    """Check, and write or compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail where the page is not up to date")
    parser.add_argument("--page", choices=PAGES, help="the page; default: all, or torch with other files")
    parser.add_argument("--list", type=Path, dest="names", help="the list to read")
    parser.add_argument("--table", type=Path, help="the page to write or to compare with")
    arguments = parser.parse_args()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    other_files = arguments.names or arguments.table
    disagreements: list[str] = []
    for name in [arguments.page] if arguments.page else ["torch"] if other_files else PAGES:
        names = arguments.names or LISTS / f"coverage-{name}.yaml"
        disagreements += work_through(
            name, names, arguments.table or names.with_suffix(".md"), only_check=arguments.check
        )
    if disagreements:
        raise SystemExit("\n".join(disagreements))


if __name__ == "__main__":
    main()
