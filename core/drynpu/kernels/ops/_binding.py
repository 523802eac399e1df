"""From the tables of names to rules."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Final

from attrs import frozen

from drynpu.kernels._call import Operator, OperatorCall, bind
from drynpu.kernels._rules import Rule, join_rules
from drynpu.kernels.ops import _names, attention, conv, dropout, loss, matmul, norm, pool, recurrent

_TABLES: Final[tuple[tuple[ModuleType, str], ...]] = (
    (matmul, _names.MATMUL),
    (conv, _names.CONVOLUTION),
    (pool, _names.POOLING),
    (norm, _names.NORMALISATION),
    (loss, _names.LOSS),
    (dropout, _names.DROPOUT),
    (recurrent, _names.RECURRENT),
    (attention, _names.ATTENTION),
)

_ROW_START: Final = re.compile(r"\n+(?=\S)")


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


def _rows() -> Iterator[_Row]:
    for module, table in _TABLES:
        operators: Mapping[str, Operator] = vars(module)
        for line in _ROW_START.split(table.strip()):
            framework, head, names = (part.strip() for part in line.split("|"))
            operator, arguments = head.split(maxsplit=1)
            for entry in names.split():
                name, given, kernel = entry.partition("=")
                yield _Row(framework, name, operators[operator], (kernel if given else name) + arguments)
