"""From the tables of names to rules."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Final

from attrs import frozen

from drynpu.kernels._binding import Binding
from drynpu.kernels._call import Operator, OperatorCall, bind
from drynpu.kernels._rules import Rule, join_rules
from drynpu.kernels._table_rows import table_rows
from drynpu.kernels.ops import (
    _fused_names,
    _names,
    _rare_names,
    _vector_names,
    attention,
    conv,
    creation,
    elementwise,
    fused,
    matmul,
    movement,
    norm,
    pool,
    recurrent,
    reduction,
    scatter,
    update,
)

_TABLES: Final[tuple[tuple[ModuleType, str], ...]] = (
    (matmul, _names.MATMUL),
    (conv, _names.CONVOLUTION),
    (pool, _names.POOLING),
    (norm, _names.NORMALISATION),
    (reduction, _names.LOSS),
    (creation, _names.DROPOUT),
    (recurrent, _names.RECURRENT),
    (attention, _names.ATTENTION),
    (fused, _fused_names.FUSED),
    (fused, _rare_names.RARE),
    (elementwise, _vector_names.ELEMENTWISE),
    (reduction, _vector_names.REDUCTION),
    (movement, _vector_names.MOVEMENT),
    (creation, _vector_names.CREATION),
    (scatter, _vector_names.SCATTER),
    (update, _vector_names.UPDATE),
)
_OPTIONAL: Final = re.compile(r"\((\w+)\)")


@frozen
class _Row:
    """An operator of a framework: its name, the neutral operator, and the spelling for a binding."""

    framework: str
    name: str
    operator: Operator
    spelling: str


def rules_of(framework: str, call_type: type[OperatorCall] = OperatorCall) -> dict[str, Rule]:
    """
    Return the rules of all neutral operators that a framework has, by its own names for them.

    Parameters
    ----------
    framework:
        ``torch``, ``tf``, ``mindspore`` or ``onnx``.
    call_type:
        How calls of the framework are read and its kernels named.

    Raises
    ------
    ValueError
        An operator has more than one line.
    """
    return join_rules(
        {row.name: bind(row.operator, row.spelling, call_type)} for row in _rows() if row.framework == framework
    )


def kernel_types_of(framework: str, *operators: str) -> dict[str, str]:
    """Return the kernel types of the framework's operators that are some of the neutral *operators*, by name."""
    return {
        row.name: Binding.from_text(row.spelling).kernel
        for row in _rows()
        if row.framework == framework and row.operator.__name__ in operators
    }


def kernel_types() -> frozenset[str]:
    """Return the kernel types of all operators of all frameworks."""
    return frozenset(Binding.from_text(row.spelling).kernel for row in _rows()) - {""}


def _rows() -> Iterator[_Row]:
    for module, table in _TABLES:
        operators: Mapping[str, Operator] = vars(module)
        for line in table_rows(table):
            framework, head, names = (part.strip() for part in line.split("|"))
            operator, arguments = head.split(maxsplit=1)
            for entry in names.split():
                name, given, kernel = entry.partition("=")
                name, times, count = name.partition("*")
                plain = _OPTIONAL.sub("", name)
                spelling = (kernel if given else plain + times + count) + arguments
                for variant in dict.fromkeys((plain, _OPTIONAL.sub(r"\1", name))):
                    yield _Row(framework, variant, operators[operator], spelling)
