"""The requests of a benchmark: drawn from stated distributions, or read from a trace."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from pathlib import Path

from attrs import frozen

from drynpu import OptionError

SPREAD = 1.0
"""Spread of the logarithm of lengths: the lengths of conversations are spread about so; assumed."""
_MS = 1e-3


@frozen
class Request:
    """A request: when it arrives, seconds after the first may, and how many tokens it brings and gets."""

    arrival_s: float
    input_tokens: int
    output_tokens: int


def drawn(count: int, rate: float, mean_input: int, mean_output: int, seed: int) -> list[Request]:
    """
    Return *count* requests that arrive as a Poisson process, *rate* a second.

    Lengths are log-normal with those means, as in conversations: many are short and a few long. A *rate* of infinity
    lets all arrive at once.
    """
    draw = random.Random(seed)
    arrival_s, requests = 0.0, []
    for _ in range(count):
        arrival_s += 0.0 if math.isinf(rate) else draw.expovariate(rate)
        requests.append(Request(arrival_s, _length(draw, mean_input), _length(draw, mean_output)))
    return requests


def _length(draw: random.Random, mean: int) -> int:
    return max(1, round(draw.lognormvariate(math.log(mean) - SPREAD**2 / 2, SPREAD)))


def read_trace(path: Path, speed: float = 1.0) -> list[Request]:
    """
    Read a trace, a JSON document a line: Mooncake's ``timestamp`` (ms), ``input_length`` and ``output_length``.

    *speed* 2 lets everything arrive in half the time.

    Raises
    ------
    OptionError
        A line has no such numbers.
    """
    return sorted(_rows(path, speed), key=lambda request: request.arrival_s)


def _rows(path: Path, speed: float) -> Iterator[Request]:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            arrival_s = float(row["timestamp"]) * _MS / speed
            yield Request(arrival_s, max(1, int(row["input_length"])), max(1, int(row["output_length"])))
        except (ValueError, KeyError, TypeError) as error:
            wanted = "an object with the numbers timestamp (ms), input_length and output_length"
            raise OptionError([f"{path}:{number}: {error!r}; each line is {wanted}"]) from error
