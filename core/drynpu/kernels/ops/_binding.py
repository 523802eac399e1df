"""From the names of operators to rules."""

from __future__ import annotations

from drynpu.kernels._binding import Binding
from drynpu.kernels._call import Operator, OperatorCall, bind
from drynpu.kernels._rules import Rule, join_rules
from drynpu.kernels.ops.names import FRAMEWORKS, rows_of


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
        An operator has two names that are the same.
    """
    return join_rules(
        {name: bind(row.operator, spelling, call_type)}
        for row in rows_of(framework)
        for name, spelling in row.spellings()
    )


def kernel_types_of(framework: str, *operators: Operator) -> dict[str, str]:
    """Return the kernel types of the framework's operators that are some of the neutral *operators*, by name."""
    return {
        name: Binding.from_text(spelling).kernel
        for row in rows_of(framework)
        if row.operator in operators
        for name, spelling in row.spellings()
    }


def kernel_types() -> frozenset[str]:
    """Return the kernel types of all operators of all frameworks."""
    spellings = (spelling for framework in FRAMEWORKS for row in rows_of(framework) for _, spelling in row.spellings())
    return frozenset(Binding.from_text(spelling).kernel for spelling in spellings) - {""}
