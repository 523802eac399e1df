"""Damaged PROF directories: every command ends in words and an exit code, and writes only what intact records say."""

from __future__ import annotations

import csv
import json
import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from click.testing import CliRunner, Result

from drynpu import DrynpuError
from drynpu.cli import build_cli
from drynpu.plugins import build_manager

COMMANDS = ("--export=on", "--query=on", "--parse=on", "--analyze=on", "analyze")
CONTROLS = ("info.json", "sample.json", "start_info", "end_info", "host_start.log", "dev_start.log")
NUMBERS: tuple[Any, ...] = (0, -1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 1, 10**30, 1.5, 1e308)
VALUES: tuple[Any, ...] = (
    *NUMBERS,
    *map(str, NUMBERS),
    None,
    True,
    "",
    "x",
    "\x00",
    "\u0661",
    "nan",
    "inf",
    "../..",
    [],
    {},
    [[]],
    [None],
    {"id": []},
    "9" * 5000,
)
WORDS = [b"\xff\xfe", b"\x00" * 9, b"\n", b":", b"_", b"9" * 25, b"-1", b"nan", b"{", b"[" * 3000, b"\xd9\xa1", b'"']
HUGE = [b"\xff" * 8, b"\xff" * 4, b"\x00" * 8, b"\xff" * 7 + b"\x7f", b"\x00" * 7 + b"\x80", b"\xff\xff\xff\x7f"]

Damage = Callable[[random.Random, Path], object]


def _data(rng: random.Random, prof: Path) -> Path:
    """Return a file of records or of lines."""
    return rng.choice(sorted(path for path in prof.glob("*/data/*slice_*") if not path.name.endswith(".done")))


def _control(rng: random.Random, prof: Path) -> Path:
    return rng.choice(
        sorted(path for path in prof.glob("*/*") if path.name.startswith(CONTROLS) and path.suffix != ".done")
    )


def _either(rng: random.Random, prof: Path) -> Path:
    return rng.choice((_data, _control))(rng, prof)


def _dictionary(rng: random.Random, prof: Path) -> Path:
    return rng.choice(sorted(prof.glob("host/data/*_dic.slice_0")))


def cut(rng: random.Random, prof: Path) -> None:
    path = _either(rng, prof)
    content = path.read_bytes()
    path.write_bytes(content[: rng.randrange(len(content) + 1)])


def cut_front(rng: random.Random, prof: Path) -> None:
    path = _data(rng, prof)
    content = path.read_bytes()
    path.write_bytes(content[rng.randrange(len(content) + 1) :])


def overwrite(rng: random.Random, prof: Path) -> None:
    path = _either(rng, prof)
    content = bytearray(path.read_bytes())
    for _ in range(rng.choice((1, 4, 40))):
        at = rng.randrange(len(content) + 1)
        new = rng.choice((rng.randbytes(rng.randrange(1, 9)), rng.choice(HUGE), rng.choice(WORDS)))
        content[at : at + len(new)] = new
    path.write_bytes(content)


def chance(rng: random.Random, prof: Path) -> None:
    _either(rng, prof).write_bytes(rng.randbytes(rng.choice((0, 1, 63, 640, 4096))))


def extremes(rng: random.Random, prof: Path) -> None:
    """Put the largest and smallest numbers into the fields of records, at whole words so that magics survive."""
    path = _data(rng, prof)
    content = bytearray(path.read_bytes())
    for _ in range(rng.choice((1, 3, 12))):
        new = rng.choice(HUGE)
        at = rng.randrange(4, max(len(content) - 8, 5)) // len(new) * len(new)
        content[at : at + len(new)] = new
    path.write_bytes(content)


def remove(rng: random.Random, prof: Path) -> None:
    _either(rng, prof).unlink()


def empty(rng: random.Random, prof: Path) -> None:
    _either(rng, prof).write_bytes(b"")


def value(rng: random.Random, prof: Path) -> None:
    """Put any value in the place of one in a JSON control file, a part of it or the whole."""
    path = rng.choice(sorted(path for path in prof.glob("*/*") if path.name.startswith(CONTROLS[:4])))
    if path.suffix == ".done":
        return
    document = json.loads(path.read_bytes())
    at: Any = document
    while True:
        key = rng.choice(list(at)) if isinstance(at, dict) else rng.randrange(len(at))
        if not isinstance(at[key], (dict, list)) or not at[key] or rng.random() < 0.3:
            at[key] = rng.choice(VALUES)
            break
        at = at[key]
    path.write_text(json.dumps(rng.choice((document,) * 9 + VALUES)), encoding="utf-8")


