"""A mode that sees every operator which PyTorch runs in a thread."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class OperatorMode(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """
    Sees every operator that PyTorch runs while the mode is on; a subclass says what becomes of it.

    A higher-order operator (``auto_functionalized``, ``cond``, ...) is no operator of a device. The mode sees those
    that it consists of. PyTorch refuses such operators under a mode that does not ask for them.
    """

    supports_higher_order_operators = True

    @abstractmethod
    def operator(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the results of an operator."""

    def __torch_dispatch__(
        self,
        func: object,
        types: Sequence[type],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        """Hand an operator over, or each one that it consists of."""
        del types
        if isinstance(func, torch._ops.HigherOrderOperator):
            with self:
                return func.dispatch(  # type: ignore[no-untyped-call]
                    torch._C.DispatchKey.PrivateUse1, *args, **(kwargs or {})
                )
        return self.operator(func, tuple(args), dict(kwargs or {}))
