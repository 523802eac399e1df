"""The files of MindSpore's CPU profiler."""

from __future__ import annotations

import numpy as np

from drynpu_mindspore.capture import is_backward, primitive_of
from drynpu_mindspore.capture._describe import describe
from drynpu_mindspore.capture._graphs import GraphStore
from drynpu_mindspore.capture._launches import read_launches

BASE = 1_795_287_434_683_184_846
TIMES = f"""\
Default/a-A/MatMul-op0;HostCpuOps;{BASE},0.0015,0 {BASE + 10_000},0.002,0 
Default/b-B/MatMul-op0;HostCpuOps;{BASE + 5_000},0.006,0 {BASE + 15_000},0.001,0 
ReLU;HostCpuOps;{BASE + 7_000},1e-06,0
cut short;HostCpuOps
"""  # noqa: W291
RECORDED = """\
MatMul;MatMul-op0;7;input_1:[4, 2];input_2:[2, 3];input_3:NoShape;
MatMul;MatMul-op0;7;input_1:[4, 3];input_2:[3, 5];input_3:NoShape;
;;7;
MatMul;MatMul-op0;7;input_1:[4, 2];input_2:[2, 3];input_3:NoShape;
MatMul;MatMul-op0;7;input_1:[4, 3];input_2:[3, 5];input_3:NoShape;
"""


def written(folder, times=TIMES, recorded=RECORDED):
    (folder / "cpu_op_execute_timestamp_0.txt").write_text(times)
    (folder / "cpu_framework_0.txt").write_text(recorded)
    return read_launches(folder)


def test_columns_in_the_order_of_the_starts(tmp_path):
    launches = written(tmp_path)
    assert [launches.names[i] for i in launches.name] == [
        "Default/a-A/MatMul-op0",
        "Default/b-B/MatMul-op0",
        "ReLU",
        "Default/a-A/MatMul-op0",
        "Default/b-B/MatMul-op0",
    ]
    # Nanoseconds are exact: more digits than a double has.
    assert (launches.start_ns - BASE).tolist() == [0, 5_000, 7_000, 10_000, 15_000]
    assert (launches.end_ns - launches.start_ns).tolist() == [1_500, 6_000, 1, 2_000, 1_000]


def test_the_kth_line_of_a_name_is_its_kth_launch(tmp_path):
    launches = written(tmp_path)
    inputs = [launches.described[i].split(";")[3] if i >= 0 else "" for i in launches.description]
    assert inputs == ["input_1:[4, 2]", "input_1:[4, 3]", "", "input_1:[4, 2]", "input_1:[4, 3]"]


def test_lines_that_do_not_fit_are_not_used(tmp_path):
    launches = written(tmp_path, recorded=RECORDED.partition("\n")[2])
    assert launches.description.tolist()[:2] == [-1, -1]


def test_files_bear_the_number_of_the_rank(tmp_path):
    (tmp_path / "cpu_op_execute_timestamp_3.txt").write_text(TIMES)
    (tmp_path / "cpu_framework_3.txt").write_text(RECORDED)
    launches = read_launches(tmp_path)
    assert (len(launches), max(launches.description)) == (5, 2)


def test_no_files_are_no_launches(tmp_path):
    launches = read_launches(tmp_path)
    assert len(launches) == 0
    assert len(describe(launches, GraphStore(), 1)) == 0


def test_operators_without_graphs_have_shapes_and_no_types(tmp_path):
    table = describe(written(tmp_path), GraphStore(), 77)
    assert set(table.thread) == {77}
    assert [call.name for call in table.signatures] == ["MatMul", "MatMul", "ReLU"]
    assert table.texts == ((";;", "4,2;2,3;"), (";;", "4,3;3,5;"), ("", ""))
    # The second launch lasted beyond the start of the third: one thread launches one after another.
    assert (table.end_ns[:-1] <= table.start_ns[1:]).all()
    assert (table.end_ns - table.start_ns).tolist() == [1_500, 2_000, 1, 2_000, 1_000]


def test_starts_at_the_same_time_stay_apart(tmp_path):
    same = f"A;HostCpuOps;{BASE},0.001,0\nB;HostCpuOps;{BASE},0.001,0\n"
    table = describe(written(tmp_path, same, ""), GraphStore(), 1)
    assert (np.diff(table.start_ns) > 0).all()
    assert (table.end_ns > table.start_ns).all()


def test_names():
    assert primitive_of("Default/network-Net/fc-Dense/MatMul-op12") == "MatMul"
    assert primitive_of("Conv2D") == "Conv2D"
    assert is_backward("Gradients/Default/network-Net/fc-Dense/Grad_MatMul/MatMul-op1")
    assert is_backward("ReluGrad")
    assert is_backward("Default/Conv2DBackpropFilter-op0")
    assert not is_backward("Default/network-Gradual/MatMul-op1")
    assert not is_backward("Default/optimizer-SGD/SGD-op0")
