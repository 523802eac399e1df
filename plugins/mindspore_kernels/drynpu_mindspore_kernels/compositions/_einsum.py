"""
Sums of products by Einstein's convention, composed of operators as a device composes them.

MindSpore's own composition refuses in PyNative on the CPU. Imported where MindSpore is loaded.
"""

from __future__ import annotations

import math
import string
from typing import Any

from mindspore import mint

_REST = "..."


def einsum(equation: Any, operands: Any) -> Any:
    """
    Return the sum of products that *equation* says, of operands with one label for each dim.

    Two operands at a time are joined by one batched product of matrices.

    Raises
    ------
    ValueError
        A label stands twice in an operand, whose diagonal would be taken.
    """
    inputs, output = _labels(str(equation).replace(" ", ""), operands)
    doubled = [labels for labels in inputs if len(set(labels)) != len(labels)]
    if doubled:
        raise ValueError(f"the label of a dim stands twice in {doubled[0]!r}, which einsum does not compute")
    labels, result = inputs[0], operands[0]
    for place, (more, operand) in enumerate(zip(inputs[1:], operands[1:], strict=True), 1):
        later = set(output).union(*inputs[place + 1 :])
        labels, result = _joined(labels, result, more, operand, later)
    result = _summed(labels, result, set(output))
    labels = "".join(label for label in labels if label in output)
    return mint.permute(result, tuple(labels.index(label) for label in output)) if labels != output else result


def _labels(equation: str, operands: Any) -> tuple[list[str], str]:
    """Return the labels of every operand and of the result, each dim that an ellipsis stands for by one of its own."""
    left, arrow, output = equation.partition("->")
    inputs = left.split(",")
    unused = [letter for letter in string.ascii_letters if letter not in equation]
    most = 0
    for place, (labels, operand) in enumerate(zip(inputs, operands, strict=True)):
        if _REST in labels:
            count = operand.ndim - len(labels) + len(_REST)
            most = max(most, count)
            inputs[place] = labels.replace(_REST, "".join(unused[:count][::-1]))
    rest = "".join(unused[:most][::-1])
    if not arrow:
        joined = "".join(inputs)
        single = sorted(label for label in set(joined) if joined.count(label) == 1 and label not in rest)
        return inputs, rest + "".join(single)
    return inputs, output.replace(_REST, rest)


def _summed(labels: str, operand: Any, kept: set[str]) -> Any:
    axes = tuple(place for place, label in enumerate(labels) if label not in kept)
    return mint.sum(operand, axes) if axes else operand


def _joined(labels: str, operand: Any, more: str, other: Any, later: set[str]) -> tuple[str, Any]:
    """Return labels and value of the product of two operands, summed over what nothing later has."""
    operand, labels = _summed(labels, operand, later | set(more)), _kept(labels, later | set(more))
    other, more = _summed(more, other, later | set(labels)), _kept(more, later | set(labels))
    both = [label for label in labels if label in more]
    batch = [label for label in both if label in later]
    inner = [label for label in both if label not in later]
    rows = [label for label in labels if label not in more]
    columns = [label for label in more if label not in labels]
    sizes = {**dict(zip(more, other.shape, strict=True)), **dict(zip(labels, operand.shape, strict=True))}
    left = _arranged(labels, operand, (batch, rows, inner), sizes)
    right = _arranged(more, other, (batch, inner, columns), sizes)
    result = "".join((*batch, *rows, *columns))
    return result, mint.reshape(mint.bmm(left, right), tuple(sizes[label] for label in result))


def _kept(labels: str, kept: set[str]) -> str:
    return "".join(label for label in labels if label in kept)


def _arranged(labels: str, operand: Any, groups: tuple[list[str], ...], sizes: dict[str, int]) -> Any:
    """Return an operand as a batch of matrices: one dim for each group of labels."""
    order = tuple(labels.index(label) for group in groups for label in group)
    moved = mint.permute(operand, order) if order != tuple(range(len(order))) else operand
    return mint.reshape(moved, tuple(math.prod(sizes[label] for label in group) for group in groups))
