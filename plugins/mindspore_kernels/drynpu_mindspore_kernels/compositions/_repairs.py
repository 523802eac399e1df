"""
Kernels of MindSpore's CPU build that leave something out: its own code runs, and the rest is done around it.

They are not replaced, so that what they compute rightly keeps its bits.
"""

from __future__ import annotations

import ctypes
import sys
import traceback
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from attrs import define, field

from drynpu_mindspore.inside import (
    LAUNCH,
    WORD_BYTES,
    new_table,
    read_text,
    read_vector,
    read_word,
    write_word,
)
from drynpu_mindspore_kernels._binding import CALL, NAME_AT, KernelTable
from drynpu_mindspore_kernels._binding import LAUNCH as LAUNCH_AT
from drynpu_mindspore_kernels.compositions._attributes import AttributeLibrary
from drynpu_mindspore_kernels.compositions._bfloat import widen
from drynpu_mindspore_kernels.compositions._factory import CREATE, KernelFactory
from drynpu_mindspore_kernels.compositions._tensors import TensorLibrary

Repair = Callable[[Callable[[], bool], list[Any], list[Any], Callable[[str], Any]], bool]
"""
Takes what runs the kernel's own code, the arrays of inputs and outputs and what finds an attribute by name; returns
whether the launch was computed.
"""


def _return_weights(
    run: Callable[[], bool], inputs: list[Any], outputs: list[Any], attribute: Callable[[str], Any]
) -> bool:
    """Return the weights that changed in place; the kernel leaves the result as the memory was."""
    del attribute
    computed = run()
    outputs[0][...] = inputs[0]
    return computed


def _keep_sums(run: Callable[[], bool], inputs: list[Any], outputs: list[Any], attribute: Callable[[str], Any]) -> bool:
    """Step by sums of squares that stay, where ``update_slots`` is false; the kernel updates them anyway."""
    if attribute("update_slots") is not False:
        return run()
    weight, squares, rate, gradient = (widen(each) for each in inputs[:4])
    weight -= np.float32(np.ravel(rate)[0]) * gradient / np.sqrt(squares)
    for output, value in zip(outputs, (weight, squares), strict=False):
        output[...] = value
    return True


REPAIRS: Final[Mapping[str, Repair]] = MappingProxyType(
    {"ApplyAdagrad": _keep_sums, "ApplyCenteredRMSProp": _return_weights, "ApplyRMSProp": _return_weights}
)
"""By primitive, as MindSpore's documentation of the primitive defines it."""


# N13, docs/tricks.md
@define(eq=False)
class RepairedKernels:
    """Puts repairs around kernels of MindSpore's; lives as long as the process."""

    factory: KernelFactory
    tensors: TensorLibrary
    attributes: AttributeLibrary
    kernel_table: KernelTable
    _creators: dict[int, Any] = field(factory=dict)
    """What creates MindSpore's kernel, by the entry of the table of kernels."""
    _launches: dict[int, Any] = field(factory=dict)
    """MindSpore's function that launches, by the address of our table of virtual functions."""
    _tables: dict[int, int] = field(factory=dict)
    """The address of our table of virtual functions by the address of MindSpore's."""
    _callbacks: tuple[Any, ...] = ()

    def add(self, repairs: Mapping[str, Repair] = REPAIRS) -> None:
        """
        Put *repairs* around the kernels that MindSpore has.

        Raises
        ------
        LookupError
            One of them looks otherwise. Nothing is repaired.
        """
        self._callbacks = (CREATE(self._create), LAUNCH(self._launch))
        known = self.factory.names()
        entries = [known[name] for name in repairs if name in known]
        creators = {entry: CREATE(read_word(entry + CALL * WORD_BYTES)) for entry in entries}
        for entry, creator in creators.items():
            shared = (ctypes.c_void_p * 2)()
            creator(ctypes.addressof(shared), entry)
            genuine = read_word(shared[0] or 0)
            self._add_table(genuine, self.kernel_table.functions(shared[0] or 0))
        self._creators = creators
        for entry in entries:
            write_word(entry + CALL * WORD_BYTES, ctypes.cast(self._callbacks[0], ctypes.c_void_p).value or 0)

    def _add_table(self, genuine: int, functions: list[int]) -> None:
        launch = LAUNCH(functions[LAUNCH_AT])
        functions[LAUNCH_AT] = ctypes.cast(self._callbacks[1], ctypes.c_void_p).value or 0
        self._tables[genuine] = new_table(genuine, functions)
        self._launches[self._tables[genuine]] = launch

    def _create(self, result: int, entry: int) -> int:
        """Create a kernel into the shared pointer at *result*; one of a class that was not checked stays as it is."""
        self._creators[entry](result, entry)
        kernel = read_word(result)
        genuine = read_word(kernel)
        write_word(kernel, self._tables.get(genuine, genuine))
        return result

    def _launch(self, kernel: int, inputs: int, workspace: int, outputs: int, stream: int) -> bool:
        """Compute one launch; a failure is printed, because nothing may be raised through C++."""
        name, launch = read_text(kernel + NAME_AT), self._launches[read_word(kernel)]
        try:
            arrays = [[self.tensors.read(tensor) for tensor in read_vector(each)] for each in (inputs, outputs)]
            return REPAIRS[name](
                lambda: bool(launch(kernel, inputs, workspace, outputs, stream)),
                arrays[0],
                arrays[1],
                self.attributes.of_kernel(kernel).value,
            )
        except Exception:  # noqa: BLE001 - whatever it is, C++ gets to know
            sys.stderr.write(f"[drynpu] {name} cannot be computed:\n{traceback.format_exc()}")
            return False
