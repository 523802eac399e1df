"""Which kernel types something is known of: a family by their name, a rule of an operator, or measured kernels."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches

from attrs import frozen

from drynpu.kernels import Calibration, counted_types, is_of_family
from drynpu.kernels.ops import kernel_types

_VARIANT = re.compile(r"(V\d+)?D?(V\d+)?$")
"""Ends the type of a version of a kernel, and of one whose axes are known when it is compiled."""
_OF_LISTS = re.compile(r"Foreach(?P<type>\w+?)(List|Scalar|ScalarList|Tensor)?")


@frozen
class KnownTypes:
    """The kernel types that are known beside those whose family their name says."""

    by_folded: dict[str, str]

    @classmethod
    def from_calibration(cls, calibration: Calibration) -> KnownTypes:
        """Return the types of all rules, of counted work, and of what *calibration* measured."""
        levels = (level for each in calibration.generations.values() for level in each.levels)
        measured = {name for level in levels for name in _parts(level.partition("/")[2])}
        return cls({_folded(name): name for name in sorted(kernel_types() | counted_types() | measured) if name})

    def __contains__(self, op_type: str) -> bool:
        return is_of_family(op_type) or any(_folded(part) in self.by_folded for part in _parts(op_type))

    def nearest(self, op_type: str) -> str:
        """Return a sentence for a type that is not known, which names the nearest ones that are."""
        folded = _folded(op_type)
        (nearest,) = get_close_matches(folded, self.by_folded, n=1, cutoff=0)
        others = [self.by_folded[name] for name in get_close_matches(folded, self.by_folded, n=3) if name != nearest]
        more = f", then {' and '.join(map(repr, others))}" if others else ""
        return (
            f"{op_type!r} has no time: no rule, family or measured kernel has this type. The nearest known type is "
            f"{self.by_folded[nearest]!r}{more}."
        )


def _parts(op_type: str) -> Iterator[str]:
    """Yield a type, the types that it fuses, and the type of which it is the form for lists of tensors."""
    yield op_type
    yield from op_type.removeprefix("FusionOp_").split("_")
    of_lists = _OF_LISTS.fullmatch(op_type)
    if of_lists is not None:
        yield of_lists["type"]


def _folded(op_type: str) -> str:
    return _VARIANT.sub("", op_type).casefold()