def clock(rng: random.Random, prof: Path) -> None:
    """Put another number in the place of one in a clock file."""
    path = rng.choice(sorted(path for path in prof.glob("*/*_start.log*") if path.suffix != ".done"))
    lines = path.read_text().splitlines()
    row = rng.randrange(len(lines))
    lines[row] = lines[row].split(":")[0] + ": " + str(rng.choice(VALUES))
    path.write_text("\n".join(lines), encoding="utf-8")


def words(rng: random.Random, prof: Path) -> None:
    """Add lines to a dictionary: huge ids, texts that are no UTF-8, ids twice."""
    path = _dictionary(rng, prof)
    lines = path.read_bytes().splitlines()
    for _ in range(rng.randrange(1, 8)):
        line = rng.choice(lines)
        number, _, text = line.partition(b":")
        number = rng.choice((number, b"18446744073709551616", b"-5", b"99999_99999", b"5000_" + b"9" * 40, b""))
        lines.append(rng.choice((number + b":" + rng.choice((text, *WORDS)), rng.choice(WORDS))))
    path.write_bytes(b"\n".join(lines))


def names(rng: random.Random, prof: Path) -> None:
    """Give a file or directory a name that no profile has."""
    path = rng.choice((_either(rng, prof), prof / "device_0", prof / "host" / "data"))
    foreign: tuple[str | bytes, ...] = (
        b"caf\xe9.slice_0",
        b"unaging.api_event.data.slice_\xff",
        "device_99999999999999999999",
        "device_x",
        "device_-1",
        "device_4294967295",
        f"{path.name}9999999999999999999999",
        "unaging.api_event.data.slice_18446744073709551616",
        "99999999999999999999-CpuUsage.data.slice_0",
        "new\nline",
        "n" * 255,
    )
    name = rng.choice(foreign)
    # By bytes: a name need not be UTF-8.
    target = os.fsencode(path.parent) + b"/" + os.fsencode(name)
    rng.choice((os.rename, _copy))(path, target)


def _copy(path: Path, target: bytes) -> None:
    if path.is_dir():
        shutil.copytree(path, os.fsdecode(target))
    else:
        shutil.copy(path, target)


def links(rng: random.Random, prof: Path) -> None:
    """Put a link in the place of a file or directory, or beside the others: broken, to itself, to the parent."""
    path = rng.choice((_either(rng, prof), prof / "host", prof / "device_0", prof / "host" / "data", prof / "device_7"))
    if path.is_dir():
        path.rename(path.with_name(f"{path.name}.away"))
    elif path.exists():
        path.unlink()
    path.symlink_to(rng.choice((path.name, "/nonexistent", "..", ".", "/dev/null", f"{path.name}.away")))


def foreign(rng: random.Random, prof: Path) -> None:
    """Put a directory where a file is expected, or the other way round, or what no one asked for."""
    path = rng.choice((_either(rng, prof), prof / "device_0", prof / "host", prof / "mindstudio_profiler_output"))
    if path.is_dir():
        shutil.rmtree(path)
        path.write_bytes(b"here")
    else:
        path.unlink(missing_ok=True)
        path.mkdir() if path.suffix else path.write_bytes(b"here")


def twice(rng: random.Random, prof: Path) -> None:
    """Repeat a slice under the next number, or append one file to another."""
    path = _data(rng, prof)
    if rng.random() < 0.5:
        stem, _, number = path.name.rpartition("_")
        shutil.copy(path, path.with_name(f"{stem}_{int(number) + rng.choice((1, 2, 7))}"))
    else:
        path.write_bytes(path.read_bytes() + _data(rng, prof).read_bytes())


def framework(rng: random.Random, prof: Path) -> None:
    """Take away what the framework wrote, or a part of it: what the toolkit recorded stands without."""
    folder = prof.parent / "FRAMEWORK"
    if rng.random() < 0.5:
        shutil.rmtree(folder)
        return
    path = rng.choice(sorted(folder.iterdir()))
    content = path.read_bytes()
    path.write_bytes(content[: rng.randrange(len(content) + 1)])


DAMAGES: tuple[Damage, ...] = (
    cut,
    cut_front,
    overwrite,
    chance,
    extremes,
    remove,
    empty,
    value,
    clock,
    words,
    names,
    links,
    foreign,
    twice,
    framework,
)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(build_cli(build_manager(names=["msprof"], record_problems=True)), list(arguments))


def arguments(command: str, result: Path, prof: Path) -> tuple[str, ...]:
    return ("analyze", str(result)) if command == "analyze" else ("msprof", command, f"--output={prof}")


