"""The parameter map as the device's side reads it."""

from __future__ import annotations

from typing import Any

import pytest

from drynpu import OptionError
from drynpu.options.profiling_options import ProfilingMode
from drynpu_tf.options import NpuOptions, npu_options_of, resolve_profiling

config_pb2: Any = pytest.importorskip("tensorflow.core.protobuf.config_pb2")


def config(*names: str, **parameters: object) -> Any:
    """Return a ConfigProto with a custom optimizer per name, each with the parameters."""
    proto = config_pb2.ConfigProto()
    for name in names or ("NpuOptimizer",):
        optimizer = proto.graph_options.rewrite_options.custom_optimizers.add()
        optimizer.name = name
        for key, value in parameters.items():
            member = {bool: "b", int: "i", bytes: "s"}[type(value)]
            setattr(optimizer.parameter_map[key], member, value)
    return proto


def test_without_the_optimizer_a_session_stays_on_the_host() -> None:
    for proto in (None, config_pb2.ConfigProto(), config("npuoptimizer", use_off_line=True)):
        options = npu_options_of(proto)
        assert options == NpuOptions()
        assert not options.on_device


def test_the_first_optimizer_of_that_name_counts() -> None:
    proto = config("Other", "NpuOptimizer", "NpuOptimizer", profiling_mode=True)
    proto.graph_options.rewrite_options.custom_optimizers[2].parameter_map["profiling_mode"].b = False
    assert npu_options_of(proto).profiling_mode is True


def test_what_is_not_set_has_the_vendors_default() -> None:
    options = npu_options_of(config())
    assert options.on_device
    assert (options.profiling_mode, options.profiling_options, options.iterations_per_loop) == (None, None, 1)


def test_values_and_unknown_names_are_read() -> None:
    options = npu_options_of(
        config(
            use_off_line=False,
            iterations_per_loop=10,
            session_device_id=3,
            sump_mode=b"x",
            profiling_options=b"{}",
        )
    )
    assert not options.on_device
    assert (options.iterations_per_loop, options.session_device_id) == (10, 3)
    assert options.profiling_options == b"{}"
    assert options.parameters["sump_mode"] == b"x"


def test_a_value_set_through_the_wrong_member_reads_as_the_default_of_the_right_one() -> None:
    options = npu_options_of(config(profiling_mode=1, profiling_options=True))
    assert options.profiling_mode is False
    assert options.profiling_options is None


def test_reading_leaves_the_proto_as_it_was() -> None:
    proto = config(profiling_mode=True)
    before = proto.SerializeToString(deterministic=True)
    npu_options_of(proto)
    assert proto.SerializeToString(deterministic=True) == before


def test_who_decides(tmp_path: Any) -> None:
    on = {"PROFILING_MODE": "true", "PROFILING_OPTIONS": f'{{"output":"{tmp_path}/env"}}'}
    own = f'{{"output":"{tmp_path}/own","training_trace":"on"}}'.encode()
    start = resolve_profiling(NpuOptions(present=True, profiling_mode=True, profiling_options=own), on)
    assert start.parsed is not None
    assert start.parsed.request.switches.training_trace
    assert (tmp_path / "own").is_dir()
    assert not (tmp_path / "env").exists()
    assert resolve_profiling(NpuOptions(present=True), on).mode is ProfilingMode.ON
    assert (tmp_path / "env").is_dir()
    off = NpuOptions(present=True, profiling_mode=False, profiling_options=b"not json")
    assert resolve_profiling(off, on).mode is ProfilingMode.OFF
    assert resolve_profiling(off, {"PROFILING_MODE": "dynamic"}).mode is ProfilingMode.DYNAMIC


def test_a_directory_that_cannot_be_made_is_refused(tmp_path: Any) -> None:
    (tmp_path / "file").write_text("")
    text = f'{{"output":"{tmp_path}/file/below"}}'.encode()
    with pytest.raises(OptionError, match="EK0003.*Result path is empty or not accessible"):
        resolve_profiling(NpuOptions(present=True, profiling_mode=True, profiling_options=text), {})
