"""One call of an operator."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch
from attrs import frozen


@frozen(eq=False)
class Call:
    """
    One call.

    Attributes
    ----------
    arguments:
        Every argument of the schema by name, with defaults filled in.
    results:
        What the call returned, as a tuple.
    needed:
        In a backward pass, the arguments whose gradients are wanted.
    """

    arguments: Mapping[str, Any]
    results: tuple[Any, ...] = ()
    needed: frozenset[str] = frozenset()

    def __getitem__(self, name: str) -> Any:
        return self.arguments[name]

    @property
    def inputs(self) -> list[torch.Tensor]:
        """All tensors among the arguments, those in lists too, in the order of the schema."""
        return list(_tensors(self.arguments.values()))

    @property
    def outputs(self) -> list[torch.Tensor]:
        """All tensors among the results, those in lists too."""
        return list(_tensors(self.results))

    def tensors(self, *names: str) -> list[torch.Tensor]:
        """Return the tensors among the arguments *names*, without those that are left out."""
        return list(_tensors(self.arguments[name] for name in names))


def _tensors(values: Iterable[Any]) -> Iterator[torch.Tensor]:
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)
