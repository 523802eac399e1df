"""
Write the types of torch_npu's operators, which exist at run time alone, from their schemas.

    python tools/facade_stubs.py [--check]

With ``--check`` it writes nothing, and ends with 1 if the stub and the operators differ.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import torch_npu  # noqa: F401 - it registers the operators

from drynpu_torch_operators.operators import TYPE_NUMBERS, exported

ROOT = Path(__file__).parents[1]
STUB = ROOT / "plugins" / "torch_operators" / "vendor" / "torch_npu" / "_operator_names.pyi"
HEAD = '''\
# Written by tools/facade_stubs.py from the schemas of the operators; a test compares them.
"""The operators of ``torch_npu``."""

from collections.abc import Sequence
from typing import Any, NoReturn, overload

import torch

'''
NAMES = {
    "Tensor": "torch.Tensor",
    "int": "int",
    "SymInt": "int",
    "float": "float",
    "bool": "bool",
    "str": "str",
    "number": "float",
    "Scalar": "float",
    "ScalarType": "torch.dtype",
    "Layout": "torch.layout",
    "Device": "torch.device | str",
    "Generator": "torch.Generator",
    "MemoryFormat": "torch.memory_format",
}


def type_name(kind: Any, *, argument: bool) -> str:
    """Return the type of an argument or a result of a schema as Python writes it."""
    word = kind.kind()
    if word == "OptionalType":
        return f"{type_name(kind.getElementType(), argument=argument)} | None"
    if word == "ListType":
        element = type_name(kind.getElementType(), argument=argument)
        return f"Sequence[{element}]" if argument else f"list[{element}]"
    if word == "TupleType":
        return f"tuple[{', '.join(type_name(each, argument=argument) for each in kind.elements())}]"
    return NAMES.get(kind.annotation_str, NAMES.get(str(kind), "Any"))


def signature(schema: Any) -> str:
    """Return the parameters and the result of an operator's schema."""
    parts: list[str] = []
    for argument in schema.arguments:
        if argument.kwarg_only and "*" not in parts:
            parts.append("*")
        named = argument.real_type if hasattr(argument, "real_type") else argument.type
        has_default = " = ..." if argument.has_default_value() else ""
        parts.append(f"{argument.name}: {type_name(named, argument=True)}{has_default}")
    results = [type_name(each.type, argument=False) for each in schema.returns]
    result = "None" if not results else results[0] if len(results) == 1 else f"tuple[{', '.join(results)}]"
    return f"({', '.join(parts)}) -> {result}: ..."


def definitions(name: str, value: Any) -> Iterator[str]:
    """Yield the lines of one operator: one for each of its overloads."""
    packet = value if isinstance(value, torch._ops.OpOverloadPacket) else getattr(torch.ops.npu, name, None)
    if type(value).__name__ == "RefusedOperator":
        yield f"def {name}(*args: Any, **kwargs: Any) -> NoReturn: ..."
        return
    if not hasattr(packet, "overloads"):
        yield f"def {name}(*args: Any, **kwargs: Any) -> Any: ..."
        return
    schemas = [getattr(packet, overload)._schema for overload in packet.overloads()]
    for schema in schemas:
        if len(schemas) > 1:
            yield "@overload"
        yield f"def {name}{signature(schema)}"


def stub() -> str:
    """Return the whole stub."""
    operators = exported()
    names = [f'    "{name}",' for name in sorted({*operators, *TYPE_NUMBERS})]
    lines = [*(line for name in sorted(operators) for line in definitions(name, operators[name]))]
    numbers = [f"{name}: int" for name in sorted(TYPE_NUMBERS)]
    return HEAD + "\n".join(["__all__ = [", *names, "]", "", *numbers, "", *lines]) + "\n"


def main() -> int:
    """Write the stub, or compare it; return the exit status."""
    now = stub()
    if "--check" in sys.argv[1:]:
        same = STUB.exists() and STUB.read_text(encoding="utf-8") == now
        if not same:
            print(f"{STUB.relative_to(ROOT)} is old: python tools/facade_stubs.py", file=sys.stderr)
        return int(not same)
    STUB.write_text(now, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
