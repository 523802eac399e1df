"""Which memory of the npu a call of an operator reads and writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch.cuda._sanitizer import zip_arguments
from torch.utils import _pytree

from drynpu_torch.device import address_of, on_npu


class Accesses:
    """
    The npu's memory that one call accesses.

    Views and arguments of which only shape and type count, such as arguments of ``zeros_like``, access nothing.

    Attributes
    ----------
    dataptrs_read, dataptrs_written:
        Addresses of tensors.
    outputs:
        Accesses of tensors that the call returns.
    tensor_aliases:
        Names of the arguments, by address.
    storage_dataptrs_accessed:
        Addresses at which the storages of all of them begin.
    """

    def __init__(self) -> None:
        self.dataptrs_read: set[int] = set()
        self.dataptrs_written: set[int] = set()
        self.outputs: set[int] = set()
        self.tensor_aliases: dict[int, list[str]] = {}
        self.storage_dataptrs_accessed: set[int] = set()

    def parse_inputs(
        self, schema: Any, args: Sequence[Any], kwargs: Mapping[str, Any], *, is_factory: bool = False
    ) -> None:
        """Note the arguments of a call; a *factory* takes shapes and types from them."""
        for argument, value in zip_arguments(schema, tuple(args), dict(kwargs)):
            alias = argument.alias_info
            is_write = alias is not None and alias.is_write
            if is_write or not (is_factory or alias is not None):
                self._note(value, argument.name, is_write=is_write, is_output=False)

    def parse_outputs(self, schema: Any, outputs: Any, *, is_factory: bool = False) -> None:
        """Note what a call returned."""
        del is_factory  # what a factory returns is written by it, as by any other operator
        several = outputs if len(schema.returns) > 1 else (outputs,)
        for result, value in zip(schema.returns, several, strict=False):
            alias = result.alias_info
            if alias is None or alias.is_write:
                self._note(value, None, is_write=True, is_output=True)

    def __bool__(self) -> bool:
        return bool(self.dataptrs_read or self.dataptrs_written or self.storage_dataptrs_accessed)

    def _note(self, value: object, name: str | None, *, is_write: bool, is_output: bool) -> None:
        for tensor in _pytree.tree_leaves(value):
            if not on_npu(tensor):
                continue
            begin = address_of(tensor)
            # Tensors without memory have no address; they are not the same one.
            address = begin + tensor.storage_offset() * tensor.element_size() if begin else id(tensor)
            (self.dataptrs_written if is_write else self.dataptrs_read).add(address)
            names = self.tensor_aliases.setdefault(address, [])
            if name is not None:
                names.append(name)
            if is_output:
                self.outputs.add(address)
            if begin:
                self.storage_dataptrs_accessed.add(begin)
