"""What a case left behind, judged: whole files under final names, a directory that opens, no traceback."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from attrs import frozen

from drynpu import DrynpuError
from drynpu.products import find_profiles, load_profile
from drynpu.recorder import find_journals, recover


@frozen
class Findings:
    """Problems of one case, one line each; none if it is as it should be."""

    half_files: tuple[str, ...] = ()
    tracebacks: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()
    """Directories with records that cannot be opened."""
    kernels: int = 0
    """Kernels that can be read from all directories together."""
    lost: tuple[str, ...] = ()
    """Steps that were on disk when the process ended, and cannot be recovered."""
    recovered: int = 0
    """Steps that were recovered."""


def examine(folder: Path) -> Findings:
    """Judge the directory ``out`` of a case, and what the case printed."""
    out = folder / "out"
    half = tuple(_half_files(out))
    tracebacks = tuple(_tracebacks(folder / "stdout")) + tuple(_tracebacks(folder / "stderr"))
    unreadable, kernels = [], 0
    lost, recovered = _recovered(folder)
    cut = {journal.parent for journal in find_journals(out)}
    for path in find_profiles(out) if out.is_dir() else ():
        if path in cut:  # what the process wrote beside its journal is a part of the result at most
            continue
        try:
            kernels += len(load_profile(path).tasks)
        except DrynpuError as error:
            if any(path.rglob("*.slice_0")):
                unreadable.append(f"{path.name}: {error}")
        except Exception as error:  # noqa: BLE001 - what a user would see as a traceback
            unreadable.append(f"{path.name}: {type(error).__name__}: {error}")
    return Findings(half, tracebacks, tuple(unreadable), kernels, lost, recovered)


def _recovered(folder: Path) -> tuple[tuple[str, ...], int]:
    """Recover cut recordings beside the directory, which may be full, and read them; return problems and steps."""
    lines: list[str] = []
    try:
        found = recover(folder / "out", lines.append, folder / "recovered")
        empty = [f"{each.path.name}: no kernels" for each in found if not len(load_profile(each.path).kernels)]
    except Exception as error:  # noqa: BLE001 - what a user would see as a traceback
        return (f"{type(error).__name__}: {error}",), 0
    failed = [line for line in lines if "could not be recovered" in line or "damaged" in line]
    return (*failed, *empty), sum(each.steps for each in found)


def _tracebacks(path: Path) -> Iterator[str]:
    text = path.read_text(errors="replace") if path.exists() else ""
    if "Traceback (most recent call last)" in text:
        yield text[text.index("Traceback") :][-400:]


def _half_files(out: Path) -> Iterator[str]:
    for path in sorted(out.rglob("*")):
        check = _CHECKS.get(path.suffix)
        if check is None or not path.is_file():
            continue
        try:
            check(path)
        except (ValueError, sqlite3.Error, csv.Error) as error:
            yield f"{path.relative_to(out)}: {error}"


def _check_json(path: Path) -> None:
    json.loads(path.read_bytes())


def _check_csv(path: Path) -> None:
    text = path.read_text()
    widths = {len(row) for row in csv.reader(text.splitlines())}
    if not text.endswith("\n") or len(widths) != 1:
        raise ValueError(f"rows of {sorted(widths)} fields, ends with {text[-20:]!r}")


def _check_db(path: Path) -> None:
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        (state,) = connection.execute("pragma integrity_check").fetchone()
        tables = connection.execute("select count(*) from sqlite_master").fetchone()[0]
    finally:
        connection.close()
    if state != "ok" or not tables:
        raise ValueError(f"{state}, {tables} tables")


_CHECKS: Mapping[str, Callable[[Path], None]] = {".json": _check_json, ".csv": _check_csv, ".db": _check_db}
