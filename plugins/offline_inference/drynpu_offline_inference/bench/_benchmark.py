"""One benchmark in this process: a session, its inputs, the runs, their results and times."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from attrs import define, field

from drynpu_offline_inference.bench import _files as files
from drynpu_offline_inference.bench._copy_times import CopyTimesBase
from drynpu_offline_inference.bench._files import Row
from drynpu_offline_inference.bench._infer_session import InferSessionBase
from drynpu_offline_inference.bench._log import LOGGER, refuse
from drynpu_offline_inference.bench._results import FOLDER_MODE, save_results
from drynpu_offline_inference.bench._summary import Summary
from drynpu_offline_inference.inference import RANDOM, ZERO


@define(eq=False)
class Benchmark:
    """
    A benchmark with its options.

    ``session_class`` and ``copy_times`` come from ``ais_bench.infer.interface``; ``acl_json`` is the file that the
    library begins with; ``place`` the device and its number among several.
    """

    options: Namespace
    session_class: type[InferSessionBase]
    copy_times: type[CopyTimesBase]
    summary: Summary
    acl_json: str | None = None
    place: tuple[int, int] | None = None
    folder: str | None = field(default=None, init=False)

    def run(self) -> float:
        """Do it, print the summary, and return the throughput."""
        options = self.options
        session = self._open()
        others = [self._open() for _ in range(options.threads - 1)] if options.pipeline else []
        self.folder = self._make_folder()
        wanted = session.get_inputs()
        rows = self._rows(wanted)
        for each in (session, *others):
            self._warm_up(each, wanted, rows[0])
        if options.pipeline:
            self._run_pipeline(session, others, rows)
        else:
            self._run_rows(session, wanted, rows)
        self._report(session, bool(others))
        for each in (session, *others):
            each.free_resource()
        self.session_class.finalize()
        return float(self.summary.infodict["throughput"])

    # Before the runs --------------------------------------------------------------------------------------------

    def _open(self) -> InferSessionBase:
        """Return a session with the shapes and sizes that the options choose."""
        options = self.options
        session = self.session_class(options.device, options.model, self.acl_json, options.debug, options.loop)
        batch = 0
        if options.dym_batch:
            session.set_dynamic_batchsize(options.dym_batch)
            batch = session.get_max_dym_batchsize()
        elif options.dym_hw is not None:
            height, _, width = options.dym_hw.partition(",")
            session.set_dynamic_hw(int(height), int(width))
        elif options.dym_dims is not None:
            session.set_dynamic_dims(options.dym_dims)
        elif options.dym_shape is not None:
            session.set_dynamic_shape(options.dym_shape)
        else:
            session.set_staticbatch()
        if options.batchsize is None:
            options.batchsize = self._model_batch(session)
            LOGGER.info(f"try get model batchsize:{options.batchsize}")
        chosen = (options.dym_batch, options.dym_dims, options.dym_shape, options.no_combine_tensor_mode)
        if options.batchsize < 0 and not any(chosen):
            raise refuse("dynamic batch om model detected, but dymbatch, dymdims or dymshape not set!")
        self._prepare_images(session, batch or options.batchsize)
        if options.output_size is not None:
            session.set_custom_outsize([int(size) for size in options.output_size.split(",")])
        return session

    def _model_batch(self, session: InferSessionBase) -> int:
        first, options = session.get_inputs()[0], self.options
        if options.dym_batch:
            return int(options.dym_batch)
        for part in (options.dym_dims or options.dym_shape or "").split(";"):
            name, _, dims = part.rpartition(":")
            if name == first.name:
                return int(dims.split(",")[0])
        return int(first.shape[0]) if first.shape else 1

    def _prepare_images(self, session: InferSessionBase, batch: int) -> None:
        open_shape = self.options.dym_shape is not None or self.options.auto_set_dymshape_mode
        count = 0 if open_shape else session.get_dym_aipp_input_exist()
        if count > 1:
            raise refuse(f"don't support more than one dynamic aipp input in model, amount of aipp input is {count}")
        if count and self.options.aipp_config is None:
            raise refuse("can't find aipp config file for model with dym aipp input: add --aipp_config X.config")
        if count:
            session.load_aipp_config_file(self.options.aipp_config, batch)
            session.check_dym_aipp_input_exist()
        elif self.options.aipp_config is not None:
            LOGGER.warning("--aipp_config is ignored: the model has no dynamic aipp input")

    def _make_folder(self) -> str | None:
        """Make and return the folder of the results, ``None`` without --output."""
        if self.options.output is None:
            return None
        folder = Path(self.options.output, self.options.output_dirname or time.strftime("%Y_%m_%d-%H_%M_%S"))
        if self.place is not None:
            folder /= f"device{self.place[0]}_{self.place[1]}"
        folder.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
        LOGGER.info(f"output path:{folder}")
        return str(folder)

    def _rows(self, wanted: Sequence[object]) -> list[Any]:
        """Return the files of each run; in a pipeline one of each input."""
        options = self.options
        inputs = options.input.split(",") if options.input else []
        if not options.pipeline:
            if not inputs:
                return [[[files.PURE] for _ in wanted]]
            rows: list[Any] = files.create_infileslist_from_inputs_list(inputs, wanted, options.no_combine_tensor_mode)
            return rows
        if not inputs:
            return [[ZERO if options.pure_data_type == "zero" else RANDOM for _ in wanted]]
        return list(files.create_pipeline_fileslist_from_inputs_list(inputs, wanted))

    def _warm_up(self, session: InferSessionBase, wanted: Sequence[Any], row: Any) -> None:
        """Run some times without counting."""
        row = [[file] for file in row] if self.options.pipeline else row
        inputs = self._read(session, wanted, row, as_tensors=self.options.run_mode == "tensor")
        session.set_loop_count(1)
        for _ in range(self.options.warmup_count):
            self._run(session, inputs, as_arrays=True)
        session.set_loop_count(self.options.loop)
        self.summary.reset()
        session.reset_summaryinfo()
        self.copy_times.reset()
        LOGGER.info(f"warm up {self.options.warmup_count} done")

    # Runs -------------------------------------------------------------------------------------------------------

    def _read(self, session: InferSessionBase, wanted: Sequence[Any], row: Row, *, as_tensors: bool) -> list[Any]:
        options = self.options
        arrays = [
            files.get_narray_from_files_list(
                column, each.realsize, options.pure_data_type, options.no_combine_tensor_mode
            )
            for column, each in zip(row, wanted, strict=True)
        ]
        return [session.create_tensor_from_arrays_to_device(array) for array in arrays] if as_tensors else arrays

    def _run(self, session: InferSessionBase, inputs: Sequence[Any], *, as_arrays: bool = False) -> list[Any]:
        modes: dict[str, Callable[[str], None]] = {}
        if self.options.auto_set_dymshape_mode:
            modes["dymshape"] = session.set_dynamic_shape
        elif self.options.auto_set_dymdims_mode:
            modes["dymdims"] = session.set_dynamic_dims
        for choose in modes.values():
            pairs = zip(session.get_inputs(), inputs, strict=True)
            choose(";".join(f"{each.name}:{','.join(map(str, array.shape))}" for each, array in pairs))
            self.summary.add_batchsize(inputs[0].shape[0])
        return session.run(inputs, as_arrays)

    def _run_rows(self, session: InferSessionBase, wanted: Sequence[object], rows: Sequence[Row]) -> None:
        """Run one row after the other; in the mode ``full`` all results are fetched at the end."""
        mode = self.options.run_mode
        kept = []
        for index, row in enumerate(rows):
            if mode == "files":
                inputs = [
                    session.create_tensor_from_fileslist(each, self._plain_files(column))
                    for each, column in zip(wanted, row, strict=True)
                ]
            else:
                inputs = self._read(session, wanted, row, as_tensors=mode in ("tensor", "full"))
            outputs = self._run(session, inputs)
            if mode == "full":
                kept.append((index, row, outputs))
            else:
                self._save(session, outputs, row, index)
        for index, row, outputs in kept:
            self._save(session, outputs, row, index)

    @staticmethod
    def _plain_files(column: Sequence[str]) -> list[str]:
        wrong = [file for file in column if file == files.PURE or file.lower().endswith(".npy")]
        if wrong:
            raise refuse(f"--run_mode files does not support {wrong[0]}; name .bin files, or use --run_mode array")
        return [column[0] if file == files.PADDING else file for file in column]

    def _save(self, session: InferSessionBase, outputs: Sequence[object], row: Row, index: int) -> None:
        session.convert_tensors_to_host(outputs)
        if self.folder is not None:
            axis, form = self.options.output_batchsize_axis, self.options.outfmt
            save_results(outputs, self.folder, row, form, index, axis, self.summary)

    def _run_pipeline(
        self, session: InferSessionBase, others: Sequence[InferSessionBase], rows: Sequence[Sequence[str]]
    ) -> None:
        options = self.options
        LOGGER.info(f"run in pipeline mode with computing threadsnumber:{options.threads}")
        if options.no_combine_tensor_mode:
            for row in rows:
                self.summary.add_batchsize(np.load(row[0], mmap_mode="r").shape[0])
        session.run_pipeline(
            rows,
            self.folder or "",
            options.auto_set_dymshape_mode,
            options.auto_set_dymdims_mode,
            options.outfmt,
            options.input is None,
            [each.session for each in others],
        )

    # After the runs ---------------------------------------------------------------------------------------------

    def _report(self, session: InferSessionBase, several: bool) -> None:
        summary, pairs = self.summary, session.summary().exec_time_list
        summary.add_args(sys.argv)
        if several:
            summary.npu_compute_time_interval_list = list(pairs)
        else:
            summary.npu_compute_time_list = [end - start for start, end in pairs]
        summary.h2d_latency_list = self.copy_times.get_h2d_time_list()
        summary.d2h_latency_list = self.copy_times.get_d2h_time_list()
        summary.report(self.options.batchsize, self.folder, self.options.display_all_summary, several)
