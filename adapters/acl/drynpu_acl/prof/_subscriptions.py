"""Subscriptions: which models hand the times of their operators to which pipe (pyacl_prof.md 8)."""

from __future__ import annotations

import threading
from collections.abc import Callable

from attrs import define, field, frozen

from drynpu import OptionError, say
from drynpu.kernels import KernelPlan, Operators, Signature
from drynpu.options.acl_config import metric_group
from drynpu.platforms import Chip
from drynpu_acl.constants import AicoreMetrics, ReturnCode
from drynpu_acl.prof._op_times import OpTimes
from drynpu_acl.prof._pipe import RecordPipe, file_identity, writable
from drynpu_acl.prof._readers import OpReaders
from drynpu_acl.prof._records import signed


@frozen
class SubscribeConfig:
    """
    What ``create_subscribe_config`` took: whether times are wanted, the counters' code, the writing end.

    ``identity`` tells which open file that was: the number may be closed, and be another file's later.
    """

    timed: int
    metrics: int
    descriptor: int
    identity: tuple[int, int] | None

    @classmethod
    def of(cls, timed: int, metrics: int, descriptor: int) -> SubscribeConfig:
        """Return a configuration for the file that is open now under a number."""
        return cls(timed, metrics, descriptor, file_identity(descriptor))

    @property
    def collected(self) -> tuple[int, int]:
        """What all subscriptions of a device have to agree on."""
        return self.timed, self.metrics


@frozen(eq=False)
class _Subscription:
    config: SubscribeConfig
    device_id: int
    pipe: RecordPipe
    times: OpTimes


@define
class Subscriptions:
    """The subscribed models of a process."""

    readers: OpReaders
    chip: Chip
    seed: int
    plan: Callable[[Signature], KernelPlan]
    _of_model: dict[int, _Subscription] = field(factory=dict)
    _lock: threading.RLock = field(factory=threading.RLock)

    def __bool__(self) -> bool:
        return bool(self._of_model)

    def subscribe(self, model_id: int, config: SubscribeConfig, device_id: int) -> int:
        """Begin a subscription of a model loaded on a device and return the code."""
        with self._lock:
            if model_id in self._of_model:
                return ReturnCode.PROF_REPEAT_SUBSCRIBE
            if not self._collectable(config):
                return ReturnCode.INVALID_PARAM
            if config.identity is None or config.identity != file_identity(config.descriptor):
                return ReturnCode.INVALID_PARAM
            others = list(self._of_model.values())
            if any(of.device_id == device_id and of.config.collected != config.collected for of in others):
                return ReturnCode.INVALID_PROFILING_CONFIG
            if not writable(config.descriptor):
                say(f"acl.prof.model_subscribe: descriptor {config.descriptor} is not the writing end of a pipe")
            shared = [other.pipe for other in others if other.pipe.writes_to(config.descriptor)]
            try:
                pipe = shared[0] if shared else RecordPipe(config.descriptor)
            except (OSError, OverflowError):
                return ReturnCode.INVALID_PARAM
            times = OpTimes(chip=self.chip, seed=self.seed, plan=self.plan)
            self._of_model[model_id] = _Subscription(config, device_id, pipe, times)
            return ReturnCode.SUCCESS

    def _collectable(self, config: SubscribeConfig) -> bool:
        if config.metrics == AicoreMetrics.NONE:
            return bool(config.timed)
        try:
            metric_group(config.metrics, self.chip.platform_version)
        except OptionError:
            return False
        return True

    def unsubscribe(self, model_id: int) -> int:
        """
        End a subscription and return the code: what is pending is flushed.

        The writing end is closed with the last subscription that uses it, so that its reader comes to an end.
        """
        with self._lock:
            ended = self._of_model.pop(model_id, None)
            if ended is None:
                return ReturnCode.INVALID_MODEL_ID
            last = all(other.pipe is not ended.pipe for other in self._of_model.values())
        # Without the lock: models run and readers read while it waits for them.
        if last:
            ended.pipe.close()
        else:
            ended.pipe.flush()
        return ReturnCode.SUCCESS

    def executed(self, model_id: int, operators: Operators, start_ns: int, end_ns: int, device_id: int) -> None:
        """Queue the records of one run, if its model is subscribed."""
        of = self._of_model.get(model_id)
        if of is None:
            return
        counters = of.config.metrics != AicoreMetrics.NONE

        def make() -> bytes:
            records, words = of.times.records(operators, model_id, counters=counters, start_ns=start_ns, end_ns=end_ns)
            records["device_id"] = device_id
            records["op_index"] = self.readers.register(words)
            return signed(records)

        of.pipe.put(len(operators), make)

    def close(self) -> None:
        """End all subscriptions: the process or the library ends."""
        for model_id in list(self._of_model):
            self.unsubscribe(model_id)
