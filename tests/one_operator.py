"""
Print the kernels that one framework's rules give for its operators of one_operator.yaml: ``one_operator.py FRAMEWORK``.

A process for each framework, because rules may load it. The answer is a JSON list of ``[kernel type, task type, ns]``
for each kernel, by ``kind/number/type``.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import yaml

from drynpu.kernels import Signature, TensorDesc, cost, node_signature
from drynpu.platforms import load_chip

RULES = {
    "torch": "drynpu_torch.rules",
    "tf": "drynpu_tf.rules",
    "mindspore": "drynpu_mindspore.rules",
    "onnx": "drynpu_acl.kernels",
}
TABLE = Path(__file__).with_name("one_operator.yaml")
ROWS, COLUMNS, BATCH = 128, 1000, 4
TYPES = ("FLOAT", "FLOAT16")
FLAGS = ("check", "comparison", "logic", "inverted")
OTHER_TYPES = {"whole": "INT32", "flipped": "INT32", "logic": "BOOL", "inverted": "BOOL", "truth": "BOOL"}
INPUTS = {"unary": 1, "check": 1, "inverted": 1, "flipped": 1, "reversed": 1, "three": 3}
"""How many tensors the operators of a kind take; the others take two."""
Call = tuple[list[Any], list[Any], list[Any], dict[str, Any]]
"""Inputs, attributes by position (PyTorch), outputs, attributes by name (the others)."""


def call(kind: str, framework: str, name: str, dtype: str) -> Call:
    """Return what an operator of that kind is called with."""
    x = TensorDesc((ROWS, COLUMNS), OTHER_TYPES.get(kind, dtype))
    if kind == "update":
        return updated(framework, name, x)
    if kind in SPECIAL:
        return SPECIAL[kind](framework, x)
    inputs: list[Any] = [x] * INPUTS.get(kind, 2)
    if kind == "choice":
        inputs = [TensorDesc(x.shape, "BOOL"), *inputs]
    return inputs, [], [TensorDesc(x.shape, "BOOL") if kind in FLAGS else x], {}


def updated(framework: str, name: str, x: TensorDesc) -> Call:
    """TensorFlow's optimizers take states, numbers and the gradient; MindSpore's all in one."""
    states, numbers = UPDATES[name]
    number = TensorDesc((), x.dtype)
    if framework == "tf":
        before = 3 if name == "ApplyFtrl" else states
        inputs = [*[x] * before, *([] if name == "ApplyFtrl" else [number] * numbers), x]
        return [*inputs, *([number] * numbers if name == "ApplyFtrl" else [])], [], [x], {}
    return [*[x] * states, x, *[number] * numbers], [], [x] * states, {}


UPDATES = {
    "ApplyGradientDescent": (1, 1),
    "ApplyMomentum": (2, 1),
    "ApplyAdagrad": (2, 1),
    "ApplyAdagradV2": (2, 2),
    "ApplyProximalAdagrad": (2, 3),
    "ApplyFtrl": (3, 4),
    "ApplyAdadelta": (3, 3),
    "ApplyRMSProp": (3, 4),
    "ApplyAdaMax": (3, 5),
    "ApplyAdam": (3, 6),
    "Adam": (3, 6),
    "ApplyCenteredRMSProp": (4, 4),
}
"""States and numbers of each."""


def joined(framework: str, x: TensorDesc) -> Call:
    result = TensorDesc((2 * ROWS, COLUMNS), x.dtype)
    axis = TensorDesc((), "INT32")
    if framework == "torch":
        return [(x, x), None], [None, 0], [], {}
    return [x, x, axis] if framework == "tf" else [x, x], [], [result], {"N": 2, "axis": 0}


def row_wise(framework: str, x: TensorDesc) -> Call:
    if framework == "torch":
        return [x, None, None], [None, 1, False], [], {}
    return [x], [], [x], {"axis": 1, "dim": 1}


def reduction(framework: str, x: TensorDesc) -> Call:
    result = TensorDesc((ROWS,), x.dtype)
    if framework == "torch":
        return [x, None, None], [None, [1], False], [], {}
    axes = TensorDesc((1,), "INT32")
    return [x, axes] if framework == "tf" else [x], [], [result], {"axis": 1, "axes": [1], "keep_dims": False}


def scan(framework: str, x: TensorDesc) -> Call:
    if framework == "torch":
        return [x, None], [None, 1], [], {}
    return [x, TensorDesc((), "INT32")] if framework in ("tf", "onnx") else [x], [], [x], {}


def product(framework: str, x: TensorDesc) -> Call:
    other, result = TensorDesc((COLUMNS, 256), x.dtype), TensorDesc((ROWS, 256), x.dtype)
    return [x, other], [], [] if framework == "torch" else [result], {}


def batched_product(framework: str, x: TensorDesc) -> Call:
    left, right = TensorDesc((BATCH, ROWS, COLUMNS), x.dtype), TensorDesc((BATCH, COLUMNS, 256), x.dtype)
    return [left, right], [], [] if framework == "torch" else [TensorDesc((BATCH, ROWS, 256), x.dtype)], {}


def lookup(framework: str, x: TensorDesc) -> Call:
    index, axis, result = TensorDesc((500,), "INT32"), TensorDesc((), "INT32"), TensorDesc((500, COLUMNS), x.dtype)
    return [x, index, axis] if framework == "tf" else [x, index], [], [result], {}


def points(framework: str, x: TensorDesc) -> Call:
    del framework
    return [x, TensorDesc((500, 2), "INT32")], [], [TensorDesc((500,), x.dtype)], {}


def smaller(framework: str, x: TensorDesc) -> Call:
    ends = [TensorDesc((2,), "INT32")] * 3 if framework == "tf" else []
    return [x, *ends], [], [TensorDesc((ROWS // 2, COLUMNS), x.dtype)], {}


def turned(framework: str, x: TensorDesc) -> Call:
    order = [TensorDesc((2,), "INT32")] if framework == "tf" else []
    return [x, *order], [], [TensorDesc((COLUMNS, ROWS), x.dtype)], {"perm": [1, 0]}


def bigger(framework: str, x: TensorDesc) -> Call:
    sizes = [TensorDesc((2,), "INT32")] if framework != "mindspore" else []
    return [x, *sizes], [], [TensorDesc((2 * ROWS, COLUMNS), x.dtype)], {}


def stacked(framework: str, x: TensorDesc) -> Call:
    if framework == "torch":
        return [(x, x), None], [None, 0], [], {}
    return [x, x], [], [TensorDesc((2, ROWS, COLUMNS), x.dtype)], {"N": 2, "axis": 0}


def cut(framework: str, x: TensorDesc) -> Call:
    half = TensorDesc((ROWS // 2, COLUMNS), x.dtype)
    axis = [TensorDesc((), "INT32")] if framework == "tf" else []
    return [*axis, x], [], [half, half], {"num_split": 2, "axis": 0}


def truth(framework: str, x: TensorDesc) -> Call:
    return [x, TensorDesc((1,), "INT32")] if framework == "tf" else [x], [], [TensorDesc((ROWS,), "BOOL")], {}


def picture(framework: str, x: TensorDesc) -> Call:
    """TensorFlow's images have their channels last."""
    last = framework == "tf"
    sizes, results = ((4, 32, 32, 16), (4, 16, 16, 16)) if last else ((4, 16, 32, 32), (4, 16, 16, 16))
    window: list[int] = [1, 2, 2, 1] if last else [1, 1, 2, 2] if framework == "mindspore" else [2, 2]
    named = dict.fromkeys(("ksize", "kernel_size", "kernel_shape", "strides"), window)
    data_format = {"data_format": "NHWC" if last else "NCHW"}
    return (
        [TensorDesc(sizes, x.dtype)],
        [],
        [TensorDesc(results, x.dtype)],
        {**named, **data_format, "padding": "VALID"},
    )


