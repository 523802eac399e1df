"""A recording of a whole process, from ``import torch`` to its end: what ``drynpu msprof <app>`` asks for."""

from __future__ import annotations

import atexit
import os

from drynpu import DrynpuError
from drynpu.session import CollectionOrder, CollectionReport
from drynpu_torch.profiler._result import Result

__all__ = ["start_collection"]


def start_collection(text: str) -> None:
    """
    Start recording; what was recorded is written when the process ends.

    A process that ran no operator leaves nothing. A process that was forked off leaves nothing either: it shares the
    recording of its parent.

    Parameters
    ----------
    text:
        A `CollectionOrder` as text.

    Raises
    ------
    OptionError
        The order cannot be read. Any other failure is reported to whoever gave it; the application goes on.
    """
    order = CollectionOrder.from_text(text)
    result = Result(request=order.request)
    try:
        result.init(order.directory)
        result.start()
    except DrynpuError as error:
        order.report(CollectionReport(notes=(str(error),)))
        return
    owner = os.getpid()

    def finish() -> None:
        if os.getpid() != owner:
            return
        try:
            result.stop()
            outcome = result.write() if result.operators else None
            if outcome is not None:
                order.report(CollectionReport(path=outcome.prof_path, notes=outcome.notes))
        except DrynpuError as error:
            order.report(CollectionReport(notes=(str(error),)))

    atexit.register(finish)
