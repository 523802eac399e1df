"""Operators of torch_npu that drynpu does not compute: their names exist, and a call says what would do the same."""

from __future__ import annotations

from typing import NoReturn


class RefusedOperator:
    """Stands for an operator; calling it, or any of its overloads, raises."""

    def __init__(self, name: str, substitute: str) -> None:
        self.__name__ = name
        self._substitute = substitute

    def __call__(self, *args: object, **kwargs: object) -> NoReturn:
        """Raise NotImplementedError with the name of the operator and what computes the same."""
        del args, kwargs
        raise NotImplementedError(
            f"torch_npu.{self.__name__} exists in torch_npu, but drynpu does not compute it; {self._substitute}"
        )

    @property
    def default(self) -> RefusedOperator:
        """The only overload of most operators."""
        return self

    @property
    def out(self) -> RefusedOperator:
        """The overload that writes into tensors given by the caller."""
        return self

    def __repr__(self) -> str:
        return f"<torch_npu.{self.__name__}, not computed by drynpu>"
