"""Descriptions of tensors: type, shape, format and name, and those that data sets carry with their buffers."""

from __future__ import annotations

import math
from collections.abc import Iterator

from attrs import evolve

from drynpu import say
from drynpu_acl.constants import ReturnCode
from drynpu_acl.handles import Handles
from drynpu_acl.kernels import ACL_SIZES
from drynpu_acl.runtime._data import DataSets, TensorDescription

_UNDEFINED = -1
_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
"""aclLogLevel."""
_SHOWN_LEVEL = 3


class TensorDescriptions:
    """All descriptions of a process, and the calls about them."""

    def __init__(self, numbers: Iterator[int], data: DataSets) -> None:
        self.descriptions: Handles[TensorDescription] = Handles(numbers)
        self._data = data

    def create_tensor_desc(self, dtype: int, dims: object, form: int) -> int:
        """
        Return the handle of a description.

        Raises
        ------
        TypeError
            The dims are no list of numbers, with the binding's text.
        """
        if not isinstance(dims, list):
            raise TypeError("argument 2 is not list")
        if not all(isinstance(dim, int) for dim in dims):
            raise TypeError("the second argument is not list of int")
        return self.descriptions.add(TensorDescription(dtype, tuple(dims), form))

    def destroy_tensor_desc(self, handle: int) -> None:
        """Give up a description."""
        self.descriptions.remove(handle)

    def get_tensor_desc_type(self, handle: int) -> int:
        """Return the aclDataType, -1 for an unknown description."""
        description = self.descriptions.get(handle)
        return _UNDEFINED if description is None else description.dtype

    def get_tensor_desc_format(self, handle: int) -> int:
        """Return the aclFormat, -1 for an unknown description."""
        description = self.descriptions.get(handle)
        return _UNDEFINED if description is None else description.format

    def get_tensor_desc_element_count(self, handle: int) -> int:
        """Return the number of elements, 0 for unknown dims."""
        description = self.descriptions.get(handle)
        return 0 if description is None or min(description.dims, default=0) < 0 else math.prod(description.dims)

    def get_tensor_desc_size(self, handle: int) -> int:
        """Return the size in bytes, 0 for unknown dims or types."""
        description = self.descriptions.get(handle)
        return (
            0
            if description is None
            else self.get_tensor_desc_element_count(handle) * ACL_SIZES.get(description.dtype, 0)
        )

    def get_tensor_desc_num_dims(self, handle: int) -> int:
        """Return the number of dims, 0 for an unknown description."""
        description = self.descriptions.get(handle)
        return 0 if description is None else len(description.dims)

    def get_tensor_desc_dim_v2(self, handle: int, index: int) -> tuple[int, int]:
        """Return ``(length, code)`` of a dim."""
        description = self.descriptions.get(handle)
        if description is None or index >= len(description.dims):
            return 0, ReturnCode.INVALID_PARAM
        return description.dims[index], ReturnCode.SUCCESS

    def get_tensor_desc_name(self, handle: int) -> str:
        """Return the name, empty for none."""
        description = self.descriptions.get(handle)
        return "" if description is None else description.name

    def set_tensor_desc_name(self, handle: int, name: str) -> None:
        """Set the name."""
        description = self.descriptions.get(handle)
        if description is not None:
            description.name = name

    # Data sets ------------------------------------------------------------------------------------------------------

    def set_dataset_tensor_desc(self, dataset: int, handle: int, index: int) -> tuple[int, int]:
        """Give a buffer of a data set a copy of a description, or with 0 none, and return ``(data set, code)``."""
        owner = self._data.datasets.get(dataset)
        description = self.descriptions.get(handle)
        if owner is None or index >= len(owner.buffers) or (description is None and handle):
            return dataset, ReturnCode.INVALID_PARAM
        if description is None:
            owner.tensors.pop(index, None)
        else:
            owner.tensors[index] = evolve(description)
        return dataset, ReturnCode.SUCCESS

    def get_dataset_tensor_desc(self, dataset: int, index: int) -> int:
        """Return the description of a buffer, after a run of the result in it; 0 for none."""
        owner = self._data.datasets.get(dataset)
        description = None if owner is None else owner.results.get(index, owner.tensors.get(index))
        if description is None:
            return 0
        known = [handle for handle, each in self.descriptions.items() if each is description]
        return known[0] if known else self.descriptions.add(description)

    def app_log(self, level: int, text: str) -> None:
        """Take over a line of the program's log; errors are shown."""
        if level >= _SHOWN_LEVEL:
            say(f"acl.app_log: [{_LEVELS[min(level, len(_LEVELS) - 1)]}] {text}")
