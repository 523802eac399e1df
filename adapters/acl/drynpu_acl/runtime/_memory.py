"""
Device memory, which is memory of this process here.

A pointer is a number that has to lie in a block that was allocated, or in an object that a Python program has asked
the address of; otherwise it is refused. So a wrong pointer gives a code and never reaches memory.
"""

from __future__ import annotations

import bisect
import ctypes
import sys
import threading
from collections import OrderedDict

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from drynpu.arrays import U8
from drynpu_acl.constants import ReturnCode

_ALIGNMENT = 64
_KEPT_OBJECTS, _KEPT_BYTES = 256, 64 * 2**20
"""How many lent objects that nothing else holds stay reachable: programs take addresses of temporary objects."""
_OWN_REFERENCES = 2
"""To an object that only its entry holds, while they are counted: the entry's and the count's."""
_SINGLETON_BYTES = 1
"""``bytes`` objects up to this length are shared by the whole interpreter, so nothing is written into them."""
_HOST_TO_HOST, _HOST_TO_DEVICE, _DEVICE_TO_HOST, _DEVICE_TO_DEVICE, _DEFAULT = range(5)


@frozen(eq=False)
class Block:
    """A range of memory: *size* bytes at *address*, on the device or on the host. ``owner`` keeps it alive."""

    address: int
    size: int
    on_device: bool
    owner: object = field(repr=False)
    device_id: int = 0

    @property
    def writable(self) -> bool:
        """Whether the program may write into the block."""
        if isinstance(self.owner, bytes):
            return self.size > _SINGLETON_BYTES
        return not isinstance(self.owner, np.ndarray) or bool(self.owner.flags.writeable)


