"""
What a graph of the npu holds: the operators that were captured, and how they run again.

On a device a graph is a list of kernels on fixed addresses. Here it is a list of operators with their arguments.
Storages that are still there when the capture ends, or were there before it, are the fixed addresses: operators read
and write them in place. Those that were released meanwhile exist again only while the graph runs, as a device uses
their memory over and over.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, TypeAlias

import torch
from attrs import define, field, frozen
from torch.autograd.profiler import record_function
from torch.utils._pytree import TreeSpec, tree_flatten, tree_unflatten

from drynpu_torch.device import GraphStreams, state

Layout: TypeAlias = tuple[torch.dtype, tuple[int, ...], tuple[int, ...], int, bool, bool]
"""How a tensor lies in its storage: dtype, sizes, strides, offset in elements, whether conjugated, whether negated."""

_ABOVE = (
    "AutogradPrivateUse1",
    "AutogradCPU",
    "AutogradOther",
    "ADInplaceOrView",
    "AutocastPrivateUse1",
    "AutocastCPU",
)
"""Keys of PyTorch's dispatcher whose work was done when an operator was captured."""


@frozen
class Slot:
    """A tensor in a storage that exists while the graph runs alone; *storage* is its number."""

    storage: int
    layout: Layout


@define(eq=False)
class CapturedCall:
    """
    One operator, or another callable that the device calls.

    Attributes
    ----------
    leaves, spec:
        The arguments, flattened as by ``torch.utils._pytree``. Tensors have fixed storages, or are a :class:`Slot`.
    results:
        For each value of the flattened result what it defines: a slot, a tensor of a fixed storage, or nothing.
    stream:
        The stream of the graph in the place of that which it was captured on, None for what goes to none.
    released:
        Numbers of the storages that nothing needs afterwards.
    """

    function: Callable[..., Any]
    leaves: list[Any]
    spec: TreeSpec
    results: list[Slot | torch.Tensor | None] = field(factory=list)
    stream: torch.Stream | None = None
    released: tuple[int, ...] = ()


@define(eq=False)
class Program:
    """
    A captured graph.

    ``kept`` are the storages that the graph owns: those that it made and that were in use when its capture ended.
    ``graph`` has its streams.
    """

    calls: list[CapturedCall]
    kept: list[torch.UntypedStorage]
    graph: GraphStreams

    def run(self) -> None:
        """Run all operators on what their fixed tensors hold now, and write results where they were at the capture."""
        present: dict[int, dict[Layout, torch.Tensor]] = {}
        selected = current = state().selected_stream(state().current_device)
        with _launched(self.graph, 0 if selected is None else selected.stream_id), _as_captured(), _uncounted():
            for call in self.calls:
                if call.stream is not None and call.stream != current:
                    current = call.stream
                    state().select_stream(current)
                _run(call, present)
        if current is not selected:
            before = selected or torch.Stream(stream_id=0, device_index=state().current_device, device_type=_kind())
            state().select_stream(before)


def shown_range(name: str) -> AbstractContextManager[object]:
    """Return a range of that name, which a recording sees if there is one."""
    return nullcontext() if state().recorder is None else record_function(name)


def layout_of(tensor: torch.Tensor) -> Layout:
    """Return how *tensor* lies in its storage."""
    offset = int(tensor.storage_offset())
    return tensor.dtype, tuple(tensor.shape), tuple(tensor.stride()), offset, tensor.is_conj(), tensor.is_neg()


def tensor_in(storage: torch.UntypedStorage, layout: Layout) -> torch.Tensor:
    """
    Return a tensor in *storage*.

    Raises
    ------
    NotImplementedError
        The tensor is the conjugate or the negative of what is stored.
    """
    dtype, size, stride, offset, conjugated, negated = layout
    if conjugated or negated:
        raise NotImplementedError("drynpu does not capture graphs with lazily conjugated or negated tensors")
    return torch.empty(0, dtype=dtype, device=storage.device).set_(storage, offset, size, stride)


def flatten(args: Sequence[object], kwargs: dict[str, Any]) -> tuple[list[Any], TreeSpec]:
    """Return the values in the arguments of a call, and how to put them together again."""
    return tree_flatten((tuple(args), kwargs))


def bytes_of(storage: torch.UntypedStorage) -> bytes:
    """Return what a storage of the device holds; nothing is computed or counted for that."""
    return ctypes.string_at(storage.data_ptr(), storage.nbytes()) if _has_memory(storage) else b""


def write_bytes(storage: torch.UntypedStorage, content: bytes) -> None:
    """Put *content* into a storage of the device, as :func:`bytes_of` returned it."""
    if content:
        ctypes.memmove(storage.data_ptr(), content, min(len(content), storage.nbytes()))


def _run(call: CapturedCall, present: dict[int, dict[Layout, torch.Tensor]]) -> None:
    values = [_present(value, present) if isinstance(value, Slot) else value for value in call.leaves]
    args, kwargs = tree_unflatten(values, call.spec)
    result = call.function(*args, **kwargs)
    if any(each is not None for each in call.results):
        for value, place in zip(tree_flatten(result)[0], call.results, strict=True):
            if isinstance(place, Slot):
                present.setdefault(place.storage, {})[place.layout] = value
            elif place is not None:
                _move(value, place)
    for number in call.released:
        present.pop(number, None)


def _present(slot: Slot, present: dict[int, dict[Layout, torch.Tensor]]) -> torch.Tensor:
    """Return the tensor of a slot, made where the storage is known only by tensors of other layouts."""
    tensors = present[slot.storage]
    tensor = tensors.get(slot.layout)
    if tensor is None:
        tensor = tensors[slot.layout] = tensor_in(next(iter(tensors.values())).untyped_storage(), slot.layout)
    return tensor


def _move(value: torch.Tensor, fixed: torch.Tensor) -> None:
    """Put a result where it was when the graph was captured; a device writes it there at once."""
    source, there = value.untyped_storage(), fixed.untyped_storage()
    if _has_memory(there) and source.data_ptr() != there.data_ptr():
        ctypes.memmove(there.data_ptr(), source.data_ptr(), min(source.nbytes(), there.nbytes()))


def _has_memory(storage: torch.UntypedStorage) -> bool:
    return state().computes and storage.nbytes() > 0


def _kind() -> int:
    return int(torch._C._autograd.DeviceType.PrivateUse1.value)


@contextmanager
def _as_captured() -> Iterator[None]:
    """Leave out what PyTorch does above the kernels: it was done when the operators were captured."""
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.Undefined)
    for name in _ABOVE:
        keys = keys | torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, name))
    with torch.no_grad(), torch._C._ExcludeDispatchKeyGuard(keys):
        yield


@contextmanager
def _launched(graph: GraphStreams, stream_id: int) -> Iterator[None]:
    """Tell the recording that what runs is one launch of the graph, on a stream of the script."""
    recorder = state().recorder
    if recorder is not None:
        recorder.on_replay(graph, stream_id, end=False)
    try:
        yield
    finally:
        if recorder is not None:
            recorder.on_replay(graph, stream_id, end=True)


@contextmanager
def _uncounted() -> Iterator[None]:
    """Count no memory for results on their way: a device has them in the memory of the graph."""
    library = state().library
    if library is not None:
        library.count_memory(counted=False)
    try:
        yield
    finally:
        if library is not None:
            library.count_memory(counted=True)
