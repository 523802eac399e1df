"""The load of a benchmark."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from pathlib import Path

import pytest

from drynpu import OptionError
from drynpu_virtual_time.loadtest.workload import Lengths, Request, drawn, read_conversations, read_trace


def test_draws_have_their_rate_and_means_and_follow_from_the_seed() -> None:
    requests = drawn(20_000, 4.0, Lengths(220, 190), seed=3)
    gaps = [later.arrival_s - earlier.arrival_s for earlier, later in itertools.pairwise(requests)]
    assert sum(gaps) / len(gaps) == pytest.approx(0.25, rel=0.03)
    # The gaps of a Poisson process are spread as much as they are long.
    assert math.sqrt(sum((gap - 0.25) ** 2 for gap in gaps) / len(gaps)) == pytest.approx(0.25, rel=0.05)
    assert sum(each.input_tokens for each in requests) / len(requests) == pytest.approx(220, rel=0.05)
    assert sum(each.output_tokens for each in requests) / len(requests) == pytest.approx(190, rel=0.05)
    assert drawn(20_000, 4.0, Lengths(220, 190), seed=3) == requests
    assert drawn(20_000, 4.0, Lengths(220, 190), seed=4) != requests


def test_an_infinite_rate_lets_all_arrive_at_once() -> None:
    assert {each.arrival_s for each in drawn(10, math.inf, Lengths(5, 5), seed=0)} == {0.0}


def test_even_lengths_fill_their_range() -> None:
    requests = drawn(2000, 1.0, Lengths(100, 10, ratio=0.1), seed=0)
    assert {each.input_tokens for each in requests} == set(range(90, 111))
    assert {each.output_tokens for each in requests} == {9, 10, 11}
    assert drawn(3, math.inf, Lengths(7, 5, ratio=0.0), seed=0) == [Request(0.0, 7, 5)] * 3


def test_conversations_give_their_lengths_again_and_again_but_useless_ones_do_not(tmp_path: Path) -> None:
    def talk(*characters: int) -> dict[str, object]:
        return {"conversations": [{"from": "human", "value": "x" * each} for each in characters]}

    file = tmp_path / "talks.json"
    file.write_text(json.dumps([talk(41, 40), talk(400, 80, 9), talk(8, 40), talk(4800, 40), talk(40)]))
    requests = read_conversations(file, tmp_path, 5, math.inf, seed=1)
    assert Counter((each.input_tokens, each.output_tokens) for each in requests) in (
        {(11, 10): 3, (100, 20): 2},
        {(11, 10): 2, (100, 20): 3},
    )
    file.write_text(json.dumps([talk(8, 40)]))
    with pytest.raises(OptionError, match="of 1 conversations none has 4 to 1024 tokens"):
        read_conversations(file, tmp_path, 5, 1.0, seed=1)
    file.write_text("{}")
    with pytest.raises(OptionError, match=r"of 0 conversations"):
        read_conversations(file, tmp_path, 5, 1.0, seed=1)


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
