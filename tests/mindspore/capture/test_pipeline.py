"""What the dataset profiler leaves."""

from __future__ import annotations

import json

import pytest

from drynpu import CaptureError
from drynpu_mindspore.capture import parse_pipeline, read_pipeline

PIPELINE = {
    "op_info": [
        {
            "op_id": 1, "op_type": "MapOp", "num_workers": 4, "children": [2],
            "metrics": {"output_queue": {"length": 16, "size": [0, 8, 16]}},
        },
        {
            "op_id": 0, "op_type": "DeviceQueueOp", "num_workers": 1, "children": [1], "metrics": None,
        },
        {
            "op_id": 2, "op_type": "GeneratorOp", "num_workers": 1,
            "metrics": {"output_queue": {"length": 4, "size": []}},
        },
    ],
    "sampling_interval": 1000,
}  # fmt: skip
USE = {
    "cpu_processor_num": 8,
    "device_info": {"user_utilization": [50, 60], "idle_utilization": [40, 30]},
    "op_info": [
        {"op_id": -1, "metrics": {"user_utilization": [1], "sys_utilization": [1]}},
        {"op_id": 1, "metrics": {"user_utilization": [30, 40], "sys_utilization": [5, 5]}},
    ],
    "process_info": {"user_utilization": [20, 20], "sys_utilization": [1, 2]},
}
TRACE = "0 0 1 24 1000\n1 16 1 3 1000\n0 2 2 15 1016\nbroken line\n"


def documents(**more):
    return {"pipeline": json.dumps(PIPELINE), "cpu_utilization": json.dumps(USE), "device_queue": TRACE} | more


def test_operators_are_rows_in_the_order_of_their_ids():
    pipeline = parse_pipeline(documents())
    assert len(pipeline) == 3
    assert pipeline.op_types == ("DeviceQueueOp", "MapOp", "GeneratorOp")
    assert pipeline.workers.tolist() == [1, 4, 1]
    assert pipeline.parent.tolist() == [-1, 0, 1]
    assert pipeline.children == ((1,), (2,), ())
    assert pipeline.queue_length.tolist() == [-1, 16, 4]
    assert [sizes.tolist() for sizes in pipeline.queue_sizes] == [[], [0, 8, 16], []]
    assert [used.tolist() for used in pipeline.user_percent] == [[], [30, 40], []]
    assert pipeline.cpu_count == 8
    assert pipeline.machine["idle_utilization"].tolist() == [40, 30]
    assert pipeline.process["sys_utilization"].tolist() == [1, 2]


def test_whole_lines_of_the_trace_are_kept():
    pipeline = parse_pipeline(documents())
    assert pipeline.trace.tolist() == [[0, 0, 1, 24, 1000], [1, 16, 1, 3, 1000], [0, 2, 2, 15, 1016]]
    assert pipeline.sinks
    assert not parse_pipeline({"pipeline": json.dumps(PIPELINE), "dataset_iterator": TRACE}).sinks


def test_files_are_handed_on_as_they_are(tmp_path):
    (tmp_path / "pipeline_profiling_3.json").write_text(json.dumps(PIPELINE))
    (tmp_path / "dataset_iterator_profiling_3.txt").write_text(TRACE)
    pipeline = read_pipeline(tmp_path, 3)
    assert pipeline.texts() == {"pipeline": json.dumps(PIPELINE), "dataset_iterator": TRACE}
    assert pipeline.cpu_count == 0
    assert read_pipeline(tmp_path, 4) is None
    assert len(read_pipeline(tmp_path)) == len(pipeline)


@pytest.mark.parametrize("text", ["{", "[]", '{"op_info": [{}], "sampling_interval": 5}', '{"op_info": []}'])
def test_other_documents_are_refused(text):
    with pytest.raises(CaptureError, match="pipeline"):
        parse_pipeline({"pipeline": text})
