"""Arguments that a row of names places by position stand there in MindSpore's own declaration of the operator."""

from __future__ import annotations

import re
from typing import Any

import pytest

from drynpu.kernels import Binding
from drynpu.kernels.ops.names import rows_of

SCRIPT = """
import inspect, json, sys
from mindspore.ops.auto_generate import gen_ops_prim
declared = {}
for name, kind in vars(gen_ops_prim).items():
    if inspect.isclass(kind) and "__call__" in vars(kind):
        parts = [list(inspect.signature(part).parameters)[1:] for part in (kind.__call__, kind.__init__)]
        declared[name] = parts[0] + parts[1]
print("declared=" + json.dumps(declared))
"""
CALLED = {
    "b": "weight|x2",
    "dy": "dy|dout",
    "groups": "groups",
    "heads": "head_num|num_heads",
    "index": "index|indices",
    "key": "key|key_cache|kv_cache",
    "key_heads": "num_key_value_heads",
    "layout": "input_layout",
    "mode": "sparse_mode",
    "offset": "bias",
    "rows": "updates",
    "scale": "weight",
    "table": "block_tables?",
    "training": "training",
    "transposed": "transposed",
    "turn_a": "transpose_x1?",
    "turn_b": "transpose_(x2|weight)",
    "updates": "src|dout",
    "x": "x1?|input|var|mean",
    "y": "grad",
}
"""Neutral name of an argument -> what MindSpore calls it, for the operators whose rows say positions."""
ROWS = {
    name: Binding.from_text(spelling).arguments
    for row in rows_of("mindspore")
    if "@" in row.arguments
    for name, spelling in row.spellings()
}
NOT_DECLARED = {
    "BNTrainingUpdate",
    "BNTrainingReduceGrad",
    "DynamicRNN",
    "DynamicRNNGrad",
    "DynamicGRUV2",
    "DynamicGRUV2Grad",
}
"""The graph engine's operators: MindSpore has no declaration with a call for them."""
REORDERED = {"BatchNormGradExt"}
"""The class takes output_mask before training; the operator itself, whose calls are captured, has it last."""


@pytest.fixture(scope="module")
def declared(scripts: Any) -> dict[str, list[str]]:
    declared: dict[str, list[str]] = scripts(SCRIPT).printed("declared")
    return declared


@pytest.mark.parametrize("name", sorted(ROWS.keys() - NOT_DECLARED - REORDERED))
def test_mindspore_declares_the_argument_at_that_position(declared: dict[str, list[str]], name: str) -> None:
    places = [(argument, at) for at, argument in enumerate(ROWS[name]) if argument in CALLED]
    assert places
    for argument, at in places:
        assert re.fullmatch(CALLED[argument], declared[name][at]), (argument, at, declared[name])
