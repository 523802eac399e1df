"""Parts of a file that threads make come in their order, and long files are the same however many make them."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import polars as pl
import pytest

from drynpu import OutputError
from drynpu.writers import _in_turn
from drynpu.writers._in_turn import in_turn
from drynpu.writers.files import write_csv
from drynpu.writers.trace_json import COMPACT, Events, write_trace


@pytest.fixture(params=[1, 2, 7])
def processors(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    count = int(request.param)
    monkeypatch.setattr(_in_turn, "processors", lambda: count)
    return count


@pytest.mark.parametrize("count", [0, 1, 3, 20])
def test_results_come_in_order_whichever_is_made_first(processors: int, count: int) -> None:
    del processors

    def slow_if_even(number: int) -> int:
        time.sleep(0.0 if number % 2 else 0.005)
        return number

    assert list(in_turn([partial(slow_if_even, number) for number in range(count)])) == list(range(count))


def test_as_many_are_made_at_a_time_as_there_are_processors_four_at_most(processors: int) -> None:
    at_once = min(processors, 4)
    meeting, lock = threading.Barrier(at_once), threading.Lock()
    started: list[int] = []

    def call(number: int) -> int:
        with lock:
            started.append(number)
        meeting.wait(20)  # ends only where all of them are under way
        return number

    results = in_turn([partial(call, number) for number in range(at_once * 3)])
    assert next(results) == 0
    time.sleep(0.05)
    assert len(started) <= 2 * at_once, "those that wait to be written, and those under way"
    assert list(results) == list(range(1, at_once * 3))


def test_an_error_comes_in_its_turn_and_ends_the_rest(processors: int) -> None:
    returned: list[int] = []

    def call(number: int) -> int:
        if number == 2:
            raise ValueError("the third")
        returned.append(number)
        return number

    results = in_turn([partial(call, number) for number in range(100)])
    assert (next(results), next(results)) == (0, 1)
    with pytest.raises(ValueError, match="the third"):
        next(results)
    assert len(returned) <= 2 + 2 * processors


def test_parts_are_made_where_no_thread_can_begin(processors: int, monkeypatch: pytest.MonkeyPatch) -> None:
    del processors

    def refuse(*_: object) -> None:
        raise RuntimeError("cannot schedule new futures after interpreter shutdown")

    monkeypatch.setattr(ThreadPoolExecutor, "submit", refuse)
    assert list(in_turn([partial(pow, number, 2) for number in range(6)])) == [0, 1, 4, 9, 16, 25]


def test_long_csv_files_have_their_rows_in_order(processors: int, tmp_path: Path) -> None:
    del processors
    rows = 200_001
    numbers = pl.int_range(rows, eager=True).cast(pl.String)
    words = pl.Series(["plain", "a,b", 'say "x"']).gather(pl.int_range(rows, eager=True) % 3)
    path = write_csv(tmp_path / "long.csv", pl.DataFrame({"a": numbers, "b": words}), line_end="\n")
    shown = ["plain", '"a,b"', '"say ""x"""']
    expected = "".join(f"{number},{shown[number % 3]}\n" for number in range(rows))
    assert path.read_text() == "a,b\n" + expected


def test_long_timelines_have_their_events_in_order(processors: int, tmp_path: Path) -> None:
    del processors
    rows = 100_003
    block = Events(pl.DataFrame({"n": range(rows)}), {"n": pl.col("n").cast(pl.String)})
    assert write_trace(tmp_path / "t.json", [block], COMPACT)
    assert (tmp_path / "t.json").read_text() == "[" + ",".join(f'{{"n":{number}}}' for number in range(rows)) + "]"


def test_a_full_disk_in_a_later_part_leaves_no_file(processors: int, tmp_path: Path) -> None:
    del processors

    def prepare(rows: pl.DataFrame) -> pl.DataFrame:
        if rows["n"][-1] == "last":
            raise OutputError("no space left")
        return rows

    rows = pl.DataFrame({"n": ["x"] * 90_000 + ["last"]})
    with pytest.raises(OutputError, match="no space left"):
        write_trace(tmp_path / "t.json", [Events(rows, {"n": pl.col("n")}, prepare=prepare)], COMPACT)
    assert list(tmp_path.iterdir()) == []
