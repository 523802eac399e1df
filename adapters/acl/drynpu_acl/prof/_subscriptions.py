"""Subscriptions: which models write the times of their operators to which pipe (pyacl_prof.md 5, 8)."""

from __future__ import annotations

import threading
from collections.abc import Callable

from attrs import define, field, frozen

from drynpu import OptionError, say
from drynpu.kernels import KernelPlan, Operators, Signature
from drynpu.options.acl_config import metric_group
from drynpu.platforms import Chip
from drynpu_acl.constants import AicoreMetrics, ReturnCode
from drynpu_acl.handles import Handles, handle_numbers
from drynpu_acl.prof._active_api import ActiveApi, ActiveApiLock
from drynpu_acl.prof._op_times import OpTimes
from drynpu_acl.prof._pipe import RecordPipe, file_identity, writable
from drynpu_acl.prof._readers import OpReaders
from drynpu_acl.prof._records import signed


@frozen
class SubscribeConfig:
    """
    The arguments of ``create_subscribe_config``: whether to time, the code of the counters, the writing end of a pipe.

    ``identity`` says which file was open under the descriptor, whose number may be another file's later.
    """

    timed: int
    metrics: int
    descriptor: int
    identity: tuple[int, int] | None

    @classmethod
    def for_descriptor(cls, timed: int, metrics: int, descriptor: int) -> SubscribeConfig:
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
    _by_model: dict[int, _Subscription] = field(factory=dict)
    _lock: threading.RLock = field(factory=threading.RLock)

    def __bool__(self) -> bool:
        return bool(self._by_model)

    def subscribe(self, model_id: int, config: SubscribeConfig, device_id: int) -> int:
        """Begin a subscription of a model loaded on a device and return the code."""
        with self._lock:
            if model_id in self._by_model:
                return ReturnCode.PROF_REPEAT_SUBSCRIBE
            if not self._collectable(config):
                return ReturnCode.INVALID_PARAM
            if config.identity is None or config.identity != file_identity(config.descriptor):
                return ReturnCode.INVALID_PARAM
            others = list(self._by_model.values())
            if any(each.device_id == device_id and each.config.collected != config.collected for each in others):
                return ReturnCode.INVALID_PROFILING_CONFIG
            if not writable(config.descriptor):
                say(f"acl.prof.model_subscribe: descriptor {config.descriptor} is not the writing end of a pipe")
            shared = [other.pipe for other in others if other.pipe.writes_to(config.descriptor)]
            try:
                pipe = shared[0] if shared else RecordPipe(config.descriptor)
            except (OSError, OverflowError):
                return ReturnCode.INVALID_PARAM
            times = OpTimes(chip=self.chip, seed=self.seed, plan=self.plan)
            self._by_model[model_id] = _Subscription(config, device_id, pipe, times)
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
            ended = self._by_model.pop(model_id, None)
            if ended is None:
                return ReturnCode.INVALID_MODEL_ID
            last = all(other.pipe is not ended.pipe for other in self._by_model.values())
        # Without the lock: models run and readers read while it waits for them.
        if last:
            ended.pipe.close()
        else:
            ended.pipe.flush()
        return ReturnCode.SUCCESS

    def executed(self, model_id: int, operators: Operators, start_ns: int, end_ns: int, device_id: int) -> None:
        """Queue the records of one run, if its model is subscribed."""
        subscription = self._by_model.get(model_id)
        if subscription is None:
            return
        counters = subscription.config.metrics != AicoreMetrics.NONE

        def make() -> bytes:
            records, words = subscription.times.records(
                operators, model_id, counters=counters, start_ns=start_ns, end_ns=end_ns
            )
            records["device_id"] = device_id
            records["op_index"] = self.readers.register(words)
            return signed(records)

        subscription.pipe.put(len(operators), make)

    def close(self) -> None:
        """End all subscriptions: the process or the library ends."""
        for model_id in list(self._by_model):
            self.unsubscribe(model_id)


@define(kw_only=True)
class SubscriptionCalls:
    """
    The calls that begin and end subscriptions.

    ``is_loaded`` returns whether a model is loaded, ``device_id`` the calling thread's device, which stands for the
    model's.
    """

    owner: ActiveApiLock
    subscriptions: Subscriptions
    is_loaded: Callable[[int], bool]
    device_id: Callable[[], int]
    _configs: Handles[SubscribeConfig] = field(factory=lambda: Handles(handle_numbers(0x4_0000_0000)))

    def create_config(self, switch: int, metrics: int, descriptor: int) -> int:
        """Return the handle of a subscription's configuration; 0 for a switch that is neither 0 nor 1."""
        return self._configs.add(SubscribeConfig.for_descriptor(switch, metrics, descriptor)) if switch in (0, 1) else 0

    def destroy_config(self, handle: int) -> int:
        """Free the configuration of a subscription, whatever runs with it."""
        return ReturnCode.INVALID_PARAM if self._configs.remove(handle) is None else ReturnCode.SUCCESS

    def subscribe(self, model_id: int, handle: int) -> int:
        """Begin a subscription of a loaded model."""
        with self.owner.lock:
            config = self._configs.get(handle)
            if config is None:
                return ReturnCode.INVALID_PARAM
            if code := self.owner.refuses_subscriptions:
                return code
            if not self.is_loaded(model_id):
                return ReturnCode.INVALID_MODEL_ID
            code = self.subscriptions.subscribe(model_id, config, self.device_id())
            if self.subscriptions:
                self.owner.mode = ActiveApi.SUBSCRIBED
            return code

    def unsubscribe(self, model_id: int) -> int:
        """End a subscription: flush, and close the writing end after the last one that uses it."""
        with self.owner.lock:
            if code := self.owner.refuses_subscriptions:
                return code
        # Without the lock: the reader and the models go on while it flushes.
        code = self.subscriptions.unsubscribe(model_id)
        with self.owner.lock:
            if self.owner.mode is ActiveApi.SUBSCRIBED and not self.subscriptions:
                self.owner.mode = ActiveApi.OFF
        return code
