"""
MindSpore's own kernels of the CPU for types of 16 bits that they lack: computed in float32, rounded once at the end.

A kernel that MindSpore creates says which types it takes. To the types with float32 the same with bfloat16 and float16
are added. A kernel that gets such a type from then on sees copies of its tensors in float32; one that gets types of its
own goes on as MindSpore made it.
"""

from __future__ import annotations

import ctypes
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from attrs import define, field, frozen

from drynpu_mindspore.inside import (
    LAUNCH,
    WORD_BYTES,
    function,
    new_memory,
    new_table,
    read_vector,
    read_word,
    write_word,
)
from drynpu_mindspore_kernels import _binding as binding
from drynpu_mindspore_kernels._binding import CALL, KernelTable
from drynpu_mindspore_kernels.compositions._bfloat import BFLOAT16_BITS, narrow, widen
from drynpu_mindspore_kernels.compositions._factory import KernelFactory
from drynpu_mindspore_kernels.compositions._tensors import COPY_TENSOR, TensorLibrary

FLOAT32, FLOAT16, BFLOAT16 = 43, 42, 45
"""``TypeId`` of MindSpore."""
_NARROW = frozenset({FLOAT16, BFLOAT16})
_UNTOUCHED_BYTES = 1024
"""At the end of the memory of a copied tensor: as long as they stay 0, the memory was enough."""
_VECTOR_BYTES = 3 * WORD_BYTES

_COPY_ATTRIBUTES = "_ZNSt6vectorIN9mindspore6kernel10KernelAttrESaIS2_EEC1ERKS4_"
_POINTERS = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
_INIT_TYPE = ctypes.CFUNCTYPE(ctypes.c_bool, *[ctypes.c_void_p] * 3)
_RESIZE_TYPE = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 3)
_REPLACED = binding.LIST_TYPES, binding.INIT, binding.RESIZE, binding.LAUNCH


@frozen(eq=False)
class WideLibrary:
    """Functions of MindSpore that copy attributes and tensors and change them."""

    copy_attribute: Any
    copy_attributes: Any
    """Copies a ``std::vector`` of attributes."""
    copy_tensor: Any
    end_tensor: Any


def load_wide(hardware: ctypes.CDLL, kernels: ctypes.CDLL) -> WideLibrary:
    """
    Return the functions of two libraries of MindSpore.

    Raises
    ------
    AttributeError
        A function is not there.
    """
    word, attribute, tensor = ctypes.c_void_p, "_ZN9mindspore6kernel10KernelAttr", "_ZN9mindspore6kernel12KernelTensor"
    return WideLibrary(
        copy_attribute=function(kernels, f"{attribute}C1ERKS1_", None, word, word),
        copy_attributes=function(kernels, _COPY_ATTRIBUTES, None, word, word),
        copy_tensor=function(hardware, COPY_TENSOR, None, word, word),
        end_tensor=function(hardware, f"{tensor}D1Ev", None, word),
    )