def classes(framework: str, x: TensorDesc) -> Call:
    del framework
    return [x, x], [], [TensorDesc((ROWS,), x.dtype), x], {}


def places(framework: str, x: TensorDesc) -> Call:
    del framework
    return [x, TensorDesc((50, 1), "INT32"), TensorDesc((50, COLUMNS), x.dtype)], [], [x], {}


def segments(framework: str, x: TensorDesc) -> Call:
    del framework
    result = TensorDesc((10, COLUMNS), x.dtype)
    return [x, TensorDesc((ROWS,), "INT32"), TensorDesc((), "INT32")], [], [result], {}


_ALL = (joined, row_wise, reduction, scan, product, batched_product, lookup, points, smaller, turned, bigger, stacked)
SPECIAL = {each.__name__: each for each in (*_ALL, cut, truth, picture, classes, places, segments)}
"""Kinds whose shapes are their own."""


def operators() -> dict[str, list[list[str | None]]]:
    """Return the operators by kind."""
    return {kind: rows for kind, rows in yaml.safe_load(TABLE.read_text()).items() if kind != "differs"}


def signature_of(framework: str, module: Any, name: str, called: Call) -> Signature:
    """Return the signature of a call, made as the framework's adapter makes it."""
    inputs, positional, outputs, named = called
    if framework == "torch":
        return Signature(name, tuple(inputs), tuple(positional))
    if framework == "mindspore":
        plain = {key: tuple(value) if isinstance(value, list) else value for key, value in named.items()}
        found: Signature = module.signature(name, inputs, outputs, plain)
        return found
    return node_signature(name, inputs, outputs, named, node="node")


def kernels(framework: str) -> dict[str, Any]:
    """Return the kernels of every operator of the table that *framework* has."""
    module: Any = importlib.import_module(RULES[framework])
    rules, chip, place = module.build_rules(), load_chip("Ascend910B2"), list(RULES).index(framework)
    found = {}
    for kind, rows in operators().items():
        for number, names in enumerate(rows):
            name = names[place]
            if name is None:
                continue
            for dtype in TYPES:
                signature = signature_of(framework, module, name, call(kind, framework, name, dtype))
                answers = (rule(signature) for rule in (rules.get(name), *getattr(module, "FALLBACKS", ())) if rule)
                plan = next((answer for answer in answers if answer is not None), None)
                specs = () if plan is None else plan.kernels
                found[f"{kind}/{number}/{dtype}"] = [
                    [each.op_type, each.task_type.name, cost(each, chip).duration_ns] for each in specs
                ]
    return found


if __name__ == "__main__":
    print(json.dumps(kernels(sys.argv[1])))
