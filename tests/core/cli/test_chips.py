"""``drynpu chips``."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from attrs import fields

from drynpu.platforms import Chip, known_chips


def test_the_table_names_every_chip(drynpu: Callable[..., Any]) -> None:
    ended = drynpu("chips")
    assert (ended.code, ended.err) == (0, "")
    assert all(f"│ {chip.name} " in ended.out for chip in known_chips())
    assert "…" not in ended.out
    row = next(line for line in ended.out.splitlines() if "Ascend910B2" in line)
    assert row.replace("│", "").split() == ["Ascend910B2", "24/48", "1800", "354", "64", "1600", "192", "5"]


def test_json_has_every_number(drynpu: Callable[..., Any]) -> None:
    listed = json.loads(drynpu("chips", "--json").out)
    assert [chip["name"] for chip in listed] == [chip.name for chip in known_chips()]
    one = json.loads(drynpu("chips", "910b2", "--json").out)
    assert set(one) == {field.name for field in fields(Chip)}
    assert one in listed


def test_one_chip_with_its_sources(drynpu: Callable[..., Any]) -> None:
    ended = drynpu("chips", "910B2")
    assert ended.code == 0
    shown = "".join(ended.out.replace("│", "").split())
    (chip,) = [chip for chip in known_chips() if chip.name == "Ascend910B2"]
    assert all("".join(source.split()) in shown for source in chip.sources)
    assert "…" not in ended.out


def test_an_unknown_chip(drynpu: Callable[..., Any]) -> None:
    for name in ("910B7", ""):
        ended = drynpu("chips", name)
        assert (ended.code, ended.out) == (1, "")
        assert f"drynpu: unknown chip '{name}'; known chips: Ascend310, " in ended.err
    assert "Did you mean 'Ascend910B2'?" in drynpu("chips", "Ascend910B22").err
