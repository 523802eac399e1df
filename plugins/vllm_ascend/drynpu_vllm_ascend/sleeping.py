"""
The memory of an engine that can sleep: what ``vllm_ascend.device_allocator.camem`` asks of its compiled allocator.

On a device the allocator hands out mapped addresses, and sleeping takes the memory from behind them. Here each storage
that was made in a pool gives its memory back and gets it again; its tensors and views stay as they are.
"""

from __future__ import annotations

import ctypes
import gc
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import ModuleType
from typing import Final, Protocol, TypeAlias

import torch
from attrs import define, field
from torch._subclasses.fake_tensor import FakeTensor

Handle: TypeAlias = tuple[int, int, int, int]
"""Device, size in bytes, address, and a number of the memory behind it."""

_FIRST_ADDRESS: Final = 1 << 46
"""Behind what a host of 64 bits maps by itself."""
_GRANULE: Final = 2 << 20
"""Bytes to which the toolkit rounds memory that it maps: aclrtMemGetAllocationGranularity of huge pages."""
_TO_HOST: Final = 2
"""ACL_MEMCPY_DEVICE_TO_HOST"""


@define
class MappedMemory:
    """The storages that were made in pools, by the addresses that the allocator knows them by."""

    _storages: dict[int, weakref.ref[torch.UntypedStorage]] = field(factory=dict)
    _next_address: int = _FIRST_ADDRESS

    @contextmanager
    def pool(self, allocated: Callable[[Handle], None], freed: Callable[[int], Handle]) -> Iterator[None]:
        """Tell *allocated* of each storage that is made meanwhile and stays, and *freed* when it goes."""
        before = [weakref.ref(storage) for storage in _live_storages()]
        yield
        known = {id(storage) for each in before if (storage := each()) is not None}
        self.note([each for each in _live_storages() if id(each) not in known], allocated, freed)

    def note(
        self,
        storages: list[torch.UntypedStorage],
        allocated: Callable[[Handle], None],
        freed: Callable[[int], Handle],
    ) -> None:
        """Give each new storage an address."""
        known = {id(each()) for each in self._storages.values()}
        for storage in storages:
            if id(storage) in known or not storage.nbytes():
                continue
            address = self._next_address
            self._next_address += -(-storage.nbytes() // _GRANULE) * _GRANULE
            self._storages[address] = weakref.ref(storage)
            weakref.finalize(storage, self._forget, address, freed)
            allocated((storage.device.index or 0, storage.nbytes(), address, address))

    def map(self, device: int, size: int, address: int, number: int) -> None:
        """Give a storage its memory again; what was in it is lost."""
        del device, number
        if (storage := self._storages[address]()) is not None:
            storage.resize_(size)

    def unmap(self, device: int, size: int, address: int, number: int) -> None:
        """Take a storage its memory."""
        del device, size, number
        if (storage := self._storages[address]()) is not None:
            storage.resize_(0)

    def copy(self, written: int, most: int, read: int, size: int, kind: int) -> int:
        """Copy bytes between the memory of a storage, by its address, and the host, as ``acl.rt.memcpy`` does."""
        del most
        address, on_host = (read, written) if kind == _TO_HOST else (written, read)
        storage = self._storages[address]()
        if storage is not None:
            on_device = torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)
            host = torch.frombuffer((ctypes.c_char * size).from_address(on_host), dtype=torch.uint8)
            (host if kind == _TO_HOST else on_device).copy_(on_device if kind == _TO_HOST else host)
        return 0

    def _forget(self, address: int, freed: Callable[[int], Handle]) -> None:
        del self._storages[address]
        freed(address)


def _live_storages() -> list[torch.UntypedStorage]:
    """Return the storages of all tensors of the npu that Python knows, each once."""
    storages: dict[int, torch.UntypedStorage] = {}
    for each in gc.get_objects():
        kind = type(each)
        if issubclass(kind, torch.Tensor) and not issubclass(kind, FakeTensor) and each.device.type == "npu":
            storage = each.untyped_storage()
            storages[id(storage)] = storage
    return list(storages.values())


def serve_allocator(camem: ModuleType) -> None:
    """Let the module of the allocator map the memory of storages; one that names its parts otherwise stays as it is."""
    if not hasattr(camem.CaMemAllocator, "use_allocation_tag"):
        return
    memory = MappedMemory()
    camem.camem_available = True  # type: ignore[attr-defined]
    camem.create_and_map = lambda handle: memory.map(*handle)  # type: ignore[attr-defined]
    camem.unmap_and_release = lambda handle: memory.unmap(*handle)  # type: ignore[attr-defined]
    camem.memcpy = memory.copy  # type: ignore[attr-defined]
    allocator = camem.CaMemAllocator
    tagged: Callable[[object, str], AbstractContextManager[None]] = allocator.use_allocation_tag

    @contextmanager
    def use_memory_pool(self: _Allocator, tag: str | None = None) -> Iterator[None]:
        with (
            tagged(self, tag or self.default_tag),
            memory.pool(self.python_malloc_callback, self.python_free_callback),
        ):
            yield

    @contextmanager
    def use_allocation_tag(self: _Allocator, tag: str) -> Iterator[None]:
        with tagged(self, tag), memory.pool(self.python_malloc_callback, self.python_free_callback):
            yield

    allocator.use_memory_pool, allocator.use_allocation_tag = use_memory_pool, use_allocation_tag


class _Allocator(Protocol):
    """What is read of the vendor's allocator."""

    default_tag: str

    def python_malloc_callback(self, allocation_handle: Handle) -> None: ...

    def python_free_callback(self, ptr: int) -> Handle: ...
