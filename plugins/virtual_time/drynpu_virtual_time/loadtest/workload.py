"""The requests of a benchmark: drawn from stated distributions, or read from a trace or from conversations."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from attrs import frozen

from drynpu import OptionError

SPREAD = 1.0
"""Spread of the logarithm of lengths: the lengths of conversations are spread about so; assumed."""
_MS = 1e-3
_CHARACTERS: Final = 4
"""Characters of a token, where the model has no tokenizer; assumed."""
_LEAST: Final = 4
"""Tokens that each part of a conversation has where ``vllm bench`` keeps it."""
_LONGEST_PROMPT: Final = 1024
_LONGEST: Final = 2048
"""... and both parts together at most."""


@frozen
class Request:
    """A request: when it arrives, seconds after the first may, and how many tokens it brings and gets."""

    arrival_s: float
    input_tokens: int
    output_tokens: int


@frozen
class Lengths:
    """
    How many tokens drawn requests bring and get.

    Log-normal with those means, as in conversations: many are short and a few long. With *ratio* as the data set
    ``random`` of ``vllm bench``: all whole numbers within that part of the lengths are equally likely.
    """

    inputs: int
    outputs: int
    ratio: float | None = None

    def draw(self, source: random.Random) -> tuple[int, int]:
        """Return the lengths of the next request."""
        return self._length(source, self.inputs), self._length(source, self.outputs)

    def _length(self, source: random.Random, middle: int) -> int:
        if self.ratio is not None:
            spread = round(middle * self.ratio)
            return max(1, source.randint(middle - spread, middle + spread))
        return max(1, round(source.lognormvariate(math.log(middle) - SPREAD**2 / 2, SPREAD)))


def drawn(count: int, rate: float, lengths: Lengths, seed: int) -> list[Request]:
    """Return *count* requests that arrive as a Poisson process, *rate* a second; at infinity all at once."""
    draw = random.Random(seed)
    arrival_s, requests = 0.0, []
    for _ in range(count):
        arrival_s += _gap_s(draw, rate)
        requests.append(Request(arrival_s, *lengths.draw(draw)))
    return requests


def _gap_s(draw: random.Random, rate: float) -> float:
    return 0.0 if math.isinf(rate) else draw.expovariate(rate)


def read_conversations(path: Path, model: Path, count: int, rate: float, seed: int) -> list[Request]:
    """
    Return requests with the lengths of conversations, in the form of ShareGPT, which arrive as `drawn` ones do.

    The first text is the prompt, the second one the answer; which conversations are too short or too long is decided as
    ``vllm bench`` does. Tokens are counted by the model's tokenizer, or are four characters each. The conversations
    come in an order that *seed* decides, again from the start where they are too few.

    Raises
    ------
    OptionError
        The file is no list of conversations, or has none of a usable length.
    """
    tokens, wanted = _counter(model), 'a list of {"conversations": [{"value": TEXT}, {"value": TEXT}, ...]}'
    try:
        talks = [each["conversations"] for each in json.loads(path.read_text(encoding="utf-8"))]
        pairs = [(tokens(talk[0]["value"]), tokens(talk[1]["value"])) for talk in talks if len(talk) > 1]
    except (ValueError, KeyError, TypeError) as error:
        raise OptionError([f"{path}: {error!r}; it has to be {wanted}"]) from error
    usable = [
        (first, second)
        for first, second in pairs
        if min(first, second) >= _LEAST and first <= _LONGEST_PROMPT and first + second <= _LONGEST
    ]
    if not usable:
        text = f"{path}: of {len(pairs)} conversations none has {_LEAST} to {_LONGEST_PROMPT} tokens and an answer"
        raise OptionError([f"{text} of {_LEAST} or more, {_LONGEST} in all at most"])
    draw = random.Random(seed)
    draw.shuffle(usable)
    arrival_s, requests = 0.0, []
    for number in range(count):
        arrival_s += _gap_s(draw, rate)
        requests.append(Request(arrival_s, *usable[number % len(usable)]))
    return requests


def _counter(model: Path) -> Callable[[str], int]:
    """Return what counts the tokens of a text."""
    file = model / "tokenizer.json"
    if not file.is_file():
        return lambda text: math.ceil(len(text) / _CHARACTERS)
    from tokenizers import Tokenizer  # whoever has an engine has it

    tokenizer = Tokenizer.from_file(str(file))
    return lambda text: len(tokenizer.encode(text).ids)


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
