"""What a script on Ascend is told when it ends because an operator cannot be computed: MindSpore's text says CPU."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Final

from drynpu_mindspore.patching import SimulatedDevice

_ABSENT = re.compile(
    r"Unsupported op \[(?P<a>\w+)\] on CPU, [^\n]*|The kernel (?P<b>\w+) unregistered\.|"
    r"Not found op N9mindspore6kernel7pyboost\d+(?P<c>\w+)E on device \d+"
)
_TYPES = re.compile(
    r"Select CPU operator\[(\w+)\] fail! Unsupported data type!\s*The supported data types are (.*?),?\s*"
    r"but get input(\[.*?\]), output(\[.*?\])\.",
    re.DOTALL,
)
_LISTED = "docs/lists/mindspore-calls.yaml of drynpu lists calls that are computed"
_INSTEAD: Final = (
    (r"NPU\w*FloatStatus", "nn.TrainOneStepWithLossScaleCell and amp.all_finite look for overflow in the gradients"),
    (
        r"MatmulAllReduce|MoeDistribute",
        "call the collective (mint.distributed) and what computes around it (mint.matmul ...) one by one",
    ),
    (r"Moe|Gmm|Group|TopKRouter", "mint.index_select, mint.bmm and mint.index_add of each expert compute the same"),
    (r"Attention|^Mla|KVCache|KvScale|ReshapeAndCache", "ops.flash_attention_score computes it over whole sequences"),
    (r"Quant", "mint.matmul of the numbers that are meant computes the same"),
    (r"", f"compose it of functions of mindspore.mint; {_LISTED}"),
)
"""What computes the same, by the primitive's name; the first that is found in it."""

Hook = Callable[[type[BaseException], BaseException, TracebackType | None], object]


def reword(text: str) -> str:
    """Return a message of MindSpore's with Ascend in it, where it says that the CPU lacks an operator or a type."""
    text = _ABSENT.sub(lambda match: _absent(match["a"] or match["b"] or match["c"]), text)
    return _TYPES.sub(
        lambda match: (
            f"drynpu does not compute {match[1]}, which Ascend has, for input{match[3]} and output{match[4]}. "
            f"Cast its arguments: {_TOO_MANY.sub('...', match[2])}."
        ),
        text,
    )


_TOO_MANY = re.compile(r"(?<=.{300}).*", re.DOTALL)


def _absent(primitive: str) -> str:
    instead = next(text for pattern, text in _INSTEAD if re.search(pattern, primitive))
    return f"Ascend has the operator {primitive}, but drynpu has no computation for it: {instead}."


def speak_of_ascend(device: SimulatedDevice) -> None:
    """Have an error that ends a script on Ascend shown in the words of :func:`reword`."""
    show: Hook = sys.excepthook

    def shown(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> object:
        if device.is_ascend and len(error.args) == 1 and isinstance(error.args[0], str):
            error.args = (reword(error.args[0]),)
        return show(kind, error, trace)

    sys.excepthook = shown
