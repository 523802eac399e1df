"""The facade of ``torchair``, which torch_npu brings: its backend runs graphs operator by operator."""

from __future__ import annotations

from typing import NoReturn

from torch_npu.dynamo.torchair import configs, core, ge, scope
from torch_npu.dynamo.torchair.configs.compiler_config import CompilerConfig
from torch_npu.dynamo.torchair.core.utils import logger

from drynpu_torch_operators.graph_backend import build_backend as get_npu_backend
from drynpu_torch_operators.graph_backend import build_compiler as get_compiler
from drynpu_torch_operators.graph_backend import converter_of as register_fx_node_ge_converter
from drynpu_torch_operators.graph_backend import patch_nothing as patch_for_hcom
from drynpu_torch_operators.graph_backend import patch_nothing as register_replacement
from drynpu_torch_operators.graph_backend import patch_nothing as use_internal_format_weight


def dynamo_export(*args: object, **kwargs: object) -> NoReturn:
    raise NotImplementedError(
        "torchair.dynamo_export exists in torch_npu, but drynpu does not provide it: it converts no graph; "
        "torch.export keeps the graph of a model"
    )


__all__ = [
    "CompilerConfig",
    "configs",
    "core",
    "dynamo_export",
    "ge",
    "get_compiler",
    "get_npu_backend",
    "logger",
    "patch_for_hcom",
    "register_fx_node_ge_converter",
    "register_replacement",
    "scope",
    "use_internal_format_weight",
]
