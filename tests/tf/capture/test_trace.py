"""What functions, Keras and eager code ran, with shapes, steps and times."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module")
def run(scripts, request):
    return scripts(request.path.with_name("traced_runs.py"))


@pytest.fixture(scope="module")
def parts(run):
    return run.printed("parts")


def of_type(table, kind):
    return [row for row in table if row["type"] == kind]


def fits(parts):
    return [call for call in parts[2]["functions"] if "train_function" in call["function"]]


def test_loop_shows_each_turn_with_shapes(parts):
    first = parts[0]["functions"][0]
    products = of_type(first["operators"], "MatMul")
    assert len(products) == 3
    for product in products:
        assert product["inputs"] == [[[8, 4], "FLOAT"], [[4, 4], "FLOAT"]]
        assert product["outputs"] == [[[8, 4], "FLOAT"]]
        assert product["attributes"] == {"transpose_b": False}


def test_functions_inside_functions_belong_to_the_run(parts):
    (softmax,) = of_type(parts[0]["functions"][0]["operators"], "Softmax")
    assert softmax["outputs"] == [[[8, 4], "FLOAT"]]
    assert len([call for call in parts[0]["functions"] if "soften" in call["function"]]) == 0


def test_keras_fit_is_one_run_per_step(parts):
    assert [call["step"] for call in fits(parts)] == [0, 1, 2]
    for call in fits(parts):
        (convolution,) = of_type(call["operators"], "Conv2D")
        batch = convolution["inputs"][0][0][0]
        # The graph engine puts the bias and the Relu into the convolution.
        assert convolution["inputs"] == [[[batch, 8, 8, 3], "FLOAT"], [[3, 3, 3, 4], "FLOAT"], [[4], "FLOAT"]]
        assert convolution["outputs"] == [[[batch, 8, 8, 4], "FLOAT"]]
        assert convolution["attributes"] == {"padding": "SAME"}
    assert [of_type(call["operators"], "Conv2D")[0]["inputs"][0][0][0] for call in fits(parts)] == [16, 16, 8]


def test_gradients_are_told_apart(parts):
    table = fits(parts)[0]["operators"]
    assert of_type(table, "Conv2DBackpropFilter")[0]["backward"]
    assert not of_type(table, "Conv2D")[0]["backward"]


def test_input_pipelines_are_no_runs(parts):
    """The Sigmoid of the data set runs on the host."""
    tables = [call["operators"] for call in fits(parts)]
    assert [len(of_type(table, "Sigmoid")) for table in tables] == [0, 0, 0]
    assert [len(of_type(table, "GetNext")) for table in tables] == [1, 1, 1]


def test_each_step_takes_its_batch_from_the_buffer(parts):
    for call in fits(parts):
        ((row, source, end, buffered),) = call["takes"]
        taking = call["operators"][row]
        assert (taking["type"], source) == ("GetNext", "iterator")
        assert taking["outputs"][0][0][1:] == [8, 8, 3]
        # A thread of its own gets the data, after the node has asked for it.
        assert taking["start"] < end <= call["end"]
        users = [each for each in call["operators"] if each["type"] == "Conv2D"]
        assert end <= users[0]["start"]
        assert 0 <= buffered <= 2


def test_fusions_name_their_nodes(parts):
    (fusion,) = [made for made in fits(parts)[0]["fusions"] if "conv2d" in made["name"] and "tape" not in made["name"]]
    assert [node.rpartition("/")[2] for node in fusion["nodes"]] == ["Conv2D", "BiasAdd", "Relu"]


def test_functions_known_before_have_shapes_and_attributes(parts):
    (call,) = [call for call in parts[2]["functions"] if "known_before" in call["function"]]
    (mean,) = of_type(call["operators"], "Mean")
    assert mean["inputs"][0] == [[8, 4], "FLOAT"]
    assert mean["outputs"] == [[[8], "FLOAT"]]


def test_times_lie_in_the_call_and_in_order(parts):
    calls = [call for part in parts for call in part["functions"]]
    assert len(calls) >= 6
    for call in calls:
        starts = [row["start"] for row in call["operators"]]
        assert starts == sorted(starts)
        assert all(call["start"] <= row["start"] <= row["end"] <= call["end"] for row in call["operators"])
    starts = [call["start"] for call in calls]
    assert starts == sorted(starts)


def test_threads_are_those_of_the_process(run, parts):
    main, worker = run.printed("threads")
    loops = [call for call in parts[0]["functions"] if "loop" in call["function"]]
    assert [call["thread"] for call in loops] == [main, worker]
    assert {row["thread"] for call in loops[1:] for row in call["operators"]} == {worker}
    assert [row["thread"] for row in parts[0]["eager"] if row["type"] == "MatMul"] == [worker]


def test_eager_operators_have_shapes_attributes_and_times(parts):
    (product,) = of_type(parts[2]["eager"], "MatMul")
    assert product["inputs"] == [[[8, 4], "FLOAT"], [[8, 4], "FLOAT"]]
    assert product["outputs"] == [[[8, 8], "FLOAT"]]
    assert product["attributes"] == {"transpose_b": True}
    assert product["end"] > product["start"]


def test_beside_another_profiler_eager_operators_are_left(run, parts):
    refused, taken, again = run.printed("refused")
    assert refused is None
    assert again is None
    assert "TensorBoard" in taken
    assert parts[1]["functions"] == []
    assert [row["type"] for row in parts[1]["eager"]] == ["Relu"]
    assert list((run.folder / "their_log").glob("plugins/profile/*/*.xplane.pb"))


def test_nothing_is_heard_after_the_end(run):
    assert run.printed("left") == 0
