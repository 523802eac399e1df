"""The facade of ``torchair.configs.compiler_config``."""

from __future__ import annotations

from drynpu_torch_operators.graph_backend import CompilerConfig

__all__ = ["CompilerConfig"]
