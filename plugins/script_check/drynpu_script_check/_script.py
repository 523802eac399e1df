"""The script does not get through its first steps, or nothing of it runs on the npu."""

from __future__ import annotations

import re
import sysconfig
from collections.abc import Iterator, Sequence
from pathlib import Path

import drynpu
from drynpu.checks import Observation, Place
from drynpu.options import Severity
from drynpu_script_check._mistake import Mistake

_FRAME = re.compile(r'^\s*File "(?P<file>[^"]+)", line (?P<line>[0-9]+)')
_ERROR = re.compile(r"^(?P<kind>[A-Za-z_][\w.]*): (?P<text>.*)$")
_TWO_DEVICES = "Expected all tensors to be on the same device"
_CONTRIB = re.compile(r"module 'tensorflow\S*' has no attribute 'contrib'|tensorflow\.contrib'|has no tf\.contrib")
"""What TensorFlow, Python and drynpu say of ``tf.contrib``."""
_LIBRARIES = re.compile(r"[/\\](?:site|dist)-packages[/\\]")
_RANK_VARIABLES = ("LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "'RANK'")
_MOST = 300
"""Characters of an error's text that are shown."""


def script_mistakes(exit_code: int, errors: str, observations: Sequence[Observation]) -> Iterator[Mistake]:
    """Yield why a script failed, from its exit code and what it printed on stderr, or that it leaves the npu alone."""
    if exit_code:
        noted = next((each.failure for each in observations if each.failure is not None), None)
        lines = errors.rstrip().splitlines()
        place, said = (noted.place, noted.text) if noted else (_last_place(lines), _last_error(lines))
        yield _failure(exit_code, _shortened(said), place)
        return
    native = [each for each in observations if each.served_by == "native"]
    if native and not any(each.operators or each.waits or each.peak_allocated_bytes for each in native):
        yield Mistake(
            name="nothing-on-npu",
            level=Severity.ERROR,
            title="Nothing runs on the npu",
            evidence="No operator had a tensor on the npu, and no memory was taken there.",
            fix='Move the model and each batch to it: model.to("npu"), batch.to("npu").',
        )


def _failure(exit_code: int, said: str, place: Place | None) -> Mistake:
    if _TWO_DEVICES in said:
        return Mistake(
            name="mixed-devices",
            level=Severity.ERROR,
            title="Tensors of two devices meet",
            evidence=said,
            fix='Move what is still on the host with .to("npu"): masks, positions, targets and constants are'
            " forgotten most.",
            place=place,
        )
    if _CONTRIB.search(said):
        return Mistake(
            name="tensorflow-contrib",
            level=Severity.ERROR,
            title="TensorFlow 2 has no tf.contrib",
            evidence=said,
            fix="With import tensorflow as tf, drynpu run --tf1 serves most of it, and says for the rest what to take."
            " Elsewhere take tf_slim for slim and layers, tf.nn.rnn_cell for rnn, tensorflow_addons for seq2seq.",
            place=place,
        )
    alone = any(name in said for name in _RANK_VARIABLES)
    return Mistake(
        name="script-fails",
        level=Severity.ERROR,
        title="The script fails",
        evidence=said or f"It ended with status {exit_code}.",
        fix="Start it as its ranks are started: drynpu check -m torch.distributed.run --nproc-per-node 2 train.py"
        if alone
        else "Mend the error; --show-output shows all that the script prints. A script that needs values (branches on"
        " results, asserts on losses) runs with --compute.",
        place=place,
    )


def _last_place(lines: Sequence[str]) -> Place | None:
    """Return the innermost line of the last traceback that belongs to no library."""
    place = None
    standard = Path(sysconfig.get_path("stdlib"))
    ours = Path(drynpu.__file__).parent
    for line in lines:
        match = _FRAME.match(line)
        if match is None or match["file"].startswith("<") or _LIBRARIES.search(match["file"]):
            continue
        file = Path(match["file"])
        if not file.is_relative_to(standard) and not file.is_relative_to(ours):
            place = Place(match["file"], int(match["line"]))
    return place


def _last_error(lines: Sequence[str]) -> str:
    """Return the line that names the last error."""
    for line in reversed(lines):
        if _ERROR.match(line):
            return line
    return ""


def _shortened(text: str) -> str:
    shown = drynpu.printable(" ".join(text.split()))
    return shown if len(shown) <= _MOST else f"{shown[:_MOST]} ..."
