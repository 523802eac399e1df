"""How a framework spells an operator: the kernel, the API, and where it keeps the arguments."""

from __future__ import annotations

import re
from collections.abc import Mapping

from attrs import evolve, field, frozen

from drynpu.kernels._elements import element_operations

_SPELLING = re.compile(
    r"(?:(?P<api>\w+):)?(?:(?P<function>\w+)/)?(?P<kernel>\w*)(?:\*(?P<operations>[\d.]+))?\((?P<arguments>[^()]*)\)"
)
_ARGUMENT = re.compile(r"(?P<name>\w+)(?P<required>!?)(?:@(?P<position>\d+))?(?:=(?P<attribute>\w+))?")
_UNREAD = "."
"""Stands in ``arguments`` for an argument that the operator does not read."""


@frozen
class Binding:
    """
    How one framework spells an operator.

    Attributes
    ----------
    kernel:
        GE's type of the (main) kernel; empty where the operator chooses it.
    api:
        ACL API that launches it, for frameworks that show one.
    function:
        L0 function inside the API that launches it, where it is not the usual one of the type.
    arguments:
        Neutral names of the arguments, by position.
    names:
        Neutral name -> the framework's name of the attribute.
    required:
        Arguments that must be tensors; a call that lacks one has no plan.
    """

    kernel: str = ""
    api: str = ""
    function: str = ""
    arguments: tuple[str, ...] = ()
    names: Mapping[str, str] = field(factory=dict)
    required: tuple[str, ...] = ()
    operations: float = field()
    """Element operations per element; by default the operations of the kernel's type."""

    @operations.default
    def _usual_operations(self) -> float:
        return element_operations(self.kernel)

    @classmethod
    def from_text(cls, text: str) -> Binding:
        """
        Read ``api:function/kernel*operations(argument argument@position=attribute ...)``.

        All before the bracket may be left out. An argument follows the one before it unless it has a position.

        ``BatchMatMulV2(a b turn_a=adj_x turn_b@5)`` has *a* at 0, *b* at 1, *turn_a* at 2 or in the attribute
        ``adj_x``, and *turn_b* at 5. ``scale!`` is required.

        Raises
        ------
        ValueError
            The text is no such spelling, or an argument's position is not behind the argument before it.
        """
        match = _SPELLING.fullmatch(text)
        if match is None:
            raise ValueError(f"not a spelling of an operator: {text!r}; expected api:function/kernel(argument ...)")
        arguments: list[str] = []
        names: dict[str, str] = {}
        required: list[str] = []
        for word in match["arguments"].split():
            argument = _ARGUMENT.fullmatch(word)
            position = int(argument["position"] or len(arguments)) if argument else -1
            if argument is None or position < len(arguments):
                expected = "name, name!, name@position or name=attribute, with a position behind the name before it"
                raise ValueError(f"argument {word!r} of the operator {text!r}: expected {expected}")
            name = argument["name"]
            arguments += [_UNREAD] * (position - len(arguments)) + [name]
            names |= {name: argument["attribute"]} if argument["attribute"] else {}
            required += [name] if argument["required"] else []
        binding = cls(
            match["kernel"], match["api"] or "", match["function"] or "", tuple(arguments), names, tuple(required)
        )
        return evolve(binding, operations=float(match["operations"])) if match["operations"] else binding
