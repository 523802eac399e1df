"""Which lines of the script call which operators on the npu."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import torch
from torch.utils._python_dispatch import _get_current_dispatch_mode

from drynpu.checks import ObservedOperator, Place
from drynpu_torch.device import OperatorMode, is_tensor, on_npu
from drynpu_torch.profiler.checking._places import PLACES


class Lines(OperatorMode):
    """Notes the line behind each operator, until :meth:`end`."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._calls: Counter[tuple[str, Place, bool]] = Counter()
        self._active = False

    def begin(self) -> None:
        """Begin to note."""
        self._active = True
        self.__enter__()  # type: ignore[no-untyped-call]

    def forget(self) -> None:
        """Count from 0 again."""
        self._calls.clear()

    def end(self) -> None:
        """Note no more. Where the script has put a mode of its own on top, this one stays and passes all on."""
        if self._active and _get_current_dispatch_mode() is self:
            self.__exit__(None, None, None)  # type: ignore[no-untyped-call]
        self._active = False

    def operators(self) -> tuple[ObservedOperator, ...]:
        """Return what was noted, by place and name."""
        counts: dict[tuple[Place, str], list[int]] = {}
        for (name, place, double), calls in self._calls.items():
            row = counts.setdefault((place, name), [0, 0])
            row[0] += calls
            row[1] += calls if double else 0
        return tuple(
            ObservedOperator(name=name, place=place, calls=calls, double_calls=doubles)
            for (place, name), (calls, doubles) in sorted(counts.items())
        )

    def operator(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the operator, and note where it was called from if a tensor of it is on the npu."""
        result = function(*args, **kwargs)
        if self._active:
            results = list(_tensors(result))
            if any(on_npu(tensor) for tensor in (*results, *_tensors(args))):
                place = PLACES.find()
                if place is not None:
                    doubles = any(on_npu(tensor) and tensor.dtype == torch.float64 for tensor in results)
                    self._calls[function._schema.name, place, doubles] += 1
        return result


def _tensors(value: Any) -> Iterable[torch.Tensor]:
    if is_tensor(value):
        yield value
    elif issubclass(type(value), (tuple, list)):
        for each in value:
            yield from _tensors(each)