def check_files(folder: Path) -> None:
    """Every file that was written is whole, and nothing temporary is left."""
    for path in folder.rglob("*"):
        if path.is_symlink() or not path.is_file() or "data" in path.parts:
            continue
        assert not path.name.endswith(".tmp"), path
        if not {"mindstudio_profiler_output", "ASCEND_PROFILER_OUTPUT", "analyze"} & set(path.parts):
            if path.match("msprof_*.db"):
                check_database(path)
        elif path.suffix == ".csv":
            with path.open(newline="", encoding="utf-8") as lines:
                rows = list(csv.reader(lines))
            assert len(rows) > 1, path
            assert {len(row) for row in rows} == {len(rows[0])}, path
        elif path.suffix == ".json":
            json.loads(path.read_bytes(), parse_constant=_no_constant)
        elif path.suffix == ".db":
            check_database(path)


def _no_constant(name: str) -> None:
    pytest.fail(f"{name} is no JSON")


def check_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)], path


def check(done: Result, what: str) -> None:
    error = done.exception
    if error is not None and not isinstance(error, (SystemExit, DrynpuError)):
        raise AssertionError(what) from error
    assert done.exit_code in (0, 1, 2), (what, done.output)
    if done.exit_code:
        assert done.output.strip() or str(error), what


def attempt(intact: Path, seed: int) -> None:
    rng = random.Random(seed)
    with TemporaryDirectory() as folder:
        result = Path(folder) / intact.name
        shutil.copytree(intact, result, symlinks=True)
        (prof,) = result.glob("PROF_*")
        made = [DAMAGES[seed % len(DAMAGES)]]
        made += rng.choices(DAMAGES, k=rng.choice((0, 0, 2)))
        for damage in made:
            try:
                damage(rng, prof)
            except (OSError, IndexError, ValueError):
                continue  # an earlier damage has taken away what this one wants
        command = COMMANDS[seed // len(DAMAGES) % len(COMMANDS)]
        what = f"seed {seed}: {command} after {', '.join(damage.__name__ for damage in made)}"
        check(run(*arguments(command, result, prof)), what)
        check_files(result)


@pytest.mark.one_of(3)
@pytest.mark.parametrize("damage", range(len(DAMAGES)), ids=[damage.__name__ for damage in DAMAGES])
def test_any_damage_ends_in_words(intact: Path, damage: int) -> None:
    """Each damage, with others or alone, before three of the commands; which three differs from damage to damage."""
    for number in range(3):
        attempt(intact, damage + len(DAMAGES) * ((damage + 2 * number) % len(COMMANDS)))


def test_a_profile_without_the_framework_is_exported_whole(intact: Path, tmp_path: Path) -> None:
    exported = []
    for name in ("with", "without"):
        result = tmp_path / name / intact.name
        shutil.copytree(intact, result)
        if name == "without":
            shutil.rmtree(result / "FRAMEWORK")
        (prof,) = result.glob("PROF_*")
        done = run("msprof", "--export=on", f"--output={prof}")
        assert done.exit_code == 0, done.output
        assert "[WARNING]" not in done.output
        exported.append(tasks(prof))
    assert exported[0] == exported[1] != set()


def tasks(prof: Path) -> set[tuple[str, ...]]:
    """Return what the exported table of tasks says, row by row."""
    (path,) = (prof / "mindstudio_profiler_output").glob("task_time_*.csv")
    with path.open(newline="", encoding="utf-8") as lines:
        _, *rows = csv.reader(lines)
    return {tuple(row) for row in rows}


@pytest.mark.slow
def test_a_cut_file_leaves_the_rows_of_whole_records_and_no_others(intact: Path, tmp_path: Path) -> None:
    whole: set[tuple[str, ...]] = set()
    record = 64
    for number, kept in enumerate((None, 0, record // 2, 3 * record, 5 * record + 7, 16 * record - 1)):
        result = tmp_path / str(number) / intact.name
        shutil.copytree(intact, result)
        (prof,) = result.glob("PROF_*")
        path = prof / "device_0" / "data" / "stars_soc.data.0.slice_0"
        if kept is not None:
            path.write_bytes(path.read_bytes()[:kept])
        done = run("msprof", "--export=on", f"--output={prof}")
        assert done.exit_code == 0, done.output
        if kept is None:
            whole = tasks(prof)
            continue
        assert "[WARNING]" in done.output
        assert tasks(prof) < whole


def test_a_time_that_no_recording_can_hold_is_left_out(intact: Path, tmp_path: Path) -> None:
    result = tmp_path / intact.name
    shutil.copytree(intact, result)
    (prof,) = result.glob("PROF_*")
    path = prof / "device_0" / "data" / "stars_soc.data.0.slice_0"
    content = bytearray(path.read_bytes())
    content[8:16] = b"\xff" * 7 + b"\x7f"
    path.write_bytes(content)
    done = run("msprof", "--export=on", f"--output={prof}")
    assert done.exit_code == 0
    assert "stars_soc: 1 record(s) with an impossible tick were left out" in done.output
    starts = [float(row[6].strip()) for row in tasks(prof)]
    assert starts
    assert max(starts) - min(starts) < 1e6
