"""From tables of ``aten`` names to rules."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from drynpu.kernels import Operator, Rule, bind
from drynpu_torch.rules._call import AtenCall

_ROW_START: Final = re.compile(r"\n(?=\S)")
_TWIN: Final = "(_)"


def aten_rules(table: str, operators: Mapping[str, Operator]) -> dict[str, Rule]:
    """
    Return the rules of a table by operator name.

    A row is ``operator (arguments) | names``. A name is ``abs=Abs`` where the aclnn interface and the kernel are called
    alike, ``mish=Mish:Function/Kernel*operations`` (see :meth:`drynpu.kernels.Binding.from_text`) where they are not;
    ``abs(_)`` has a twin that works in place.
    """
    rules: dict[str, Rule] = {}
    for row in _ROW_START.split(table.strip()):
        head, names = row.split("|")
        operator, arguments = head.strip().split(" ", 1)
        for entry in names.split():
            name, _, spelling = entry.partition("=")
            api, colon, kernel = spelling.partition(":")
            api, kernel = (api, kernel) if colon else (spelling.partition("*")[0], spelling)
            rule = bind(operators[operator], (f"aclnn{api}:" if api else "") + kernel + arguments.strip(), AtenCall)
            plain = name.removesuffix(_TWIN)
            rules |= {f"aten::{variant}": rule for variant in (plain, *([f"{plain}_"] if plain != name else []))}
    return rules
