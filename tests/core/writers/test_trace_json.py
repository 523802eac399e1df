"""Events as JSON text: valid and equal to the standard encoder's for any content."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drynpu.writers import trace_json
from drynpu.writers.trace_json import COMPACT, SPACED, Events, JsonStyle, Present, constant, json_strings, write_trace


def written(directory: Path, blocks: list[Events | list[str]], style: JsonStyle) -> str:
    assert write_trace(directory / "t.json", blocks, style)
    return (directory / "t.json").read_text(encoding="utf-8")


def events(names: list[str]) -> Events:
    rows = pl.DataFrame(
        {"name": pl.Series(names, dtype=pl.String), "tid": pl.Series(range(len(names)), dtype=pl.Int64)}
    )
    return Events(rows, {"name": pl.col("name"), "tid": pl.col("tid"), "args": {"ph": constant("X")}}, ("name",))


names = st.text() | st.text(st.sampled_from('a"\\\n\r\t\x00\x7f{}[]\u2028\U0001f600'))


@given(st.lists(names, min_size=1, max_size=12), st.sampled_from([COMPACT, SPACED]))
def test_any_name_gives_the_text_of_the_standard_encoder(texts: list[str], style: JsonStyle) -> None:
    with TemporaryDirectory() as directory:
        found = written(Path(directory), [events(texts)], style)
    expected = [{"name": text, "tid": tid, "args": {"ph": "X"}} for tid, text in enumerate(texts)]
    assert json.loads(found) == expected
    assert "\n" not in found
    if not any(character < " " for text in texts for character in text):
        assert found == json.dumps(expected, ensure_ascii=False, separators=(style.comma, style.colon))


@given(st.lists(names, max_size=12))
def test_strings_are_escaped_once_per_row(texts: list[str]) -> None:
    found = json_strings(pl.Series("name", texts, dtype=pl.String)).to_list()
    assert [json.loads(text) for text in found] == texts


def test_blocks_and_chunks_are_joined_by_single_commas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_json, "CHUNK_ROWS", 2)
    blocks: list[Events | list[str]] = [events([]), [], events(list("abcde")), ['{"M": 1}'], events(["f"]), []]
    found = json.loads(written(tmp_path, blocks, COMPACT))
    assert [event.get("name", "M") for event in found] == ["a", "b", "c", "d", "e", "M", "f"]


def test_no_events_no_file(tmp_path: Path) -> None:
    assert not write_trace(tmp_path / "t.json", [events([]), []], COMPACT)
    assert list(tmp_path.iterdir()) == []


def test_members_and_objects_that_only_some_rows_have(tmp_path: Path) -> None:
    rows = pl.DataFrame({"n": [1, 2], "odd": [True, False]})
    block = Events(
        rows,
        {"n": pl.col("n"), "more": Present(pl.col("odd"), {"x": ('"', pl.col("n"), '"'), "y": "0"}), "last": "9"},
        followed_by=(~pl.col("odd"), {"flow": pl.col("n")}),
    )
    assert written(tmp_path, [block], SPACED) == (
        '[{"n": 1, "x": "1", "y": 0, "last": 9}, {"n": 2, "last": 9}, {"flow": 2}]'
    )


def test_an_event_that_lacks_a_value_is_left_out_with_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    block = Events(pl.DataFrame({"n": [1, None, 3], "m": [4, 5, 6]}), {"n": pl.col("n"), "m": pl.col("m")})
    assert written(tmp_path, [block], COMPACT) == '[{"n":1,"m":4},{"n":3,"m":6}]'
    assert "events of a timeline left out for want of n: 1" in "".join(capsys.readouterr())
