"""What a benchmark says at its end: times and throughput, as lines and as a file."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from attrs import frozen

from drynpu_offline_inference.bench._log import LOGGER, start_log

_PERCENTILE = 99
_MS_PER_S = 1000


@frozen(kw_only=True)
class _Statistic:
    """Smallest, largest, mean and median of times, and what 99 % of them do not exceed, ms; 0 without any."""

    least: float = 0.0
    largest: float = 0.0
    mean: float = 0.0
    median: float = 0.0
    percentile: float = 0.0

    @classmethod
    def from_times(cls, times: Sequence[float]) -> _Statistic:
        """Return the statistic of single times."""
        if not times:
            return cls()
        return cls(
            least=float(np.min(times)),
            largest=float(np.max(times)),
            mean=float(np.mean(times)),
            median=float(np.median(times)),
            percentile=float(np.percentile(times, _PERCENTILE)),
        )

    @property
    def fields(self) -> dict[str, float]:
        """The numbers under the names of the file."""
        return {
            "min": self.least,
            "max": self.largest,
            "mean": self.mean,
            "median": self.median,
            f"percentile({_PERCENTILE}%)": self.percentile,
        }

    @property
    def line(self) -> str:
        """The numbers as they are printed."""
        return ", ".join(f"{name} = {value}" for name, value in self.fields.items())


class Summary:
    """
    The times of a benchmark; names are the vendor's.

    Attributes
    ----------
    npu_compute_time_list:
        How long each run took, ms; pairs of begin and end are taken as well.
    npu_compute_time_interval_list:
        Begin and end of each run, ms, where several sessions ran at once; what overlaps counts once.
    h2d_latency_list, d2h_latency_list:
        How long each copy took, ms.
    infodict:
        What the file says.
    """

    def __init__(self) -> None:
        self.infodict: dict[str, Any] = {"filesinfo": {}}
        self.reset()

    def reset(self) -> None:
        """Forget all times."""
        self.h2d_latency_list: list[float] = []
        self.d2h_latency_list: list[float] = []
        self.npu_compute_time_list: list[Any] = []
        self.npu_compute_time_interval_list: list[tuple[float, float]] = []
        self._batchsizes: list[int] = []

    def add_batchsize(self, n: int) -> None:
        """Note the batch of a run whose shape was chosen by its file."""
        self._batchsizes.append(n)

    def add_sample_id_infiles(self, sample_id: int, infiles: Sequence[str]) -> None:
        """Note the files that went in."""
        entry = self.infodict["filesinfo"].setdefault(sample_id, {"infiles": [], "outfiles": []})
        entry["infiles"] = entry["infiles"] or list(infiles)

    def append_sample_id_outfile(self, sample_id: int, outfile: str) -> None:
        """Note a file that came out."""
        entry = self.infodict["filesinfo"].setdefault(sample_id, {"infiles": [], "outfiles": []})
        entry["outfiles"].append(outfile)

    def add_args(self, args: Sequence[str]) -> None:
        """Note the command line."""
        self.infodict["args"] = list(args)

    def report(
        self,
        batchsize: float,
        output_prefix: str | None,
        display_all_summary: bool = False,
        multi_threads: bool = False,
    ) -> None:
        """Print the summary and write it to ``<output_prefix>_summary.json``; *multi_threads* takes the intervals."""
        copies = [_Statistic.from_times(times) for times in (self.h2d_latency_list, self.d2h_latency_list)]
        runs = self._merged() if multi_threads else _Statistic.from_times(self._lengths)
        if self._batchsizes:
            batchsize = sum(self._batchsizes) / len(self._batchsizes)
        throughput = _MS_PER_S * batchsize / runs.mean if runs.mean else 0
        self._record(runs, copies, throughput, multi_threads)
        start_log(debug=LOGGER.level == 10)
        show = (lambda each: f"mean = {each.mean}") if multi_threads else (lambda each: each.line)
        LOGGER.info("-----------------Performance Summary------------------")
        if display_all_summary:
            LOGGER.info(f"H2D_latency (ms): {show(copies[0])}")
        LOGGER.info(f"NPU_compute_time (ms): {show(runs)}")
        if display_all_summary:
            LOGGER.info(f"D2H_latency (ms): {show(copies[1])}")
        mean = f"1000*batchsize.mean({batchsize})/NPU_compute_time.mean({runs.mean})"
        LOGGER.info(f"throughput {mean}: {throughput}")
        LOGGER.info("------------------------------------------------------")
        if output_prefix is not None:
            Path(f"{output_prefix}_summary.json").write_text(json.dumps(self.infodict), encoding="utf-8")

    @property
    def _lengths(self) -> list[float]:
        return [each if isinstance(each, int | float) else each[1] - each[0] for each in self.npu_compute_time_list]

    def _merged(self) -> _Statistic:
        """Return the mean of all runs, time that several share counting once."""
        total, reached = 0.0, float("-inf")
        for start, end in sorted(self.npu_compute_time_interval_list):
            total += max(end, reached) - max(start, reached)
            reached = max(end, reached)
        return _Statistic(mean=total / max(len(self.npu_compute_time_interval_list), 1))

    def _record(self, runs: _Statistic, copies: Sequence[_Statistic], throughput: float, multi_threads: bool) -> None:
        times = self.npu_compute_time_interval_list if multi_threads else self._lengths
        for name, statistic, count in (
            ("NPU_compute_time", runs, len(times)),
            ("H2D_latency", copies[0], len(self.h2d_latency_list)),
            ("D2H_latency", copies[1], len(self.d2h_latency_list)),
        ):
            fields = {"mean": statistic.mean} if multi_threads else statistic.fields
            self.infodict[name] = {**fields, "count": count}
        self.infodict["npu_compute_time_list"] = list(times)
        self.infodict["throughput"] = throughput
        self.infodict["pid"] = os.getpid()
