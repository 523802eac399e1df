"""The table of operators whose arguments a graph may get anew, and the class that entries derive from."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

import torch

__all__ = ["NpuGraphOpHandler", "register_npu_graph_handler"]

_Handler = TypeVar("_Handler", bound="type[NpuGraphOpHandler]")
_log = logging.getLogger(__name__)


class NpuGraphOpHandler:
    """
    What to do with an operator when it is captured with ``auto_dispatch_capture=True`` and when its graph is updated.

    Derived classes state in ``UPDATE_SPECS`` by the operator's name where its updates go: rows of ``"arg"`` or
    ``"kwarg"``, the place of the argument, and the key of the update.
    """

    UPDATE_SPECS: ClassVar[Mapping[str, Sequence[tuple[str, Any, str]]]] = {}

    @classmethod
    def prepare_capture(cls, func: object, args: object, kwargs: object) -> tuple[Any, Any, Any]:
        """Return the operator and the arguments that are captured for a call."""
        return func, args, kwargs

    @classmethod
    def postprocess_result(cls, result: object, kwargs: object) -> Any:
        """Return what the script gets for *result*."""
        del kwargs
        return result

    @classmethod
    def get_update_specs(cls, op_name: str) -> Sequence[tuple[str, Any, str]]:
        """Return where the updates of an operator go."""
        return cls.UPDATE_SPECS.get(op_name, [])

    @classmethod
    def update_args(cls, dispatch_record: Any, update_input: Mapping[str, Any]) -> None:
        """Put the values of *update_input* into the arguments of a captured call."""
        for kind, place, key in cls.get_update_specs(dispatch_record.op_cache_entry.__name__):
            if key not in update_input:
                continue
            if kind == "kwarg":
                dispatch_record.kwargs[place] = update_input[key]
            elif kind == "arg" and len(dispatch_record.args) > place:
                dispatch_record.args[place] = update_input[key]

    @classmethod
    def record_wrap_kwarg(cls, key: str, value: object, tensor_param_names: Sequence[str]) -> Any:
        """Return how a captured call keeps an argument: tensors as they are, other values as copies."""
        del key, tensor_param_names
        if isinstance(value, (list, tuple)):
            return type(value)(cls.record_wrap_kwarg("", each, ()) for each in value)
        return value if isinstance(value, torch.Tensor) else copy.deepcopy(value)


_NPU_GRAPH_OP_HANDLERS: dict[str, type[NpuGraphOpHandler]] = {}
"""Handlers by the names of operators, as the vendor's module has them; scripts add theirs."""


def register_npu_graph_handler(op_names: str | Sequence[str]) -> Callable[[_Handler], _Handler]:
    """Return a decorator that lets a class handle operators of these names, such as ``"my_op.default"``."""

    def decorator(handler: _Handler) -> _Handler:
        for name in [op_names] if isinstance(op_names, str) else op_names:
            if name in _NPU_GRAPH_OP_HANDLERS:
                _log.warning(
                    "NpuGraphOpHandler for '%s' is being overridden: %s -> %s",
                    name,
                    _NPU_GRAPH_OP_HANDLERS[name].__name__,
                    handler.__name__,
                )
            _NPU_GRAPH_OP_HANDLERS[name] = handler
        return handler

    return decorator


def _of_lengths(name: str, queries: tuple[int, str], keys: tuple[int, str]) -> type[NpuGraphOpHandler]:
    """Return the handler of an attention operator: its lengths of sequences, by place and name, may change."""
    names = [name, f"{name}.default", f"{name}.out"]
    specs = {each: [("arg", *queries), ("arg", *keys)] for each in names}
    return register_npu_graph_handler(names)(type("AttentionHandler", (NpuGraphOpHandler,), {"UPDATE_SPECS": specs}))


def _of_context(name: str, place: int) -> type[NpuGraphOpHandler]:
    specs = {name: [("arg", place, "context_lens")]}
    return register_npu_graph_handler(name)(type("ContextHandler", (NpuGraphOpHandler,), {"UPDATE_SPECS": specs}))


_of_lengths("npu_fused_infer_attention_score", (5, "actual_seq_lengths"), (6, "actual_seq_lengths_kv"))
_of_lengths("npu_fused_infer_attention_score_v2", (7, "actual_seq_qlen"), (8, "actual_seq_kvlen"))
_of_context("_npu_paged_attention.default", 7)
_of_context("npu_multi_head_latent_attention.out", 5)
