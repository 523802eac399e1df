"""
Scopes of ``npu_bridge.estimator.npu.npu_scope``: they mark operators for the graph engine, and change nothing here.

The marks are attributes of the nodes, as the vendor's are; TensorFlow ignores attributes that begin with an underscore.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import tensorflow.compat.v2 as tf
from tensorflow.core.framework import attr_value_pb2

from drynpu_tf.bridge.config import NpuExecutePlacement


@contextlib.contextmanager
def marked(**marks: Any) -> Iterator[None]:
    """Give these attributes (bool, int or text) to every operator that is made inside."""
    values = {}
    for name, value in marks.items():
        member = {bool: "b", int: "i"}.get(type(value), "s")
        values[name] = attr_value_pb2.AttrValue(**{member: value.encode() if member == "s" else value})
    if tf.executing_eagerly():
        yield
        return
    with tf.compat.v1.get_default_graph()._attr_scope(values):
        yield


def without_npu_compile_scope() -> contextlib.AbstractContextManager[None]:
    """Keep operators on the host (mixed computing)."""
    return marked(_without_npu_compile=True)


def npu_variable_scope(
    placement: NpuExecutePlacement = NpuExecutePlacement.ALL,
) -> contextlib.AbstractContextManager[None]:
    """Place variables. Raises ``ValueError`` for what is no ``NpuExecutePlacement``."""
    if not isinstance(placement, NpuExecutePlacement):
        raise ValueError("placement vaule must be in NpuExecutePlacement's vaule")  # the vendor's spelling
    return marked(_variable_placement=placement.value)


def keep_dtype_scope() -> contextlib.AbstractContextManager[None]:
    """Keep the precision of operators."""
    return marked(_keep_dtype=1)


def npu_stage_scope(stage: int) -> contextlib.AbstractContextManager[None]:
    """Put operators into a stage of a pipeline."""
    return marked(_stage_level=stage)


def npu_mem_type_scope() -> contextlib.AbstractContextManager[None]:
    """Put outputs into memory that other devices can write."""
    return marked(_output_memory_type=1)


def npu_recompute_scope() -> contextlib.AbstractContextManager[None]:
    """Recompute operators in the backward pass instead of keeping their results."""
    return marked(_recompute=True)


def npu_weight_prefetch_scope(
    buffer_pool_id: int = 0, buffer_pool_size: int = 536870912
) -> contextlib.AbstractContextManager[None]:
    """Fetch weights ahead into a pool of *buffer_pool_size* bytes."""
    return marked(_buffer_pool_id=buffer_pool_id, _buffer_pool_size=buffer_pool_size)


def op_specified_engine_scope(engine_name: str, kernel_lib_name: str) -> contextlib.AbstractContextManager[None]:
    """Choose the engine and the library of operators."""
    return marked(_specified_engine_name=engine_name, _specified_kernel_lib_name=kernel_lib_name)
