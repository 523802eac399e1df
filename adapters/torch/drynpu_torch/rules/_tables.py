"""From tables of ``aten`` names to rules."""

from __future__ import annotations

import re
from types import ModuleType
from typing import Final

from drynpu.kernels import Rule, bind
from drynpu_torch.rules._call import AtenCall

_ROW_START: Final = re.compile(r"\n(?=\S)")
_TWIN: Final = "(_)"


def aten_rules(family: ModuleType) -> dict[str, Rule]:
    """
    Return the rules of the ``TABLE`` of a module by operator name.

    A row is ``operator (arguments) | names``; operators are functions of the module. A name is ``abs=Abs`` where the
    aclnn interface and the kernel are called alike, ``mish=Mish:Function/Kernel*operations`` where they are not (see
    :meth:`drynpu.kernels.Binding.from_text`); ``abs(_)`` has a twin that works in place.
    """
    rules: dict[str, Rule] = {}
    for row in _ROW_START.split(family.TABLE.strip()):
        head, names = row.split("|")
        operator, arguments = head.strip().split(" ", 1)
        for entry in names.split():
            name, _, spelling = entry.partition("=")
            api, colon, kernel = spelling.partition(":")
            api, kernel = (api, kernel) if colon else (spelling.partition("*")[0], spelling)
            rule = bind(vars(family)[operator], (f"aclnn{api}:" if api else "") + kernel + arguments.strip(), AtenCall)
            plain = name.removesuffix(_TWIN)
            rules |= {f"aten::{variant}": rule for variant in (plain, *([f"{plain}_"] if plain != name else []))}
    return rules
