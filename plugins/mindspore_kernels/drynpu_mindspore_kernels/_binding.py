"""
The binding to the inside of MindSpore: where its libraries keep what this package reads and writes.

Every place, size and linker's name that a header of MindSpore does not offer to us stands here, with what shows that
this process has them so. What differs between releases is in :data:`RELEASES`; the rest is the same in all of them.
Nothing is written before :func:`known_release` and the checks have passed (docs/tricks.md).
"""

from __future__ import annotations

import ctypes
from types import MappingProxyType
from typing import Final

from attrs import frozen

from drynpu_mindspore.inside import WORD_BYTES, address_of, find_symbol, read_functions, read_word, require


@frozen
class TensorPlaces:
    """Where a ``KernelTensor`` keeps its type and its shape, from its begin."""

    type_at: int
    shape_at: int


@frozen
class Release:
    """What one release has in a place of its own."""

    tensor: TensorPlaces | None = None
    """``None`` where the ``DeviceAddress`` of a tensor keeps its type and its shape: it has functions for them."""
    behind_passes: str = "_ZN9mindspore4prim8ScalarEqERKSt6vectorISt10shared_ptrINS_5ValueEESaIS4_EE"
    """The function that follows the code of ``frontend/parallel`` in its library."""


RELEASES: Final = MappingProxyType(
    {
        "2.7.1": Release(),
        "2.7.2": Release(),
        "2.10.0": Release(tensor=TensorPlaces(30 * WORD_BYTES, 31 * WORD_BYTES), behind_passes="memcpy_s"),
    }
)


def known_release() -> Release:
    """
    Return the binding to the MindSpore of this process.

    Raises
    ------
    UnknownInside
        This package was not tried with it.
    """
    return RELEASES[require(tuple(RELEASES))]


# Places in the table of virtual functions of a kernel of the CPU (kernel_base/kernel.h, cpu/cpu_kernel.h).
LIST_TYPES, INIT, RESIZE, LAUNCH, NEEDS_UPDATE, UPDATE, OUTPUT_SIZES, SHORT_LAUNCH = 2, 3, 4, 5, 7, 8, 15, 24
KERNEL_FUNCTIONS: Final = 25
NAME_AT, PRIMITIVE_AT = WORD_BYTES, 2 * WORD_BYTES
"""Where a kernel keeps the name of its primitive, and the primitive: behind its table."""
_KERNEL: Final = "9mindspore6kernel9KernelMod"
_TENSORS: Final = "RKSt6vectorIPNS0_12KernelTensorESaIS4_EES8_"
_INHERITED: Final = MappingProxyType(
    {
        10: f"_ZNK{_KERNEL}19GetUseLessOutputIdxEv",
        12: f"_ZN{_KERNEL}16SetInputSizeListERKSt6vectorImSaImEE",
        13: f"_ZN{_KERNEL}17SetOutputSizeListERKSt6vectorImSaImEE",
        14: f"_ZN{_KERNEL}20SetWorkspaceSizeListERKSt6vectorImSaImEE",
        OUTPUT_SIZES: f"_ZNK{_KERNEL}17GetOutputSizeListEv",
        16: f"_ZNK{_KERNEL}20GetWorkspaceSizeListEv",
        17: f"_ZN{_KERNEL}13GenParametersEv",
        19: f"_ZN{_KERNEL}15set_unique_nameERKSs",
        20: f"_ZN{_KERNEL}12set_fullnameERKSs",
        21: f"_ZN{_KERNEL}12set_is_monadEb",
        23: f"_ZN{_KERNEL}8FinalizeEv",
    }
)
"""The linker's names of functions that every kernel inherits, by place: no kernel has one of its own."""
_PLAIN: Final = MappingProxyType(
    {
        LAUNCH: f"_ZN9mindspore6kernel18NativeCpuKernelMod6LaunchE{_TENSORS}S8_Pv",
        NEEDS_UPDATE: f"_ZN{_KERNEL}30IsNeedUpdateOutputShapeAndSizeEv",
        UPDATE: f"_ZN{_KERNEL}24UpdateOutputShapeAndSizeE{_TENSORS}",
    }
)
"""Further functions that a kernel without a task of its own inherits."""

# A ``KernelAttr`` begins with the vectors of its inputs and outputs; each element begins with its type.
ATTRIBUTE_BYTES, DATA_TYPE_BYTES = 120, 24
TYPE_IDS: Final = range(1, 64)
"""Values of ``TypeId``."""
TENSOR_BYTES: Final = 4096
"""More than a ``KernelTensor`` takes."""

# In words, of the ``std::map`` of kernels: from the table to the end node, and in a node.
MAP_HEADER, MAP_COUNT = 2, 4
PARENT, LEFT, RIGHT, NAME, FUNCTION, NODE_WORDS = 1, 2, 3, 4, 5, 9
# In words, of a ``std::function``: what copies it and what calls it.
MANAGER, CALL = 2, 3

# In words, of the table of gradients (robin_hood::unordered_node_map), and of an entry: a map of its own, and the
# function that frees.
MULTIPLIER, ENTRIES, USED, COUNT, MASK = 2, 3, 4, 5, 6
ENTRY_MULTIPLIER, FREEING, FREEING_WORDS = 5, 12, 4

COMM_MANAGER: Final = "18DefaultCommManager"
"""The class of the CPU's ``CommManager``, as its type in C++ names it."""
CREATE_GROUP, COMM_FUNCTIONS = 2, 7
"""The place of ``CreateGroupSync`` in the table of ``CommManager``, behind two destructors, and how many there are."""


@frozen(eq=False)
class KernelTable:
    """The table of virtual functions of kernels of the CPU, as a kernel has it that has no task of its own."""

    address: int
    plain: tuple[int, ...]
    """The functions of that kernel."""

    def functions(self, kernel: int) -> list[int]:
        """
        Return the virtual functions of the kernel at an address.

        Raises
        ------
        LookupError
            The table is laid out in another way.
        """
        functions = read_functions(read_word(kernel))
        if len(functions) < KERNEL_FUNCTIONS or not all(
            # A library may have a copy of what kernels inherit.
            functions[place] == self.plain[place] or find_symbol(functions[place]) == name
            for place, name in _INHERITED.items()
        ):
            raise LookupError("a kernel of MindSpore has another table of virtual functions")
        return functions


def read_kernel_table(kernel: int) -> KernelTable:
    """
    Return the table of a new kernel that has no task of its own.

    Raises
    ------
    AttributeError, OSError
        The library of C++ is not there.
    LookupError
        The kernel or its table is laid out in another way.
    """
    address = read_word(kernel)
    functions = read_functions(address)[:KERNEL_FUNCTIONS]
    if len(functions) != KERNEL_FUNCTIONS or any(
        find_symbol(functions[place]) != name for place, name in (_INHERITED | _PLAIN).items()
    ):
        raise LookupError("a kernel of MindSpore has another table of virtual functions")
    empty = address_of(ctypes.CDLL("libstdc++.so.6"), "_ZNSs4_Rep20_S_empty_rep_storageE") + 3 * WORD_BYTES
    if read_word(kernel + NAME_AT) != empty or read_word(kernel + PRIMITIVE_AT):
        raise LookupError("a kernel of MindSpore keeps its name and its primitive elsewhere")
    return KernelTable(address, tuple(functions))
