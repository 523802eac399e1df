"""The load of a benchmark."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import pytest

from drynpu import OptionError
from drynpu_virtual_time.loadtest.workload import Request, drawn, read_trace


def test_draws_have_their_rate_and_means_and_follow_from_the_seed() -> None:
    requests = drawn(20_000, 4.0, 220, 190, seed=3)
    gaps = [later.arrival_s - earlier.arrival_s for earlier, later in itertools.pairwise(requests)]
    assert sum(gaps) / len(gaps) == pytest.approx(0.25, rel=0.03)
    # The gaps of a Poisson process are spread as much as they are long.
    assert math.sqrt(sum((gap - 0.25) ** 2 for gap in gaps) / len(gaps)) == pytest.approx(0.25, rel=0.05)
    assert sum(each.input_tokens for each in requests) / len(requests) == pytest.approx(220, rel=0.05)
    assert sum(each.output_tokens for each in requests) / len(requests) == pytest.approx(190, rel=0.05)
    assert drawn(20_000, 4.0, 220, 190, seed=3) == requests
    assert drawn(20_000, 4.0, 220, 190, seed=4) != requests


def test_an_infinite_rate_lets_all_arrive_at_once() -> None:
    assert {each.arrival_s for each in drawn(10, math.inf, 5, 5, seed=0)} == {0.0}


def test_a_trace_is_read_in_the_order_of_arrival_and_as_fast_as_asked(tmp_path: Path) -> None:
    trace = tmp_path / "mooncake.jsonl"
    trace.write_text(
        '{"timestamp": 3000, "input_length": 6758, "output_length": 500, "hash_ids": [0, 1]}\n\n'
        '{"timestamp": 0, "input_length": 7322, "output_length": 490}\n',
        encoding="utf-8",
    )
    assert read_trace(trace, 2.0) == [Request(0.0, 7322, 490), Request(1.5, 6758, 500)]


@pytest.mark.parametrize("line", ["[1]", "{}", "no json", '{"timestamp": "x", "input_length": 1, "output_length": 1}'])
def test_a_line_that_is_no_request_is_named(tmp_path: Path, line: str) -> None:
    trace = tmp_path / "trace.jsonl"
    trace.write_text(f'{{"timestamp": 0, "input_length": 1, "output_length": 1}}\n{line}\n', encoding="utf-8")
    with pytest.raises(OptionError, match=r"trace\.jsonl:2: .*input_length"):
        read_trace(trace)
