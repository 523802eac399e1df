"""What the page says of every flag, and what the command says of flags that get less than they ask for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from click.testing import Result

from drynpu.options import ProfilingRequest
from drynpu.options.msprof_cli import FLAGS, parse
from drynpu_msprof._flags import PROCESSING_FLAGS
from drynpu_msprof._limits import LIMITS, limits_of

Run = Callable[..., Result]
PAGE = Path(__file__).parents[3] / "docs" / "msprof.md"
ASKING = {
    "ascendcl": "off",
    "ge-api": "l0",
    "task-block": "all",
    "optype": "Add",
    "sys-mem-serviceflow": "a",
}
"""What asks for it, where ``on`` does not."""


def rows() -> list[tuple[list[str], str]]:
    """Return the flags of each row of the page's table, and what the row says."""
    section = PAGE.read_text(encoding="utf-8").partition("## Every flag")[2].partition("\n## ")[0]
    cells = [line.strip("| \n").split(" | ") for line in section.splitlines() if line.startswith("| `--")]
    return [(re.findall(r"`--([a-z0-9-]+)`", flags), text) for flags, text in cells]


def test_the_page_has_every_flag_once() -> None:
    listed = [name for names, _ in rows() for name in names]
    assert sorted(listed) == sorted({*FLAGS, *PROCESSING_FLAGS})


def request(flag: str, chip: str) -> ProfilingRequest:
    given = {flag: ASKING.get(flag, "on")}
    if flag == "sys-mem-serviceflow":
        given["sys-hardware-mem"] = "on"
    return parse(given, application=("train.py",), chip=chip).request


def told(flag: str) -> tuple[str, ...]:
    chip = "15" if FLAGS[flag].series == {"950"} else "5"
    return limits_of(request(flag, chip), {flag})


@pytest.mark.parametrize("flag", LIMITS)
def test_what_a_flag_does_not_get_is_told_and_on_the_page(flag: str) -> None:
    (line,) = told(flag)
    assert line.startswith(f"--{flag}: ")
    (text,) = (text for names, text in rows() if flag in names)
    assert "warning" in text


def quiet() -> Iterable[str]:
    switches = ("aicpu", "l2", "task-memory", "msproftx", "hccl", "sys-hardware-mem", "sys-io-profiling", "ai-core")
    return (*switches, "sys-interconnection-profiling", "ascendcl")


@pytest.mark.parametrize("flag", quiet())
def test_other_flags_are_not_told(flag: str) -> None:
    assert not limits_of(request(flag, "5"), {flag})


def test_defaults_are_not_told() -> None:
    for chip in ("5", "15"):
        assert not limits_of(parse({}, application=("train.py",), chip=chip).request, ())


def test_it_is_told_before_the_application_starts(run: Run, tmp_path: Path) -> None:
    done = run("msprof", f"--output={tmp_path}", "--ge-api=l1", "--sys-profiling=on", "no-such-command")
    assert done.exit_code == 1
    lines = done.output.splitlines()
    first = [number for number, line in enumerate(lines) if line.startswith(("[WARNING] --ge-api", "[WARNING] --sys-"))]
    (last,) = (number for number, line in enumerate(lines) if "no-such-command" in line)
    assert len(first) == 2
    assert max(first) < last
