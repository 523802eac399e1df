"""The facade of ``apex.amp.lists``: what level O1 casts; scripts change the lists before ``initialize``."""

from __future__ import annotations

from apex.amp.lists import functional_overrides, tensor_overrides, torch_overrides

__all__ = ["functional_overrides", "tensor_overrides", "torch_overrides"]
