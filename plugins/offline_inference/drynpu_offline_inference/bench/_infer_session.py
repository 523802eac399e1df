"""Sessions as scripts of ``ais_bench`` use them: arrays in, arrays out, the shapes chosen by what comes in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from drynpu.arrays import Array
from drynpu_offline_inference.bench._aipp_config import apply_aipp_config
from drynpu_offline_inference.bench._log import refuse

Feeds = Sequence[Any]
_DEBUG, _INFO = 1, 2
DEFAULT_SIZE = 100000
"""Bytes of each result whose size no description says, unless the script names others."""


class InferSessionBase:
    """
    A model on a device.

    ``runtime`` is the module ``aclruntime``; names of methods and parameters are the vendor's.

    Parameters
    ----------
    device_id:
        Number of the device.
    model_path:
        The offline model.
    acl_json_path:
        A file for the beginning of the library: of a recording.
    debug:
        Print what happens.
    loop:
        How often each run is made.
    """

    runtime: ClassVar[Any]

    def __init__(
        self, device_id: int, model_path: str, acl_json_path: str | None = None, debug: bool = False, loop: int = 1
    ) -> None:
        self.device_id, self.model_path, self.loop = device_id, model_path, loop
        self.acl_json_path, self.debug = acl_json_path, debug
        self.options = self.runtime.session_options()
        if acl_json_path is not None:
            self.options.acl_json_path = acl_json_path
        self.options.log_level = _DEBUG if debug else _INFO
        self.options.loop = loop
        self.session = self.runtime.InferenceSession(model_path, device_id, self.options)
        self.intensors_desc, self.outtensors_desc = self.session.get_inputs(), self.session.get_outputs()
        self.outputs_names = [each.name for each in self.outtensors_desc]
        self.infer_mode_switch: Mapping[str, Callable[[list[Sequence[int]], Any], None]] = {
            "static": lambda _shapes, _sizes: self.set_staticbatch(),
            "dymbatch": lambda shapes, _sizes: self._choose_batch(shapes),
            "dymhw": lambda shapes, _sizes: self._choose_image(shapes),
            "dymdims": lambda shapes, _sizes: self.set_dynamic_dims(self._shape_text(shapes)),
            "dymshape": self._choose_shape,
        }

    # Descriptions and choices -----------------------------------------------------------------------------------

    def get_inputs(self) -> list[Any]:
        """Return the descriptions of the inputs."""
        return list(self.session.get_inputs())

    def get_outputs(self) -> list[Any]:
        """Return the descriptions of the outputs."""
        return list(self.session.get_outputs())

    def set_loop_count(self, loop: int) -> None:
        """Make each run so often."""
        self.session.options().loop = loop

    def set_staticbatch(self) -> None:
        """Run with the shapes that the model has."""
        self.session.set_staticbatch()

    def set_dynamic_batchsize(self, dym_batch: int) -> None:
        """Run with a batch."""
        self.session.set_dynamic_batchsize(int(dym_batch))

    def set_dynamic_hw(self, w: int, h: int) -> None:
        """Run with images of a height and a width, in this order whatever the names say."""
        self.session.set_dynamic_hw(w, h)

    def get_max_dym_batchsize(self) -> int:
        """Return the largest batch that the model was converted for, 0 for none."""
        return int(self.session.get_max_dym_batchsize())

    def set_dynamic_dims(self, dym_dims: str) -> None:
        """Run with dims, ``name:1,3;other:1,5``."""
        self.session.set_dynamic_dims(dym_dims)

    def set_dynamic_shape(self, dym_shape: str) -> None:
        """Run with shapes, ``name:1,3;other:1,5``."""
        self.session.set_dynamic_shape(dym_shape)

    def set_custom_outsize(self, custom_sizes: Sequence[int]) -> None:
        """Give the outputs so many bytes."""
        self.session.set_custom_outsize(custom_sizes)

    def _choose_batch(self, shapes: list[Sequence[int]]) -> None:
        for wanted, shape in self._pairs(shapes):
            for known, length in zip(wanted.shape, shape, strict=False):
                if known < 0:
                    return self.set_dynamic_batchsize(length)
                if known != length:
                    raise RuntimeError(f"input {wanted.name}: {list(shape)} does not fit {wanted.shape}")
        raise RuntimeError("not a dymbatch model!")

    def _choose_image(self, shapes: list[Sequence[int]]) -> None:
        for wanted, shape in self._pairs(shapes):
            if len(wanted.shape) > 3 and wanted.shape[2] < 0 and wanted.shape[3] < 0:
                return self.set_dynamic_hw(shape[2], shape[3])
        raise RuntimeError("not a dymhw model!")

    def _choose_shape(self, shapes: list[Sequence[int]], sizes: int | list[int]) -> None:
        self.set_dynamic_shape(self._shape_text(shapes))
        self._set_sizes(sizes)

    def _set_sizes(self, sizes: int | list[int]) -> None:
        if not isinstance(sizes, int | list):
            raise RuntimeError(f"custom_sizes:{sizes} type:{type(sizes)} invalid; allowed: a number or a list of them")
        self.set_custom_outsize([sizes] * len(self.get_outputs()) if isinstance(sizes, int) else sizes)

    def _pairs(self, shapes: list[Sequence[int]]) -> list[tuple[Any, Sequence[int]]]:
        wanted = self.get_inputs()
        if len(wanted) != len(shapes):
            raise RuntimeError(f"the model has {len(wanted)} inputs, {len(shapes)} came")
        return list(zip(wanted, shapes, strict=True))

    def _shape_text(self, shapes: list[Sequence[int]]) -> str:
        return ";".join(f"{wanted.name}:{','.join(map(str, shape))}" for wanted, shape in self._pairs(shapes))

    # Images -----------------------------------------------------------------------------------------------------

    def get_dym_aipp_input_exist(self) -> int:
        """Return how many images come with settings before each run."""
        return int(self.session.get_dym_aipp_input_exist())

    def check_dym_aipp_input_exist(self) -> None:
        """Let runs use the settings of images."""
        self.session.check_dym_aipp_input_exist()

    def load_aipp_config_file(self, config_file: str, batchsize: int) -> int:
        """Give the images of a batch the settings of a file."""
        return apply_aipp_config(self.session, config_file, batchsize)

    # Tensors ----------------------------------------------------------------------------------------------------

    def create_tensor_from_fileslist(self, desc: object, files: Sequence[str]) -> Any:
        """Return a tensor on the device with the bytes of files."""
        return self.session.create_tensor_from_fileslist(desc, files)

    def create_tensor_from_arrays_to_device(self, arrays: Array) -> Any:
        """Return a tensor on the device with the content of an array."""
        tensor = self.runtime.Tensor(arrays)
        tensor.to_device(self.device_id)
        return tensor

    @staticmethod
    def convert_tensors_to_host(tensors: Sequence[Any]) -> None:
        """Move tensors to the host."""
        for tensor in tensors:
            tensor.to_host()

    @staticmethod
    def convert_tensors_to_arrays(tensors: Sequence[object]) -> list[Array]:
        """Return the content of tensors on the host."""
        return list(map(np.array, tensors))

    # Runs -------------------------------------------------------------------------------------------------------

    def run(self, feeds: Feeds, out_array: bool = False) -> list[Any]:
        """Run with arrays or tensors and return tensors on the device, or arrays."""
        arrays = len(feeds) > 0 and isinstance(feeds[0], np.ndarray)
        inputs = [self._address(feed) for feed in feeds] if arrays else feeds
        return self._results(self.session.run(self.outputs_names, inputs), out_array)

    def infer(
        self, feeds: Feeds, mode: str = "static", custom_sizes: int | list[int] = DEFAULT_SIZE, out_array: bool = True
    ) -> list[Any]:
        """Run with arrays, numbers or tensors, the shapes chosen by a mode."""
        inputs = [feed if type(feed) is self.runtime.Tensor else self._as_array(feed) for feed in feeds]
        self._choose(mode, [feed.shape for feed in inputs], custom_sizes)
        return self.run(inputs, out_array)

    def infer_pipeline(
        self, feeds_list: Sequence[Feeds], mode: str = "static", custom_sizes: int | list[int] = DEFAULT_SIZE
    ) -> list[list[Array]]:
        """Run with many rows of inputs, the copies of one beside the computing of another."""
        rows = [
            [np.array(feed) if type(feed) is self.runtime.Tensor else self._as_array(feed) for feed in feeds]
            for feeds in feeds_list
        ]
        shapes = [[array.shape for array in row] for row in rows]
        if mode == "dymshape":
            self._set_sizes(custom_sizes)
        elif mode != "dymdims":
            self._choose(mode, list(shapes[-1]) if shapes else [], custom_sizes)
        inputs = [[self._address(array) for array in row] for row in rows]
        outputs = self.session.run_pipeline(self.outputs_names, inputs, shapes, mode == "dymshape", mode == "dymdims")
        return [self.convert_tensors_to_arrays(row) for row in outputs]

    def first_inner_run(self, feeds: Feeds, mode: str = "static", custom_sizes: int | list[int] = DEFAULT_SIZE) -> Any:
        """Run and keep the results for `inner_run`."""
        arrays = [self._as_array(feed) for feed in feeds]
        self._choose(mode, [array.shape for array in arrays], custom_sizes)
        return self.session.first_inner_run(self.outputs_names, [self._address(array) for array in arrays])

    def inner_run(self, in_out_list: Sequence[int], get_outputs: bool = False, mem_copy: bool = True) -> Any:
        """Run with results of the last run as inputs: for each input the number of an output, -1 for none."""
        outputs = self.session.inner_run(in_out_list, self.outputs_names, get_outputs, mem_copy)
        return outputs if get_outputs else None

    def infer_iteration(
        self,
        feeds: Feeds,
        in_out_list: Sequence[int] | None = None,
        iteration_times: int = 1,
        mode: str = "static",
        custom_sizes: int | list[int] = DEFAULT_SIZE,
        mem_copy: bool = True,
    ) -> list[Any]:
        """Run several times, each with results of the time before, and return the last results as arrays."""
        relation = list(in_out_list or [])
        if len(relation) != len(self.get_inputs()):
            raise RuntimeError(f"in_out_list has {len(relation)} numbers, the model {len(self.get_inputs())} inputs")
        if iteration_times == 1:
            return self.infer(feeds, mode, custom_sizes)
        self.first_inner_run(feeds, mode, custom_sizes)
        for _ in range(iteration_times - 2):
            self.inner_run(relation, False, mem_copy)
        return self._results(self.inner_run(relation, True, mem_copy), True)

    def run_pipeline(
        self,
        infilelist: Sequence[Sequence[str]],
        output: str,
        auto_shape: bool = False,
        auto_dims: bool = False,
        outfmt: str = "BIN",
        pure_infer_mode: bool = False,
        extra_session: Sequence[object] | None = None,
    ) -> None:
        """Run with rows of files, and write the results."""
        options = self.runtime.infer_options()
        options.output_dir, options.out_format, options.pure_infer_mode = output, outfmt, pure_infer_mode
        options.auto_dym_shape, options.auto_dym_dims = auto_shape, auto_dims
        self.session.run_pipeline(infilelist, options, list(extra_session or []))

    def _choose(self, mode: str, shapes: list[Sequence[int]], sizes: int | list[int]) -> None:
        choose = self.infer_mode_switch.get(mode)
        if choose is None:
            raise refuse(f"wrong infer_mode:{mode}, only support {', '.join(self.infer_mode_switch)}")
        choose(shapes, sizes)

    def _results(self, outputs: list[Any], as_arrays: bool) -> list[Any]:
        if not as_arrays:
            return outputs
        self.convert_tensors_to_host(outputs)
        return self.convert_tensors_to_arrays(outputs)

    def _address(self, array: Array) -> Any:
        return self.runtime.BaseTensor(array.__array_interface__["data"][0], array.nbytes)

    @staticmethod
    def _as_array(feed: object) -> Array:
        """Return a feed as an array whose elements lie in order."""
        if isinstance(feed, np.generic):
            return np.array([feed])
        if isinstance(feed, np.ndarray):
            return np.ascontiguousarray(feed) if feed.ndim else feed
        if hasattr(feed, "detach") and hasattr(feed, "numpy"):
            return np.ascontiguousarray(feed.detach().cpu().numpy())
        raise RuntimeError(f"type:{type(feed)} invalid; allowed: numpy.ndarray, torch.Tensor, aclruntime.Tensor")

    # End --------------------------------------------------------------------------------------------------------

    def summary(self) -> Any:
        """Return when runs began and ended."""
        return self.session.sumary()

    def reset_summaryinfo(self) -> None:
        """Forget the runs so far."""
        self.session.reset_sumaryinfo()

    sumary, reset_sumaryinfo = summary, reset_summaryinfo
    """Older spellings."""

    def free_resource(self) -> None:
        """Give up model and memory."""
        self.session.free_resource()

    @classmethod
    def finalize(cls) -> None:
        """End the library: recordings are written."""
        cls.runtime.InferenceSession.finalize()
