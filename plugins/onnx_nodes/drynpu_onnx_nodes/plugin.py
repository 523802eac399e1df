"""The hooks of the plugin ``onnx_nodes``; the import is cheap."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drynpu.plugins import hookimpl

if TYPE_CHECKING:
    from drynpu_acl.runtime import Evaluators


@hookimpl
def drynpu_framework_loaded(framework: str, loaded: Evaluators) -> None:
    """Let models be computed with nodes of graphs inside, recurrent layers and quantised products."""
    if framework == "onnx":
        from drynpu_onnx_nodes._evaluation import NestedEvaluation, build_evaluator

        loaded.build, loaded.new_run = build_evaluator, NestedEvaluation