# N14, docs/tricks.md
@define(eq=False)
class WideKernels:
    """Adds types to MindSpore's table of kernels; lives as long as the process."""

    factory: KernelFactory
    tensors: TensorLibrary
    library: WideLibrary
    kernel_table: KernelTable
    _primitives: dict[int, _Primitive] = field(factory=dict)
    """By the entry of the table of kernels."""
    _tables: dict[int, _Table] = field(factory=dict)
    """By the address of our table of virtual functions."""
    _callbacks: tuple[Any, ...] = ()

    def add(self) -> None:
        """
        Add types to every kernel that has float32 but not both types of 16 bits.

        It is left until it is needed: PyNative creates a kernel for every call, which takes 40 us longer from then on.

        Raises
        ------
        LookupError
            A kernel lists its types in another way. Nothing is added.
        """
        if self._callbacks:
            return
        self._callbacks = (
            _POINTERS(self._create),
            _POINTERS(self._list_types),
            _INIT_TYPE(self._init),
            _RESIZE_TYPE(self._resize),
            LAUNCH(self._launch),
        )
        entries = self.factory.names().values()
        # All of them are looked at before the first is replaced.
        creators = [_POINTERS(read_word(entry + CALL * WORD_BYTES)) for entry in entries]
        more = [self._more_types(creator, entry) for creator, entry in zip(creators, entries, strict=True)]
        for entry, creator, (kinds, types) in zip(entries, creators, more, strict=True):
            if kinds:
                self._primitives[entry] = _Primitive(creator, kinds, types)
                write_word(entry + CALL * WORD_BYTES, ctypes.cast(self._callbacks[0], ctypes.c_void_p).value or 0)

    def _more_types(self, creator: Any, entry: int) -> tuple[frozenset[int], Any]:
        """Return the types that a primitive lacks, and a vector of those that it takes with them, which come last."""
        shared, listed = (ctypes.c_void_p * 2)(), (ctypes.c_void_p * 3)()
        creator(ctypes.addressof(shared), entry)
        kernel = shared[0] or 0
        _POINTERS(self.kernel_table.functions(kernel)[binding.LIST_TYPES])(ctypes.addressof(listed), kernel)
        begin, end = listed[0] or 0, listed[1] or 0
        _check(begin, end)
        added = _additions(begin, end)
        genuine = [(attribute, FLOAT32) for attribute in range(begin, end, binding.ATTRIBUTE_BYTES)]
        size_bytes = (len(genuine) + len(added)) * binding.ATTRIBUTE_BYTES
        memory = new_memory(size_bytes)
        for number, (attribute, kind) in enumerate([*genuine, *added]):
            place = memory + number * binding.ATTRIBUTE_BYTES
            self.library.copy_attribute(place, attribute)
            _replace_float32(place, kind)
        vector = (ctypes.c_size_t * 3)(memory, memory + size_bytes, memory + size_bytes)
        return frozenset(kind for _, kind in added), vector

    def _create(self, result: int, entry: int) -> int:
        """Create a kernel into the shared pointer at *result*."""
        primitive = self._primitives[entry]
        primitive.creator(result, entry)
        kernel = read_word(result)
        if not primitive.table:
            primitive.table = self._table(kernel, primitive)
        # A primitive may have kernels of several classes; the others stay as they are.
        if self._tables[primitive.table].genuine == read_word(kernel):
            write_word(kernel, primitive.table)
        return result

    def _table(self, kernel: int, primitive: _Primitive) -> int:
        """Return the address of our table of virtual functions for the kernels of a primitive."""
        genuine = read_word(kernel)
        functions = self.kernel_table.functions(kernel)
        table = _Table(genuine, tuple(functions), primitive.kinds, ctypes.addressof(primitive.types))
        for place, callback in zip(_REPLACED, self._callbacks[1:], strict=True):
            functions[place] = ctypes.cast(callback, ctypes.c_void_p).value or 0
        table.address = new_table(genuine, functions)
        self._tables[table.address] = table
        return table.address

    @contextmanager
    def _as_made(self, kernel: int) -> Iterator[_Table]:
        """Let a kernel be what MindSpore made while a function of its own runs."""
        table = self._tables[read_word(kernel)]
        write_word(kernel, table.genuine)
        try:
            yield table
        finally:
            write_word(kernel, table.address)

    def _list_types(self, result: int, kernel: int) -> int:
        """Write the types that a kernel takes into the vector at *result*."""
        self.library.copy_attributes(result, self._tables[read_word(kernel)].types)
        return result

    def _init(self, kernel: int, inputs: int, outputs: int) -> bool:
        """Prepare a kernel; one that gets types of its own is MindSpore's from then on."""
        table = self._tables[read_word(kernel)]
        kinds = {self._kind(tensor) for tensor in (*read_vector(inputs), *read_vector(outputs))}
        if not kinds & table.kinds:
            write_word(kernel, table.genuine)
            return bool(table.init(kernel, inputs, outputs))
        with self._as_made(kernel), self._copies(inputs, outputs) as (wide_inputs, wide_outputs):
            return bool(table.init(kernel, wide_inputs, wide_outputs))

    def _resize(self, kernel: int, inputs: int, outputs: int) -> int:
        """Have a kernel work out the sizes of its outputs, which take half of what they take in float32."""
        with self._as_made(kernel) as table, self._copies(inputs, outputs) as (wide_inputs, wide_outputs):
            failure = int(table.resize(kernel, wide_inputs, wide_outputs))
            sizes = read_word(table.output_sizes(kernel))
            for number, tensor in enumerate(read_vector(outputs)):
                if self._kind(tensor) in _NARROW:
                    write_word(sizes + number * WORD_BYTES, read_word(sizes + number * WORD_BYTES) // 2)
        return failure

    def _launch(self, kernel: int, inputs: int, workspace: int, outputs: int, stream: int) -> bool:
        """Compute one launch; a failure is printed, because nothing may be raised through C++."""
        try:
            with self._as_made(kernel) as table, self._copies(inputs, outputs, filled=True) as (before, after):
                return bool(table.launch(kernel, before, workspace, after, stream))
        except Exception:  # noqa: BLE001 - whatever it is, C++ gets to know
            sys.stderr.write(f"[drynpu] a kernel cannot be computed in float32:\n{traceback.format_exc()}")
            return False

    def _kind(self, tensor: int) -> int:
        return self.tensors.type_id(tensor)

    @contextmanager
    def _copies(self, inputs: int, outputs: int, *, filled: bool = False) -> Iterator[tuple[int, int]]:
        """
        Yield vectors of the tensors; tensors of 16 bits are copies in float32.

        With *filled* the copies hold the numbers, and what was written there is rounded into the tensors at the end.
        """
        copies: list[_Copy] = []
        held: dict[int, Any] = {}
        vectors = []
        for tensors in (read_vector(inputs), read_vector(outputs)):
            places = []
            for tensor in tensors:
                if self._kind(tensor) in _NARROW:
                    copies.append(self._copy(tensor, held, filled=filled))
                    tensor = ctypes.addressof(copies[-1].memory)
                places.append(tensor)
            vectors.append(_Vector(places))
        try:
            yield vectors[0].address, vectors[1].address
        finally:
            for copy in copies:
                self.tensors.set_pointer(copy.address, None)
                self.library.end_tensor(ctypes.addressof(copy.memory))
        for copy in copies:
            if copy.wide is not None and not np.array_equal(copy.wide.view(np.uint32), copy.before):
                copy.narrow[...] = narrow(copy.wide) if copy.narrow.dtype == BFLOAT16_BITS else copy.wide

    def _copy(self, tensor: int, held: dict[int, Any], *, filled: bool) -> _Copy:
        """Return a tensor's copy in float32; tensors that share memory, by its address in *held*, go on to share it."""
        memory = ctypes.create_string_buffer(binding.TENSOR_BYTES)
        self.library.copy_tensor(ctypes.addressof(memory), tensor)
        if any(memory[-_UNTOUCHED_BYTES:]):
            raise LookupError(f"a tensor of MindSpore takes more than {binding.TENSOR_BYTES - _UNTOUCHED_BYTES} bytes")
        address = self.tensors.device_address(ctypes.addressof(memory))
        array = self.tensors.read(tensor) if filled else None
        self.tensors.set_type(ctypes.addressof(memory), FLOAT32)
        if array is None:
            self.tensors.set_pointer(address, None)
            return _Copy(memory, address)
        wide = held.setdefault(array.ctypes.data, np.array(widen(array), np.float32, order="C"))
        self.tensors.set_pointer(address, wide.ctypes.data)
        self.tensors.set_size(address, wide.nbytes)
        return _Copy(memory, address, array, wide, wide.view(np.uint32).copy())


@define(eq=False)
class _Primitive:
    """What creates kernels of a primitive, what types they take, and our table of virtual functions for them."""

    creator: Any
    kinds: frozenset[int]
    """The types that are added."""
    types: Any
    table: int = 0


@define(eq=False)
class _Table:
    """A table of virtual functions of MindSpore's, and the address of ours in its place."""

    genuine: int
    functions: tuple[int, ...]
    kinds: frozenset[int]
    types: int
    """The address of the vector of types that kernels say they take."""
    address: int = 0

    @property
    def init(self) -> Any:
        return _INIT_TYPE(self.functions[binding.INIT])

    @property
    def resize(self) -> Any:
        return _RESIZE_TYPE(self.functions[binding.RESIZE])

    @property
    def launch(self) -> Any:
        return LAUNCH(self.functions[binding.LAUNCH])

    @property
    def output_sizes(self) -> Any:
        return ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(self.functions[binding.OUTPUT_SIZES])


@frozen(eq=False)
class _Copy:
    """A ``KernelTensor`` in our memory, its ``DeviceAddress``, the numbers it was made of and those in float32."""

    memory: Any
    address: int
    narrow: Any = None
    wide: Any = None
    before: Any = None


class _Vector:
    """A ``std::vector`` of pointers."""

    def __init__(self, places: Sequence[int]) -> None:
        self._places = (ctypes.c_size_t * max(len(places), 1))(*places)
        begin = ctypes.addressof(self._places)
        end = begin + len(places) * WORD_BYTES
        self._head = (ctypes.c_size_t * 3)(begin, end, end)
        self.address = ctypes.addressof(self._head)


def _additions(begin: int, end: int) -> list[tuple[int, int]]:
    """Return attributes of a list with float32, and which type of 16 bits, in its place, the list lacks."""
    attributes = [begin + at for at in range(0, end - begin, binding.ATTRIBUTE_BYTES)]
    kinds = [[_kind(place) for place in _data_types(attribute)] for attribute in attributes]
    lacking = [kind for kind in sorted(_NARROW) if not any(kind in each for each in kinds)]
    return [
        (attribute, kind)
        for kind in lacking
        for attribute, each in zip(attributes, kinds, strict=True)
        if FLOAT32 in each
    ]


def _check(begin: int, end: int) -> None:
    """
    Read the attributes of a kernel before any is changed.

    Raises
    ------
    LookupError
        Their vectors hold no whole number of elements, or a type that MindSpore does not have.
    """
    attributes = range(begin, end, binding.ATTRIBUTE_BYTES)
    vectors = [at + more for at in attributes for more in (0, _VECTOR_BYTES)]
    sizes = [read_word(vector + WORD_BYTES) - read_word(vector) for vector in vectors]
    if (end - begin) % binding.ATTRIBUTE_BYTES or any(size % binding.DATA_TYPE_BYTES for size in sizes):
        raise LookupError("types that a kernel takes are listed in another way")
    if any(_kind(place) not in binding.TYPE_IDS for attribute in attributes for place in _data_types(attribute)):
        raise LookupError("a kernel takes types that MindSpore does not have")


def _data_types(attribute: int) -> Iterator[int]:
    for vector in (attribute, attribute + _VECTOR_BYTES):
        yield from range(read_word(vector), read_word(vector + WORD_BYTES), binding.DATA_TYPE_BYTES)


def _replace_float32(attribute: int, kind: int) -> None:
    for place in _data_types(attribute):
        if _kind(place) == FLOAT32:
            ctypes.c_int32.from_address(place).value = kind


def _kind(place: int) -> int:
    """Return the type at the begin of a ``DataType``."""
    return ctypes.c_int32.from_address(place).value
