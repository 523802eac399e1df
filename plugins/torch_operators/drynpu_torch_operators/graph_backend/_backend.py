"""The backend for ``torch.compile`` and the compiler for ``aot_autograd``."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any, Final

import torch

from drynpu_torch_operators.graph_backend._options import CompilerConfig

_NOTICE: Final = (
    "the simulated npu does not model fused graphs: torchair's backend traces and differentiates the graph, and runs "
    "it operator by operator; options of CompilerConfig are without effect"
)


def build_backend(
    *, compiler_config: CompilerConfig | None = None, custom_decompositions: Mapping[Any, Any] | None = None
) -> Callable[..., Any]:
    """Return a backend that runs a graph operator by operator."""
    del compiler_config, custom_decompositions
    from torch._dynamo.backends.registry import lookup_backend  # takes a second to import

    warnings.warn(_NOTICE, stacklevel=2)
    eager = lookup_backend("aot_eager")

    def backend(graph: torch.fx.GraphModule, inputs: Any, **options: Any) -> Any:
        del options
        return eager(graph, inputs)

    return backend


def build_compiler(compiler_config: CompilerConfig | None = None) -> Callable[..., Any]:
    """Return a compiler for ``aot_autograd`` that leaves a traced graph as it is."""
    del compiler_config
    warnings.warn(_NOTICE, stacklevel=2)
    return lambda graph, *_: graph
