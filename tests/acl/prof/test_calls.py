"""What every function takes, returns and answers to nonsense."""

from __future__ import annotations

import random

import pytest

NAMES = [
    "create_config",
    "destroy_config",
    "init",
    "finalize",
    "start",
    "stop",
    "set_config",
    "model_subscribe",
    "model_unsubscribe",
    "model_un_subscribe",
    "create_subscribe_config",
    "destroy_subscribe_config",
    "get_op_desc_size",
    "get_op_num",
    "get_op_type",
    "get_op_name",
    "get_op_type_v2",
    "get_op_name_v2",
    "get_op_type_len",
    "get_op_name_len",
    "get_op_start",
    "get_op_end",
    "get_op_duration",
    "get_model_id",
    "create_step_info",
    "destroy_step_info",
    "get_step_timestamp",
    "create_stamp",
    "destroy_stamp",
    "set_stamp_trace_message",
    "mark",
    "mark_ex",
    "push",
    "pop",
    "range_start",
    "range_stop",
]
IGNORING = ("finalize", "pop", "create_stamp", "create_step_info", "get_op_desc_size")


def test_the_names_are_the_bound_ones(acl):
    assert sorted(acl.calls) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_keywords_are_refused_by_every_function(acl, name):
    with pytest.raises(TypeError, match="no keyword arguments"):
        acl.calls[name](config=1)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in IGNORING])
def test_a_wrong_number_of_arguments_is_refused(acl, name):
    with pytest.raises(TypeError, match=r"acl\.prof\.\w+ args parse failed"):
        acl.calls[name](*[1] * 9)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("init", "acl.prof.Init args parse failed!"),
        ("create_config", "acl.prof.create_config args parse failed!"),
        ("set_config", "acl.prof.set_config args parse failed!"),
        ("mark_ex", "acl.prof.mark_ex args parse failed!"),
        ("model_subscribe", "acl.prof.model_subscribe args parse failed"),
        ("model_un_subscribe", "acl.prof.model_unsubscribe args parse failed"),
        ("create_subscribe_config", "acl.prof.create_subscribe_config args parse failed"),
        ("get_op_type_v2", "acl.prof.get_op_type args parse failed"),
        ("get_op_name_len", "acl.prof.get_op_name args parse failed"),
        ("get_step_timestamp", "acl.prof.get_step_timestamp args parse failed"),
        ("destroy_step_info", "acl.prof.destroy_step_info args parse failed"),
    ],
)
def test_the_texts_of_parse_errors(acl, name, text):
    with pytest.raises(TypeError) as raised:
        acl.calls[name]()
    assert str(raised.value) == text


def test_the_module_has_nothing_else():
    import acl.prof

    found = {name for name in vars(acl.prof) if not name.startswith("_")}
    assert found - {"annotations"} == set(NAMES)


@pytest.mark.parametrize("name", IGNORING)
def test_arguments_that_are_not_looked_at(acl, name):
    assert acl.calls[name](1, "two", None) == acl.calls[name]() or name.startswith("create")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("init", (b"out",)),
        ("init", ("out\0",)),
        ("start", (1.0,)),
        ("start", (None,)),
        ("init", ("out\udc80",)),
        ("set_config", (16, "\udcff")),
        ("set_config", (2**31, "1")),
        ("set_config", (3, 15)),
        ("create_subscribe_config", (256, 0, 1)),
        ("create_subscribe_config", (-1, 0, 1)),
        ("create_config", ([0], 2**31, 0, 1)),
        ("mark_ex", (b"m", 0)),
    ],
)
def test_arguments_of_a_wrong_type_or_size(acl, name, arguments):
    with pytest.raises(TypeError, match="args parse failed"):
        acl.calls[name](*arguments)


def test_handles_and_masks_wrap_around(acl):
    config = acl.create_config([0], 0, 0, 2**64 + 1)
    assert acl.destroy_config(config + 2**64) == 0
    assert acl.range_stop(2**32 + 99) == -1


def test_device_lists(make):
    acl = make(DEVICES="2")
    assert acl.create_config([0, 1], 0, 0, 1) != 0
    assert acl.create_config([], 0, 0, 0x80) != 0
    for devices in ([0, 0], [2], [0, 1, 2], []):
        assert acl.create_config(devices, 0, 0, 1) == 0
    assert acl.create_config([0], 0, 1, 1) == 0
    with pytest.raises(TypeError, match="argument 1 is not list"):
        acl.create_config((0,), 0, 0, 1)
    with pytest.raises(TypeError, match="the first argument is not list of int"):
        acl.create_config(["0"], 0, 0, 1)
    for device in (-1, 2**64):
        with pytest.raises(ValueError, match="PyLong_AsUnsignedLong failed"):
            acl.create_config([device], 0, 0, 1)


@pytest.mark.parametrize(
    ("config_type", "text", "code"),
    [
        (1, "200MB", 0),
        (1, "199MB", 100010),
        (1, "500", 100010),
        (2, "1", 100010),
        (3, "15", 0),
        (3, "100", 0),
        (3, "101", 100010),
        (3, " 15", 100010),
        (3, "15.0", 100010),
        (3, "", 100010),
        (4, "read", 0),
        (4, "capacity", 100010),
        (6, "50", 0),
        (6, "51", 100010),
        (8, "cpu,mem", 0),
        (8, "cpu,", 100010),
        (9, "cpu,mem", 0),
        (9, "disk", 100010),
        (14, "Add,MatMul", 0),
        (14, "Add,,MatMul", 100010),
        (15, "1", 100000),
        (16, "out", 0),
        (16, "a;b", 100010),
        (0, "1", 100000),
        (-1, "1", 100000),
        (17, "1", 100000),
        (14, "A" * 257, 100000),
    ],
)
def test_values_of_set_config(acl, config_type, text, code):
    assert acl.set_config(config_type, text) == code


def test_whatever_a_script_passes_gives_a_code_or_an_exception(acl):
    """Handles are looked up: wild numbers, freed handles and handles of another kind crash nothing."""
    chance = random.Random(7)
    stamp, step = acl.create_stamp(), acl.create_step_info()
    config, subscription = acl.create_config([0], 0, 0, 0x82), acl.create_subscribe_config(1, 255, 0)
    pool = [0, 1, 80, 4096, 2**63, 2**64 - 1, -1, 2**70, stamp, step, config, subscription, "x", [0], None, 1.5]
    # Not those that would begin recordings, nor close what a wild number happens to be open as.
    names = [name for name in NAMES if name not in ("init", "start", "finalize", "model_subscribe")]
    for name in names:
        for _ in range(60):
            arguments = [chance.choice(pool) for _ in range(chance.randrange(5))]
            try:
                acl.calls[name](*arguments)
            except (TypeError, ValueError) as error:
                assert str(error)
