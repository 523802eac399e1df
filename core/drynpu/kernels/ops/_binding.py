"""From the tables of names to rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Final

from drynpu.kernels._call import Operator, OperatorCall, bind
from drynpu.kernels._rules import Rule, join_rules
from drynpu.kernels.ops import _names, conv, matmul

_TABLES: Final[tuple[tuple[ModuleType, str], ...]] = (
    (matmul, _names.MATMUL),
    (conv, _names.CONVOLUTION),
)


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
        {name: bind(operator, spelling, call_type)}
        for row_framework, name, operator, spelling in _rows()
        if row_framework == framework
    )


def _rows() -> Iterator[tuple[str, str, Operator, str]]:
    """Return (framework, its name of the operator, neutral operator, spelling) for every line of the tables."""
    for module, table in _TABLES:
        operators: Mapping[str, Operator] = vars(module)
        for line in filter(None, table.splitlines()):
            framework, name, operator, spelling = line.split(maxsplit=3)
            yield framework, name, operators[operator], spelling
