"""What a framework recorded of its own host side while it ran: layers of its runtime, data pipeline, Python calls."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import field, frozen

from drynpu.arrays import I64, Records
from drynpu.deliverables.framework_mindspore import facts as mindspore_facts
from drynpu.deliverables.framework_mindspore.facts import MS_ABSENT


@frozen(eq=False, kw_only=True)
class FrameworkEvents:
    """
    Events as ``mindspore.op_range`` has them (mindspore_profiler.md 11), but for their times, which are Unix ns.

    Their ``pid`` and ``step`` are not read: the writer of the file fills both.
    """

    records: Records
    """``mindspore_facts.MS_OP_RANGE``, shape ``[n]``."""
    text_index: I64
    """Row of ``texts`` per event, -1 for none."""
    texts: tuple[dict[int, str], ...] = field(repr=False)
    """Distinct sets of texts, ``MsOpRangeField`` -> text."""

    def __len__(self) -> int:
        return len(self.records)

    @classmethod
    def empty(cls) -> FrameworkEvents:
        """Return no events."""
        return cls(records=np.zeros(0, mindspore_facts.MS_OP_RANGE), text_index=np.zeros(0, np.int64), texts=())

    @classmethod
    def join(cls, parts: Sequence[FrameworkEvents]) -> FrameworkEvents:
        """Return the events of several stretches of one recording; numbers of flows stay apart."""
        if not parts:
            return cls.empty()
        moved, first_flow, first_text = [], 0, 0
        for part in parts:
            moved.append((renumbered(part.records, first_flow), part.text_index + first_text * (part.text_index >= 0)))
            first_flow += _last_flow(part.records)
            first_text += len(part.texts)
        return cls(
            records=np.concatenate([records for records, _ in moved]),
            text_index=np.concatenate([index for _, index in moved]),
            texts=tuple(text for part in parts for text in part.texts),
        )


def renumbered(records: Records, first: int) -> Records:
    """Return a copy of the records whose flows have numbers that are greater by *first*."""
    copied = records.copy()
    copied["flow_id"][records["flow_id"] != MS_ABSENT] += np.uint64(first)
    return copied


def _last_flow(records: Records) -> int:
    """Return the greatest number of a flow, 0 without any."""
    flows = records["flow_id"]
    return int(flows[flows != MS_ABSENT].max(initial=0))
