"""Lines of iotop and of statm, read and written by hand."""

from __future__ import annotations

import polars as pl
import pytest

from drynpu.deliverables.host._text_lines import HOST_DISK, HOST_MEM

LINE = "{clock}  4321 be/4 root     {read}  {write}  {shares} python train.py"


def line(
    clock: str = "00:00:00", read: str = "0.00 B/s", write: str = "0.00 B/s", shares: str = "0.00 %  0.00 %"
) -> str:
    return LINE.format(clock=clock, read=read, write=write, shares=shares)


@pytest.mark.parametrize(
    ("clock", "seconds"), [("02:30:15", 9015), ("23:59:58", 86_398), ("00:01:00", 60), ("00:00:07", 7)]
)
def test_the_time_of_the_day_is_read_in_seconds(clock: str, seconds: int) -> None:
    (row,) = HOST_DISK.parse([line(clock)]).rows
    assert row[:4] == (seconds, 4321, "be/4", "root")


def test_rates_have_units_of_1024_and_shares_may_be_unknown() -> None:
    known, unknown = HOST_DISK.parse(
        [line(read="3.00 K/s", write="1.50 M/s", shares="1.25 %  7.50 %"), line(shares="?unavailable?")]
    ).rows
    assert known[4:9] == (3072.0, 1.5 * 1024 * 1024, 1.25, 7.5, "python train.py")
    assert unknown[4:9] == (0.0, 0.0, None, None, "python train.py")
    (large,) = HOST_DISK.parse([line(read="2.00 G/s", write="5.00 B/s")]).rows
    assert large[4:6] == (2 * 1024**3, 5.0)


def test_rows_begin_at_the_start_behind_them() -> None:
    lines = ["Total DISK READ: 1.00 B/s", line("00:00:01"), line("00:00:02"), "start_time 777", "odd", line("00:00:03")]
    found = HOST_DISK.parse(lines)
    assert [(row[0], row[-1]) for row in found.rows] == [(1, 777), (2, 777), (3, 0)]
    assert found.left_out == 1


def test_a_written_line_shows_the_time_of_the_day() -> None:
    rows = pl.DataFrame(
        [
            (9015, 4321, "be/4", "root", 3072.0, 10.25, 1.25, 7.5, "python train.py", 777),
            (86_400 + 3661, 7, "be/4", "root", 0.0, 0.0, None, 7.5, "x", 777),
        ],
        schema=HOST_DISK.schema,
        orient="row",
    )
    assert list(HOST_DISK.chunks(rows)) == [
        "02:30:15 4321 be/4 root 3072.00 B/s 10.25 B/s 1.25 % 7.50 % python train.py\n",
        "01:01:01 7 be/4 root 0.00 B/s 0.00 B/s ?unavailable? x\n",
    ]


def test_a_line_of_memory_has_all_its_numbers() -> None:
    count = len(HOST_MEM.schema)
    whole = " ".join(str(9 + place) for place in range(count))
    found = HOST_MEM.parse([whole, whole + " 1", whole.replace("9", "x", 1)])
    assert [tuple(row) for row in found.rows] == [tuple(range(9, 9 + count))]
    assert found.left_out == 2
