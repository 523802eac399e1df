"""How a framework spells an operator: the kernel, the API, and where it keeps the arguments."""

from __future__ import annotations

import re
from collections.abc import Mapping

from attrs import evolve, field, frozen

from drynpu.kernels._elements import element_operations

_SPELLING = re.compile(
    r"(?:(?P<api>\w+):)?(?:(?P<function>\w+)/)?(?P<kernel>\w*)(?:\*(?P<operations>[\d.]+))?\((?P<arguments>[^()]*)\)"
)


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
        Read ``api:function/kernel*operations(argument argument=attribute ...)``.

        All before the bracket may be left out.

        ``BatchMatMulV2(a b turn_a=adj_x turn_b=adj_y)`` has *a* first, *b* second, and *turn_a* third or in the
        attribute ``adj_x``. ``scale!`` is required.
        """
        match = _SPELLING.fullmatch(text)
        if match is None:
            raise ValueError(f"not a spelling of an operator: {text!r}; expected api:function/kernel(argument ...)")
        pairs = [argument.partition("=") for argument in match["arguments"].split()]
        names = {neutral: name for neutral, _, name in pairs if name}
        arguments = tuple(neutral.rstrip("!") for neutral, _, _ in pairs)
        required = tuple(neutral.rstrip("!") for neutral, _, _ in pairs if neutral.endswith("!"))
        found = cls(match["kernel"], match["api"] or "", match["function"] or "", arguments, names, required)
        return evolve(found, operations=float(match["operations"])) if match["operations"] else found
