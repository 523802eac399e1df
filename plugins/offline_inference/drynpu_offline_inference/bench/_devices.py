"""Runs on several devices, each in a process of its own."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from attrs import frozen

from drynpu_offline_inference.bench._infer_session import DEFAULT_SIZE, Feeds, InferSessionBase
from drynpu_offline_inference.bench._log import LOGGER

_MS_PER_S = 1000


@frozen
class _Work:
    """What one process does: a method of a session on a device, with its arguments."""

    session_class: type[InferSessionBase]
    device_id: int
    session: tuple[Any, ...]
    method: str
    arguments: tuple[Any, ...]

    def __call__(self) -> tuple[int, Any, float, float]:
        """Return the device, the results, and when the run began and ended (Unix s)."""
        session = self.session_class(self.device_id, *self.session)
        start = time.time()
        outputs = getattr(session, self.method)(*self.arguments)
        return self.device_id, outputs, start, time.time()


class MultiDeviceBase:
    """
    A model on several devices; names of methods and parameters are the vendor's.

    ``summary`` holds after a call for each device the times of its runs on this CPU, ms.
    """

    session_class: ClassVar[type[InferSessionBase]]

    def __init__(self, model_path: str, acl_json_path: str | None = None, debug: bool = False, loop: int = 1) -> None:
        self.model_path, self.acl_json_path, self.debug, self.loop = model_path, acl_json_path, debug, loop
        self.summary: dict[int, list[float]] = {}

    def infer(
        self, device_feeds: Mapping[int, Sequence[Feeds]], mode: str = "static", custom_sizes: object = DEFAULT_SIZE
    ) -> dict[int, list[Any]]:
        """Run each row of inputs of each device in a process, and return the results by device."""
        return self._run("infer", device_feeds, (mode, custom_sizes))

    def infer_pipeline(
        self, device_feeds_list: Mapping[int, Sequence[Any]], mode: str = "static", custom_sizes: object = DEFAULT_SIZE
    ) -> dict[int, list[Any]]:
        """Run each list of rows of each device in a process as a pipeline."""
        return self._run("infer_pipeline", device_feeds_list, (mode, custom_sizes))

    def infer_iteration(
        self,
        device_feeds: Mapping[int, Sequence[Feeds]],
        in_out_list: Sequence[int] | None = None,
        iteration_times: int = 1,
        mode: str = "static",
        custom_sizes: object = DEFAULT_SIZE,
        mem_copy: bool = True,
    ) -> dict[int, list[Any]]:
        """Run each row of inputs of each device several times, results becoming inputs."""
        sizes = DEFAULT_SIZE if custom_sizes is None else custom_sizes
        return self._run("infer_iteration", device_feeds, (in_out_list, iteration_times, mode, sizes, mem_copy))

    def _run(
        self, method: str, feeds: Mapping[int, Sequence[Any]], options: tuple[object, ...]
    ) -> dict[int, list[Any]]:
        session = (self.model_path, self.acl_json_path, self.debug, self.loop)
        works = [
            _Work(self.session_class, device_id, session, method, (row, *options))
            for device_id, rows in feeds.items()
            for row in rows
        ]
        outputs: dict[int, list[Any]] = {}
        self.summary.clear()
        with multiprocessing.Pool(max(len(works), 1)) as pool:
            for device_id, result, start, end in pool.map(_do, works, chunksize=1):
                outputs.setdefault(device_id, []).append(result)
                self.summary.setdefault(device_id, []).append((end - start) * _MS_PER_S)
                LOGGER.info(f"device {device_id}, start_time:{start}, end_time:{end}")
        return outputs


def _do(work: _Work) -> tuple[int, Any, float, float]:
    return work()
