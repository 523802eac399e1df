"""What the script called becomes a table of operators."""

from __future__ import annotations

import numpy as np

from drynpu_tf.capture._function_runs import FunctionRuns
from drynpu_tf.capture._functions import FunctionGraphs
from drynpu_tf.capture._planes import Kind, Planes
from drynpu_tf.capture._runs import function_runs

MAIN, WORKER, OTHER = 1, 2, 3
TEXTS = ("", "loop", "while", "While", "inside", "Mul", "(float[4,2];float[4,2])")


def test_a_node_ends_with_its_call_at_the_latest() -> None:
    """The thread that only started the While lost its processor, and ended its event after the call was over."""
    rows = (
        (Kind.EAGER, 1, -1, -1, 1, MAIN, 100, 200),
        (Kind.FUNCTION, 0, -1, -1, 7, MAIN, 101, 199),
        (Kind.EXECUTOR, 0, -1, -1, 7, WORKER, 110, 260),
        (Kind.NODE, 2, 3, -1, 0, WORKER, 120, 250),
        (Kind.EXECUTOR, 0, -1, -1, 7, OTHER, 130, 190),
        (Kind.NODE, 4, 5, 6, 0, OTHER, 131, 180),
    )
    kind, text, op_type, extra, number, thread, start, end = np.array(rows, np.int64).T
    planes = Planes(
        kind=kind.astype(np.int8),
        text=text.astype(np.int32),
        op_type=op_type.astype(np.int32),
        extra=extra.astype(np.int32),
        number=number,
        thread=thread,
        start_ns=start,
        end_ns=end,
        texts=TEXTS,
    )
    functions = FunctionRuns(FunctionGraphs(traced={"loop": None}, outputs={"loop": {}}))
    (run,) = functions.tables(planes, function_runs(planes), {}, default_thread=5)
    assert (run.function, run.start_ns, run.end_ns) == ("loop", 100, 200)
    assert run.operators.start_ns.tolist() == [120, 131]
    assert run.operators.end_ns.tolist() == [200, 180]
