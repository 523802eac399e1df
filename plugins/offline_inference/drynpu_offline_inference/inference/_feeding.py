"""Data sets of a session: what goes into a run and comes out of it, also from one run to the next."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import define, field

from drynpu_offline_inference.inference._console import ERROR
from drynpu_offline_inference.inference._failures import GENERAL, failure
from drynpu_offline_inference.inference._library import Block, Library

Room = tuple[int, int]
"""A pointer and how many bytes are there."""


@define(eq=False)
class FilledDataset:
    """
    A data set with its buffers.

    ``blocks`` are the memory of buffers that is the data set's, by the number of the buffer.
    """

    library: Library
    handle: int = field(init=False)
    rooms: list[Room] = field(factory=list)
    blocks: dict[int, Block] = field(factory=dict)
    _buffers: list[int] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        self.handle = self.library.calls.create_dataset()

    def add(self, room: Room, block: Block | None = None) -> None:
        """Append a buffer."""
        buffer = self.library.calls.create_buffer(*room)
        self.library.calls.add_buffer(self.handle, buffer)
        if block is not None:
            self.blocks[len(self.rooms)] = block
        self.rooms.append(room)
        self._buffers.append(buffer)

    def move(self, number: int, pointer: int, block: Block | None) -> None:
        """Let a buffer be other memory of the same size."""
        size = self.rooms[number][1]
        self.library.calls.update_buffer(self._buffers[number], pointer, size)
        self.rooms[number] = (pointer, size)
        self.blocks.pop(number, None)
        if block is not None:
            self.blocks[number] = block

    def destroy(self) -> None:
        """Give up the data set; memory that nothing else holds is free."""
        for buffer in self._buffers:
            self.library.calls.destroy_buffer(buffer)
        self.library.calls.destroy_dataset(self.handle)
        self.blocks.clear()


def carry_over(
    inputs: FilledDataset, outputs: FilledDataset, relation: Sequence[int], *, copy: bool, any_size: bool
) -> None:
    """
    Make results of the last run inputs of the next.

    Parameters
    ----------
    relation:
        For each input the number of the output that it becomes, negative for one that stays.
    copy:
        Whether to copy the results; else the input reads them where they are.
    any_size:
        Whether memory may be shared whatever its size: in models with gears an output has the room of the largest.

    Raises
    ------
    RuntimeError
        An output does not exist, or is too small.
    """
    if len(relation) != len(inputs.rooms):
        raise _refuse(inputs, f"wrong inOutRelation size, inputsNum: {len(inputs.rooms)}, list size: {len(relation)}")
    for number, source in enumerate(relation):
        if source < 0:
            continue
        if source >= len(outputs.rooms):
            raise _refuse(
                inputs, f"in_out_list: output {source} is not allowed; allowed: -1 to {len(outputs.rooms) - 1}"
            )
        (pointer, size), (result, room) = inputs.rooms[number], outputs.rooms[source]
        if size > room or (not copy and size != room and not any_size):
            raise _refuse(inputs, f"inputSize_current {size} and outputSize_last {room} not matched")
        if copy:
            inputs.library.copy_block(pointer, result, size)
        else:
            inputs.move(number, result, outputs.blocks.get(source))


def _refuse(inputs: FilledDataset, text: str) -> RuntimeError:
    inputs.library.console.say(ERROR, text)
    return failure(GENERAL, text)