class Memory:
    """
    All memory that handed-out pointers point into.

    Parameters
    ----------
    capacity_bytes:
        Of each device; an allocation beyond it is refused (207001).

    ``peak_bytes`` is the most that was allocated on one device.
    """

    def __init__(self, capacity_bytes: int) -> None:
        self.capacity_bytes = capacity_bytes
        self._lock = threading.RLock()
        self._blocks: dict[int, Block] = {}
        self._starts: list[int] = []
        self._used: dict[int, int] = {}
        self.peak_bytes = 0
        self._lent: OrderedDict[int, Block] = OrderedDict()
        self._new_objects = self._new_bytes = 0

    def allocate(self, size: int, device_id: int | None) -> tuple[int, int]:
        """Return ``(pointer, code)`` of *size* new bytes: on a device, or on the host (``None``)."""
        if size == 0:
            return 0, ReturnCode.INVALID_PARAM
        with self._lock:
            used = 0 if device_id is None else self._used.get(device_id, 0)
            if used + size > self.capacity_bytes:
                return 0, ReturnCode.MEMORY_ALLOCATION
            try:
                room: U8 = np.empty(size + _ALIGNMENT, np.uint8)
            except (MemoryError, ValueError):
                return 0, ReturnCode.MEMORY_ALLOCATION
            address = -(-room.ctypes.data // _ALIGNMENT) * _ALIGNMENT
            self._blocks[address] = Block(address, size, device_id is not None, room, device_id or 0)
            bisect.insort(self._starts, address)
            if device_id is not None:
                self._used[device_id] = used + size
                self.peak_bytes = max(self.peak_bytes, used + size)
        return address, ReturnCode.SUCCESS

    def free(self, pointer: int, *, on_device: bool) -> int:
        """Release a block by its first address."""
        if pointer == 0:
            return ReturnCode.INVALID_PARAM
        with self._lock:
            block = self._blocks.get(pointer)
            if block is None or block.on_device is not on_device:
                return ReturnCode.PARAM_INVALID
            del self._blocks[pointer]
            del self._starts[bisect.bisect_left(self._starts, pointer)]
            if on_device:
                self._used[block.device_id] -= block.size
        return ReturnCode.SUCCESS

    def free_device(self, device_id: int) -> None:
        """Release everything on a device, as a reset does."""
        with self._lock:
            for block in [b for b in self._blocks.values() if b.on_device and b.device_id == device_id]:
                self.free(block.address, on_device=True)

    def clear(self) -> None:
        """Release every block; what Python objects lent stays theirs."""
        with self._lock:
            self._blocks.clear()
            self._starts.clear()
            self._used.clear()

    def used_bytes(self, device_id: int) -> int:
        """Return what is allocated on a device."""
        return self._used.get(device_id, 0)

    def find(self, pointer: int, size: int) -> Block | None:
        """Return the block in which *size* bytes at *pointer* lie; ``None`` where they do not."""
        if pointer == 0 or size < 0:
            return None
        with self._lock:
            place = bisect.bisect_right(self._starts, pointer) - 1
            block = self._blocks[self._starts[place]] if place >= 0 else None
            if block is None or pointer + size > block.address + block.size:
                block = self._lender(pointer, size)
            return block

    def _lender(self, pointer: int, size: int) -> Block | None:
        exact = self._lent.get(pointer)
        if exact is not None and size <= exact.size:
            return exact
        for block in self._lent.values():
            if block.address <= pointer and pointer + size <= block.address + block.size:
                return block
        return None

    def lend(self, owner: bytes | npt.NDArray[np.generic]) -> int:
        """Return the address of an object's bytes, good at least as long as the program keeps the object."""
        if isinstance(owner, bytes):
            size, address = len(owner), ctypes.cast(ctypes.c_char_p(owner), ctypes.c_void_p).value or 0
        else:
            size, address = _reach_bytes(owner), owner.ctypes.data
        with self._lock:
            known = self._lent.pop(address, None)
            if known is None or known.size <= size:
                known = Block(address, size, False, owner)
            self._lent[address] = known
            self._new_objects, self._new_bytes = self._new_objects + 1, self._new_bytes + size
            if self._new_objects > max(_KEPT_OBJECTS, len(self._lent) // 2) or self._new_bytes > _KEPT_BYTES:
                self._forget_dropped()
        return address

    def _forget_dropped(self) -> None:
        """Forget the oldest of the objects that only this table holds, beyond a number and a size that are kept."""
        self._new_objects = self._new_bytes = 0
        dropped = [b for b in self._lent.values() if sys.getrefcount(b.owner) <= _OWN_REFERENCES]
        count, size = len(dropped), sum(b.size for b in dropped)
        for block in dropped[:-1]:
            if count <= _KEPT_OBJECTS and size <= _KEPT_BYTES:
                break
            count, size = count - 1, size - block.size
            del self._lent[block.address]

    def read(self, pointer: int, size: int) -> bytes | None:
        """Return a copy of *size* bytes, ``None`` where they are not all known memory."""
        block = self.find(pointer, size)
        return None if block is None else ctypes.string_at(pointer, size)

    def write(self, pointer: int, values: npt.NDArray[np.generic]) -> bool:
        """Put the bytes of a contiguous array at *pointer*; False where there is no room for them."""
        block = self.find(pointer, values.nbytes)
        if block is None or not block.writable:
            return False
        ctypes.memmove(pointer, values.ctypes.data, values.nbytes)
        return True

    def view(self, pointer: int, size: int) -> U8 | None:
        """Return *size* bytes as an array on the memory itself; a freed block lives on in its views."""
        block = self.find(pointer, size)
        if block is None:
            return None
        owner = block.owner
        if isinstance(owner, bytes):
            array: U8 = np.frombuffer(owner, np.uint8)
            return array[pointer - block.address :][:size]
        interface = _Interface(pointer, size, owner, writable=block.writable)
        return np.asarray(interface)

    def copy(self, destination: int, room: int, source: int, count: int, kind: int) -> int:
        """Copy *count* bytes; *room* is how many the caller says there is room for."""
        if destination == 0 or source == 0 or kind not in range(_DEFAULT + 1):
            return ReturnCode.INVALID_PARAM
        if count > room:
            return ReturnCode.INVALID_PARAM
        into, out_of = self.find(destination, count), self.find(source, count)
        if into is None or out_of is None or not into.writable or not _fits(kind, out_of, into):
            return ReturnCode.PARAM_INVALID
        ctypes.memmove(destination, source, count)
        return ReturnCode.SUCCESS

    def kind(self, destination: int, source: int, kind: int) -> int:
        """Return the direction of a copy; kind 4 (default) depends on where the pointers lie."""
        if kind != _DEFAULT:
            return kind
        into, out_of = self.find(destination, 0), self.find(source, 0)
        from_device = out_of is not None and out_of.on_device
        to_device = into is not None and into.on_device
        return 2 * from_device + to_device

    def fill(self, pointer: int, room: int, value: int, count: int) -> int:
        """Set *count* bytes."""
        if pointer == 0 or count > room:
            return ReturnCode.INVALID_PARAM
        block = self.find(pointer, count)
        if block is None or not block.writable:
            return ReturnCode.PARAM_INVALID
        ctypes.memset(pointer, value & 0xFF, count)
        return ReturnCode.SUCCESS


def _reach_bytes(array: npt.NDArray[np.generic]) -> int:
    """Return how many bytes of an array's own memory lie behind its address: fewer than it holds where it is a view."""
    if array.size == 0:
        return 0
    ahead = sum((n - 1) * stride for n, stride in zip(array.shape, array.strides, strict=True) if stride > 0)
    return min(array.nbytes, ahead + array.itemsize)


def _fits(kind: int, source: Block, destination: Block) -> bool:
    """
    Return whether both ends lie where the kind of copy says.

    What is copied to the device may lie there already: the vendor's samples bring decoded images to models that way.
    """
    if kind == _HOST_TO_DEVICE:
        return destination.on_device
    return kind == _DEFAULT or kind == 2 * source.on_device + destination.on_device


class _Interface:
    """Lets numpy see a range of memory and hold on to its owner."""

    def __init__(self, address: int, size: int, owner: object, *, writable: bool) -> None:
        self.owner = owner
        self.__array_interface__ = {
            "version": 3,
            "shape": (size,),
            "typestr": "|u1",
            "data": (address, not writable),
        }
