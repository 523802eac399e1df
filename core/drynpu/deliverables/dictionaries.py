"""The dictionaries of a recording: text ids and type ids, collected while records are built."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import define, field

from drynpu.arrays import I64, U64, Bools
from drynpu.layouts.tasks import (
    ACL_PREFIXES,
    ACL_TAG_SHIFT,
    MODEL_API_TYPES,
    RUNTIME_TASK_TYPES,
    AclTag,
    NodeType,
    RuntimeType,
)
from drynpu.raw import HostLevel, hash_text

_FIRST_OTHER_TASK_TYPE = 100
"""Beyond `RUNTIME_TASK_TYPES`, below the 800 where task types end (cann_msprof.md 7.2); any such number would do."""


@define
class TextIds:
    """64-bit ids of strings (``hash_dic``)."""

    hashes: dict[int, str] = field(factory=dict)

    def ids(self, texts: Sequence[str]) -> U64:
        """Return the ids of *texts*, shape ``[len(texts)]``, and remember them."""
        ids = [hash_text(text) for text in texts]
        self.hashes.update(zip(ids, texts, strict=True))
        return np.array(ids, np.uint64)


@define
class TypeIds:
    """Numbers of API names and task types per level (``type_info_dic``), given out in order of appearance."""

    types: dict[tuple[int, int], str] = field(factory=dict)
    _known: dict[tuple[int, str], int] = field(factory=dict)

    def api(self, level: HostLevel, name: str) -> int:
        """Return the type id of an API; ``launch`` of the node level has a fixed one."""
        if level is HostLevel.NODE and name == "launch":
            return self._put(level, name, int(NodeType.LAUNCH))
        if level is HostLevel.ACL:
            return self._number(level, name, (_family(name) << ACL_TAG_SHIFT) + 1)
        if level is HostLevel.MODEL and name in MODEL_API_TYPES:
            return self._put(level, name, MODEL_API_TYPES[name])
        return self._number(level, name, int(RuntimeType.FIRST_API) if level is HostLevel.RUNTIME else 1)

    def task(self, name: str) -> int:
        """Return the type id of a runtime task type such as ``KERNEL_AICORE``."""
        known = RUNTIME_TASK_TYPES.get(name)
        if known is not None:
            return self._put(HostLevel.RUNTIME, name, known)
        return self._number(HostLevel.RUNTIME, name, _FIRST_OTHER_TASK_TYPE)

    def _number(self, level: HostLevel, name: str, first: int) -> int:
        if (int(level), name) in self._known:
            return self._known[int(level), name]
        used = {number for at, number in self.types if at == int(level)}
        number = first
        while number in used:
            number += 1
        return self._put(level, name, number)

    def _put(self, level: HostLevel, name: str, number: int) -> int:
        self.types[int(level), number] = name
        self._known[int(level), name] = number
        return number


def _family(name: str) -> AclTag:
    """Return the family of a call into ACL by the beginning of its name."""
    return next((tag for prefix, tag in ACL_PREFIXES.items() if name.startswith(prefix)), AclTag.ACL_OTHERS)


@define
class MarkNumbers:
    """Numbers of marks, from 1 on: they tie a mark of the host to its mark on the device."""

    last: int = 0

    def number(self, wanted: Bools) -> I64:
        """Return the next numbers for those marks that want one, 0 for others."""
        ids = np.where(wanted, self.last + np.cumsum(wanted), 0)
        self.last += int(np.count_nonzero(wanted))
        return ids
