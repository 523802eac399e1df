"""Values of a recording as one file of numpy arrays and a JSON document, read back without running what it holds."""

from __future__ import annotations

import enum
import functools
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import attrs
import numpy as np
from attrs import define, field, frozen

from drynpu._errors import RawFormatError
from drynpu.arrays import Array
from drynpu.device import DispatchKind, LaunchMode
from drynpu.kernels import (
    Accesses,
    Allocations,
    Copy,
    KernelPlan,
    KernelSpec,
    Operators,
    Placement,
    Signature,
    TaskType,
    TensorDesc,
)
from drynpu.layouts.marks import MarkKind
from drynpu.platforms import Interconnect, SlowLink
from drynpu.raw import ClockAnchors
from drynpu.simulate import (
    AclCalls,
    Collective,
    DatasetEvent,
    Destination,
    FrameworkEvents,
    FusionOp,
    GraphPoints,
    GraphRun,
    HostCall,
    HostSamples,
    Iteration,
    Mark,
    PythonFrames,
    Recording,
    StaticMemory,
)

_CLASSES: tuple[type[Any], ...] = (
    Accesses,
    AclCalls,
    Allocations,
    ClockAnchors,
    Collective,
    DatasetEvent,
    Destination,
    FrameworkEvents,
    FusionOp,
    GraphPoints,
    GraphRun,
    HostCall,
    HostSamples,
    Interconnect,
    Iteration,
    KernelPlan,
    KernelSpec,
    Mark,
    Operators,
    PythonFrames,
    Recording,
    Signature,
    SlowLink,
    StaticMemory,
    TensorDesc,
)
_ENUMS: tuple[type[enum.Enum], ...] = (Copy, DispatchKind, LaunchMode, MarkKind, Placement, TaskType)
_BY_NAME = {kind.__name__: kind for kind in (*_CLASSES, *_ENUMS)}
_PLAIN = frozenset((type(None), bool, str, int, float))
"""Types whose values JSON holds as they are."""
_DOCUMENT = "document"
"""Name of the array that holds the JSON text."""

Forms: TypeAlias = dict[int, object]
"""By the id of a value that its owner keeps alive its form in a document, ``None`` before it was needed."""


@frozen
class Text:
    """An object that has no form of its own here, by its spelling."""

    text: str

    def __repr__(self) -> str:
        return self.text


def pack(value: object, shared: Forms | None = None) -> bytes:
    """
    Return *value* as the bytes of a numpy archive.

    It may consist of the values of recordings and plans, arrays, tuples, lists, mappings, paths and plain values.
    Anything else among the attributes of an operator keeps its spelling alone. *shared* names values that later calls
    pack as well, and gets their forms.
    """
    packer = _Packer({} if shared is None else shared)
    document = json.dumps(packer.pack(value), separators=(",", ":"))
    stream = io.BytesIO()
    text = np.frombuffer(document.encode("utf-8", "surrogatepass"), np.uint8)
    np.savez(stream, **packer.arrays, **{_DOCUMENT: text})
    return stream.getvalue()


def unpack(data: bytes) -> Any:
    """
    Return the value that :func:`pack` was given.

    Raises
    ------
    RawFormatError
        The bytes are no such archive, or come from another version of drynpu.
    """
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        document = json.loads(arrays[_DOCUMENT].tobytes().decode("utf-8", "surrogatepass"))
        return _unpacked(document, arrays)
    except Exception as error:  # whatever a damaged archive makes its readers raise
        raise RawFormatError(f"not a part of a recording: {error}") from error


@define
class _Packer:
    shared: Forms
    arrays: dict[str, Array] = field(factory=dict)

    def pack(self, value: object) -> Any:
        kind = type(value)
        if kind in _PLAIN:
            return value
        if kind in _CLASSES:
            return self.shared.get(id(value)) or self._fields(value, kind)
        if isinstance(value, (tuple, list)):
            # Most are shapes and names: they stand as they are.
            items = value if _PLAIN.issuperset(map(type, value)) else [self.pack(each) for each in value]
            return {"list" if kind is list else "tuple": items}
        if isinstance(value, np.ndarray):
            name = str(len(self.arrays))
            self.arrays[name] = value
            return {"array": name}
        if isinstance(value, Mapping):
            return {"mapping": [[self.pack(key), self.pack(item)] for key, item in value.items()]}
        if kind in _ENUMS:
            return {"enum": [kind.__name__, value.name]}  # type: ignore[attr-defined]
        if isinstance(value, Path):
            return {"path": str(value)}
        if isinstance(value, np.generic):
            return self.pack(value.item())
        return str(value) if isinstance(value, str) else {"text": repr(value)}

    def _fields(self, value: object, kind: type[attrs.AttrsInstance]) -> dict[str, object]:
        arrays = len(self.arrays)
        form: dict[str, object] = {"of": kind.__name__}
        for alias, name, default in _fields_of(kind):
            item = getattr(value, name)
            if item is not default:
                form[alias] = item if type(item) in _PLAIN else self.pack(item)
        if id(value) in self.shared and len(self.arrays) == arrays:  # arrays lie in one archive alone
            self.shared[id(value)] = form
        return form


@functools.cache
def _fields_of(kind: type[attrs.AttrsInstance]) -> list[tuple[str, str, object]]:
    """Return the arguments of a class, the attributes that hold them, and their defaults, which need no place."""
    return [(each.alias, each.name, each.default) for each in attrs.fields(kind) if each.init]


def _unpacked(document: object, arrays: Mapping[str, Array]) -> Any:
    if not isinstance(document, dict):
        return document
    if "of" in document:
        fields = {name: _unpacked(item, arrays) for name, item in document.items() if name != "of"}
        return _BY_NAME[document["of"]](**fields)
    ((kind, content),) = document.items()
    if kind == "array":
        return arrays[content]
    if kind in ("tuple", "list"):
        items = (_unpacked(item, arrays) for item in content)
        return tuple(items) if kind == "tuple" else list(items)
    if kind == "mapping":
        return {_unpacked(key, arrays): _unpacked(item, arrays) for key, item in content}
    if kind == "enum":
        return _BY_NAME[content[0]][content[1]]
    return Path(content) if kind == "path" else Text(content)
