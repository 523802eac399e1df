"""A session: a model in a context of its own, which runs with tensors."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from drynpu_offline_inference.inference._aipp import ImageSettings
from drynpu_offline_inference.inference._choices import Choice, choose_batch, choose_dims, choose_image, choose_shape
from drynpu_offline_inference.inference._console import ERROR, WARN
from drynpu_offline_inference.inference._failures import GENERAL, NO_OUTPUT_SIZE, failure
from drynpu_offline_inference.inference._feeding import FilledDataset, carry_over
from drynpu_offline_inference.inference._library import Block
from drynpu_offline_inference.inference._model import LoadedModel, TensorDescription
from drynpu_offline_inference.inference._options import HostMemory, SessionOptions
from drynpu_offline_inference.inference._run_times import RunTimes
from drynpu_offline_inference.inference._tensors import Tensor
from drynpu_offline_inference.inference.process import LIBRARY


class Session:
    """
    What runs a model.

    Parameters
    ----------
    path:
        An offline model, or an ONNX file under its name (docs/pyacl.md).
    device_id:
        Number of the device.
    options:
        Turns and what is printed; ``acl.json`` counts where this is the first session of the process.

    Raises
    ------
    RuntimeError
        There is no such device, or the model cannot be read.
    """

    def __init__(self, path: str, device_id: int = 0, options: SessionOptions | None = None) -> None:
        self.path, self.device_id = str(path), int(device_id)
        self.options = options or SessionOptions()
        LIBRARY.console.level = self.options.log_level
        LIBRARY.begin(self.options.acl_json_path)
        self.context = LIBRARY.create_context(self.device_id)
        self._held = threading.RLock()
        self.enter()
        self.model = LoadedModel(LIBRARY, self.path)
        self.images = ImageSettings(LIBRARY)
        self.runs = RunTimes()
        self._images_checked = False
        self._choice = Choice()
        self._output_sizes: list[int] = []
        self._inputs: FilledDataset | None = None
        self._outputs: FilledDataset | None = None
        self._unload = weakref.finalize(self, self.model.unload)
        self._unload.atexit = False

    def enter(self) -> None:
        """Make the session's context current in this thread."""
        LIBRARY.enter_context(self.device_id, self.context)

    # Choices ----------------------------------------------------------------------------------------------------

    def choose_static(self) -> None:
        """Run with the shapes that the model has."""
        self._choice = Choice()

    def choose_batch(self, batch: int) -> None:
        """Run with a batch."""
        self._choice = choose_batch(self.model, batch, LIBRARY.console)

    def choose_image(self, height: int, width: int) -> None:
        """Run with a height and a width."""
        self._choice = choose_image(self.model, height, width, LIBRARY.console)

    def choose_dims(self, text: str) -> None:
        """Run with dims, ``name:1,3;other:1,5``, that are a gear of the model."""
        self._choice = choose_dims(self.model, text, LIBRARY.console)

    def choose_shape(self, text: str) -> None:
        """Run with shapes, ``name:1,3;other:1,5``."""
        self._choice = choose_shape(self.model, text, LIBRARY.console)

    def set_output_sizes(self, sizes: Sequence[int]) -> None:
        """Give the first outputs so many bytes; the others get the bytes of their descriptions."""
        self._output_sizes = [int(size) for size in sizes]

    def check_images(self) -> None:
        """Let runs use the settings of images; the model has to have one input that takes them."""
        if self.model.count_aipp_inputs() != 1:
            raise self._refuse("the model has no dynamic aipp input, or more than one")
        self._images_checked = True

    # Runs -------------------------------------------------------------------------------------------------------

    def run(self, names: Sequence[str], feeds: Sequence[Any] | Mapping[str, Tensor]) -> list[Tensor]:
        """Run with inputs in order or by name and return the outputs of these names, on the device."""
        with self._held:
            self.enter()
            try:
                return self.run_on_device(names, self.send(feeds))
            finally:
                self._drop_datasets()

    def run_on_device(self, names: Sequence[str], blocks: Sequence[Block]) -> list[Tensor]:
        """Run with inputs that lie on the device."""
        with self._held:
            self.enter()
            self._prepare(blocks)
            self._repeat(self.options.loop)
            return self._collect(names)

    def run_first(self, feeds: Sequence[object]) -> None:
        """Run once and keep inputs and outputs for `run_next`."""
        with self._held:
            self.enter()
            self._prepare(self.send(feeds))
            self._repeat(self.options.loop)

    def run_next(self, relation: Sequence[int], names: Sequence[str], fetch: bool, copy: bool) -> list[Tensor]:
        """
        Run with results of the last run as inputs (`carry_over`), and return outputs if they are wanted.

        Without *copy* the options' turns do not count: each turn needs the results of the one before it.
        """
        with self._held:
            self.enter()
            inputs, outputs = self._filled()
            whole = list(relation)
            if self.model.gear_input is not None:
                whole.insert(self.model.gear_input, -1)
            any_size = self.model.gear_input is not None
            carry_over(inputs, outputs, whole, copy=copy, any_size=any_size)
            self._repeat(self.options.loop if copy else 1)
            return self._collect(names) if fetch else []

    def send(self, feeds: Sequence[Any] | Mapping[str, Tensor]) -> list[Block]:
        """
        Return inputs as blocks on the device of this thread's context.

        Raises
        ------
        RuntimeError
            Their number, names or sizes differ from the model's.
        """
        wanted = self.model.inputs
        if isinstance(feeds, Mapping):
            missing = [tensor.name for tensor in wanted if tensor.name not in feeds]
            if missing or len(feeds) != len(wanted):
                raise self._refuse(
                    f"intensors size:{len(feeds)} need size:{len(wanted)} not match; "
                    f"allowed: {', '.join(tensor.name for tensor in wanted)}"
                )
            feeds = [feeds[tensor.name] for tensor in wanted]
        if len(feeds) != len(wanted):
            LIBRARY.console.say(WARN, f"intensors in:{len(feeds)} need:{len(wanted)} not match")
            raise failure(GENERAL, f"the model has {len(wanted)} inputs, {len(feeds)} came")
        return [self._send(number, *pair) for number, pair in enumerate(zip(wanted, feeds, strict=True))]

    def _send(self, number: int, tensor: TensorDescription, feed: object) -> Block:
        if not isinstance(feed, Tensor | HostMemory):
            raise TypeError(f"input {tensor.name} is a {type(feed).__name__}; allowed: aclruntime.Tensor, BaseTensor")
        self._check_size(number, feed.size_bytes if isinstance(feed, Tensor) else feed.size)
        if isinstance(feed, HostMemory):
            return LIBRARY.send_memory(feed.buf, feed.size, self.device_id)
        if feed.block is None:
            return LIBRARY.send(feed.content_bytes(), self.device_id)
        return feed.block

    def check_sizes(self, sizes: Sequence[int]) -> None:
        """Refuse inputs whose bytes do not fit the chosen shapes."""
        for number, size in enumerate(sizes):
            self._check_size(number, size)

    def _check_size(self, number: int, size: int) -> None:
        tensor = self.model.inputs[number]
        if size != tensor.realsize:
            hint = "; choose a shape for the model's free dims before" if tensor.realsize == 0 else ""
            raise self._refuse(
                f"Check i:{number} name:{tensor.name} in size:{size} needsize:{tensor.realsize} not match{hint}"
            )

    def _prepare(self, blocks: Sequence[Block]) -> None:
        """Fill the data sets of a run."""
        self._drop_datasets()
        if self.model.dims and self._choice.kind != "dims":
            text = f"check failed dym gearcount:{len(self.model.dims)} but dymtype: {self._choice.kind}"
            LIBRARY.console.say(WARN, text)
            raise failure(GENERAL, f"{text}; call set_dynamic_dims before")
        sizes = self._sizes()
        self._inputs, self._outputs = inputs, outputs = FilledDataset(LIBRARY), FilledDataset(LIBRARY)
        rest = list(blocks)
        for number in range(len(blocks) + len(self.model.added_inputs)):
            size = self.model.added_inputs.get(number)
            block = rest.pop(0) if size is None else LIBRARY.allocate(size, self.device_id)
            inputs.add((block.pointer, block.size if size is None else size), block)
        for size in sizes:
            block = LIBRARY.allocate(size, self.device_id)
            outputs.add((block.pointer, size), block)
        self._apply_choice(inputs.handle)
        if self._images_checked:
            code = LIBRARY.calls.set_aipp(
                self.model.model_id, inputs.handle, self.model.aipp_input or 0, self.images.handle
            )
            if code:
                raise LIBRARY.refuse(code, "ModelProcess::SetInputAIPP failed", GENERAL)

    def _sizes(self) -> list[int]:
        """Return the bytes of the outputs: as they were set, else as in the model."""
        sizes = [tensor.size for tensor in self.model.outputs]
        if self.model.has_free_dims and self._choice.kind in ("batch", "image", "dims"):
            sizes = self.model.output_sizes(self._choice.shapes)
        sizes[: len(self._output_sizes)] = self._output_sizes[: len(sizes)]
        for number, (tensor, size) in enumerate(zip(self.model.outputs, sizes, strict=True)):
            if size == 0:
                text = f"out i:{number} size is zero"
                LIBRARY.console.say(ERROR, text)
                raise failure(NO_OUTPUT_SIZE, f"{text}: say the bytes of {tensor.name} (--outputSize, custom_sizes)")
        return sizes

    def _apply_choice(self, dataset: int) -> None:
        """Tell the library what was chosen."""
        calls, tensors, choice = LIBRARY.calls, LIBRARY.process.tensors, self._choice
        place = (self.model.model_id, dataset, self.model.gear_input or 0)
        code = 0
        if choice.kind == "batch":
            code = calls.choose_batch(*place, *choice.numbers)
        elif choice.kind == "image":
            code = calls.choose_image(*place, *choice.numbers)
        elif choice.kind == "dims":
            dims = {"name": "", "dimCount": len(choice.numbers), "dims": list(choice.numbers)}
            code = calls.choose_dims(*place, dims)
        elif choice.kind == "shape":
            for number, tensor in enumerate(self.model.inputs):
                handle = tensors.create_tensor_desc(
                    int(tensor.datatype), list(choice.shapes[tensor.name]), tensor.format
                )
                tensors.set_dataset_tensor_desc(dataset, handle, number)
                tensors.destroy_tensor_desc(handle)
        if code:
            raise LIBRARY.refuse(code, "set dynamic info failed", GENERAL)

    def _repeat(self, turns: int) -> None:
        """Run with the filled data sets."""
        inputs, outputs = self._filled()
        for turn in range(1, turns + 1):
            runs = self.runs
            code = LIBRARY.execute(self.model.model_id, inputs.handle, outputs.handle, runs, runs.add)
            if code:
                raise LIBRARY.refuse(code, f"execute model failed, modelId is {self.model.model_id}", GENERAL)
            LIBRARY.console.progress(turn, turns)

    def _collect(self, names: Sequence[str]) -> list[Tensor]:
        """Return outputs of the last run."""
        _, outputs = self._filled()
        dataset = LIBRARY.process.data.datasets.get(outputs.handle)
        results = {} if dataset is None else dataset.results
        tensors = []
        for name in names:
            number = self.model.output_numbers.get(name)
            if number is None or number not in results:
                known = ", ".join(self.model.output_numbers)
                raise self._refuse(f"outnames {name} not valid; allowed: {known}")
            dtype = self.model.outputs[number].datatype
            tensors.append(Tensor.on_device(outputs.blocks[number], dtype, results[number].dims))
        return tensors

    def _filled(self) -> tuple[FilledDataset, FilledDataset]:
        if self._inputs is None or self._outputs is None:
            raise self._refuse("inner_run: there is no last run; call first_inner_run before")
        return self._inputs, self._outputs

    def _drop_datasets(self) -> None:
        for dataset in (self._inputs, self._outputs):
            if dataset is not None:
                dataset.destroy()
        self._inputs = self._outputs = None

    def _refuse(self, text: str) -> RuntimeError:
        LIBRARY.console.say(ERROR, text)
        return failure(GENERAL, text)

    # End --------------------------------------------------------------------------------------------------------

    def free(self) -> None:
        """Give up model, memory and context; a second time nothing happens."""
        with self._held:
            if self._unload.alive:
                self.enter()
                LIBRARY.times.settle()
                self._drop_datasets()
                self._unload()
                LIBRARY.destroy_context(self.device_id, self.context)

    def __str__(self) -> str:
        lines = ["<Model>", f"device:\t{self.device_id}"]
        for title, tensors in (("input:", self.model.inputs), ("output:", self.model.outputs)):
            lines.append(title)
            lines += [f"  #{number}    {tensor.name}  {tensor.line}" for number, tensor in enumerate(tensors)]
        return "\n".join(lines) + "\n"
