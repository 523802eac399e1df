"""
Feed every parser with inputs that are made to break it, and count them: ``fuzz.py [--inputs 1000000] [PARSER ...]``.

With atheris (``make fuzz`` installs it into an environment of its own) inputs follow the branches that they reach;
without it they are seeds with chance damage. What a parser raises and is no refusal of drynpu's is printed with the
input, and the status is 1.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import random
import re
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from attrs import frozen

HERE = Path(__file__).parent
_FOLLOWED = ("drynpu.options", "drynpu.platforms", "drynpu.raw", "drynpu.products", "drynpu.recorder._commands")
_FOLLOWED += ("drynpu.recorder._recovery", "drynpu.recorder._packing", "drynpu.kernels._calibration")
_FOLLOWED += ("drynpu_pages.dashboard._address", "drynpu_acl.runtime._aipp", "drynpu_mindspore.capture")
_FOLLOWED += ("drynpu_torch.profiler.dynamic", "drynpu_tf.capture._wire", "drynpu_tf.capture._planes")
"""Modules whose branches guide the inputs: those that parse. The others are imported as they are, which is faster."""
_DONE = re.compile(rb"Done (\d+) runs in")
_TOKENS = (b"{", b"}", b"[", b"]", b'"', b":", b",", b"\n", b"\x00", b"\xff", b"null", b"-1", b"1e999", b"9" * 40)
_TOKENS += (b"true", b"\\u0000", b"\xed\xa0\x80", b"%s", b"../", b"NaN", b"&a *a", b"!!python/object", b"\t", b"?")


@frozen
class Fuzzed:
    """What one parser did with its inputs."""

    name: str
    inputs: int
    seconds: float
    crash: str = ""


def mutations(seeds: Sequence[bytes], rng: random.Random) -> Iterator[bytes]:
    """Yield inputs without end: seeds with chance damage, joined, cut, with tokens put in."""
    known = list(seeds)
    while True:
        data = bytearray(rng.choice(known) if rng.random() < 0.9 else rng.randbytes(rng.randrange(64)))
        for _ in range(rng.randrange(1, 6)):
            at = rng.randrange(len(data) + 1)
            kind = rng.randrange(5)
            if kind == 0:
                data[at:at] = rng.choice(_TOKENS)
            elif kind == 1:
                del data[at : at + rng.randrange(1, 9)]
            elif kind == 2 and at < len(data):
                data[at] = rng.randrange(256)
            elif kind == 3:
                data[at:at] = bytes(data[max(at - rng.randrange(1, 40), 0) : at])
            else:
                data[at:] = rng.choice(known)[rng.randrange(20) :]
        yield bytes(data[:4096])


def mutate(name: str, inputs: int, seed: int = 0) -> Fuzzed:
    """Feed one parser in this process, without atheris."""
    from fuzzed import all_parsers, survives

    parser, begin_s = all_parsers()[name], time.monotonic()
    inputs_left = mutations(parser.seeds, random.Random(f"{name} {seed}"))
    for number in range(inputs):
        data = next(inputs_left)
        try:
            survives(parser, data)
        except Exception:  # noqa: BLE001 - whatever a parser raises is what is looked for
            return Fuzzed(name, number + 1, time.monotonic() - begin_s, f"{data!r}\n{traceback.format_exc()}")
    return Fuzzed(name, inputs, time.monotonic() - begin_s)


def follow(name: str, inputs: int) -> None:
    """Feed one parser by atheris; it ends this process."""
    import atheris

    with atheris.instrument_imports(include=list(_FOLLOWED)):
        from fuzzed import all_parsers, survives

    parser = all_parsers()[name]
    corpus = Path(tempfile.mkdtemp(prefix="drynpu-corpus-"))
    for number, seed in enumerate(parser.seeds):
        (corpus / str(number)).write_bytes(seed)

    def one(data: bytes) -> None:
        survives(parser, data)

    options = [f"-runs={inputs}", "-max_len=4096", "-timeout=60", "-rss_limit_mb=0", f"-artifact_prefix={corpus}/"]
    atheris.Setup([sys.argv[0], *options, str(corpus)], one)
    atheris.Fuzz()


def fuzz(name: str, inputs: int) -> Fuzzed:
    """Feed one parser in a process of its own, so that what ends it ends no other."""
    begin_s = time.monotonic()
    command = [sys.executable, str(HERE / "fuzz.py"), "--one", name, "--inputs", str(inputs)]
    done = subprocess.run(command, capture_output=True, check=False)
    found = _DONE.search(done.stderr)
    seconds = time.monotonic() - begin_s
    if done.returncode == 0 and found is not None:
        return Fuzzed(name, int(found[1]), seconds)
    counts = re.findall(rb"^#(\d+)", done.stderr, re.MULTILINE)
    text = done.stderr.decode(errors="backslashreplace")
    crash = text[text.find("=== Uncaught") :] if "=== Uncaught" in text else text[-3000:]
    return Fuzzed(name, int(counts[-1]) if counts else 0, seconds, f"status {done.returncode}\n{crash[:4000]}")


def shares(inputs: int, names: Sequence[str]) -> dict[str, int]:
    """Return how many inputs each parser gets."""
    from fuzzed import all_parsers

    parsers = all_parsers()
    whole = sum(parsers[name].share for name in names)
    return {name: -(-inputs * parsers[name].share // whole) for name in names}


def main() -> int:
    """Feed all parsers, print a table, and return the status."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("parsers", nargs="*")
    arguments.add_argument("--inputs", type=int, default=1_000_000, help="in all")
    arguments.add_argument("--one", help="feed this one by atheris, in this process")
    arguments.add_argument("--jobs", type=int, default=2)
    chosen = arguments.parse_args()
    sys.path.insert(0, str(HERE))
    if chosen.one:
        follow(chosen.one, chosen.inputs)
    from fuzzed import all_parsers

    names = chosen.parsers or list(all_parsers())
    guided = importlib.util.find_spec("atheris") is not None
    counts = shares(chosen.inputs, names)
    with ThreadPoolExecutor(chosen.jobs if guided else 1) as pool, contextlib.suppress(KeyboardInterrupt):
        done = []
        for each in pool.map(fuzz if guided else mutate, counts, counts.values()):
            print(
                f"{each.name:32} {each.inputs:>8} inputs {each.seconds:7.1f} s {'CRASH' if each.crash else ''}",
                flush=True,
            )
            done.append(each)
    for each in done:
        if each.crash:
            print(f"\n== {each.name}\n{each.crash}")
    crashes = sum(bool(each.crash) for each in done)
    engine = "guided by atheris" if guided else "chance damage; atheris is not installed"
    print(f"{sum(each.inputs for each in done)} inputs to {len(done)} parsers, {crashes} crashes ({engine})")
    return int(crashes > 0)


if __name__ == "__main__":
    sys.exit(main())
