"""Several ranks: what MindSpore's modules call to communicate is computed here, and noted in recordings."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Sequence
from typing import Any, Final

from drynpu_mindspore.inside import replace_everywhere
from drynpu_mindspore.loaded import LoadedMindSpore
from drynpu_mindspore_kernels.communication import Exchange, build_operators

_OPERATORS: Final = "mindspore.ops.auto_generate.gen_ops_prim"
_INNER: Final = "mindspore.ops.operations._inner_ops"
_MANAGEMENT: Final = "mindspore.communication.management"


def build_exchange(loaded: LoadedMindSpore) -> Exchange:
    """Return what collectives of this process need."""
    return Exchange(loaded.backend.ranks, loaded.backend.note, _rank, _members)


def _rank() -> int:
    from mindspore.communication import GlobalComm, get_rank

    return int(get_rank()) if GlobalComm.INITED else 0


def _members(group: str) -> Sequence[int]:
    from mindspore.communication import get_process_group_ranks

    return list(get_process_group_ranks(group))


# N18, docs/tricks.md
def replace_collectives(exchange: Exchange) -> None:
    """Put operators in the places of those that MindSpore's modules call, and forget groups that it ends."""
    from drynpu_mindspore_kernels.communication._functional import replace_calls
    from drynpu_mindspore_kernels.communication._shared_statistics import SyncBatchNorm

    generated = importlib.import_module(_OPERATORS)
    for name, operator in build_operators(exchange).items():
        if (genuine := getattr(generated, name, None)) is not None:
            replace_everywhere(name, genuine, operator)
    replace_calls(generated)
    if (genuine := getattr(importlib.import_module(_INNER), SyncBatchNorm.__name__, None)) is not None:
        replace_everywhere(SyncBatchNorm.__name__, genuine, SyncBatchNorm)
    management = importlib.import_module(_MANAGEMENT)
    if (genuine := getattr(management, "destroy_group", None)) is not None:
        replace_everywhere("destroy_group", genuine, _forgotten(genuine, exchange))


def _forgotten(genuine: Callable[..., Any], exchange: Exchange) -> Callable[..., Any]:
    @functools.wraps(genuine)
    def destroy_group(group: object) -> None:
        genuine(group)
        exchange.forget(group)

    return destroy_group
