"""The facade of ``torchair.ge.attr``: attributes of nodes."""

from __future__ import annotations

from drynpu_torch_operators.graph_backend import attribute_of

Int = attribute_of("Int")
Float = attribute_of("Float")
Bool = attribute_of("Bool")
Str = attribute_of("Str")
DataType = attribute_of("DataType")
ListInt = attribute_of("ListInt")
ListFloat = attribute_of("ListFloat")
ListBool = attribute_of("ListBool")
ListStr = attribute_of("ListStr")
ListDataType = attribute_of("ListDataType")
ListListInt = attribute_of("ListListInt")
ListListFloat = attribute_of("ListListFloat")

__all__ = [
    "Bool",
    "DataType",
    "Float",
    "Int",
    "ListBool",
    "ListDataType",
    "ListFloat",
    "ListInt",
    "ListListFloat",
    "ListListInt",
    "ListStr",
    "Str",
]
