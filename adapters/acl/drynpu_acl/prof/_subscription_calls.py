"""The calls that begin and end subscriptions (pyacl_prof.md 5, 8)."""

from __future__ import annotations

from collections.abc import Callable

from attrs import define, field

from drynpu_acl.constants import ReturnCode
from drynpu_acl.handles import Handles, handle_numbers
from drynpu_acl.prof._active_api import ActiveApi, ActiveApiLock
from drynpu_acl.prof._subscriptions import SubscribeConfig, Subscriptions


@define(kw_only=True)
class SubscriptionCalls:
    """
    ``model_subscribe`` and what belongs to it.

    ``is_loaded`` tells whether a model is; ``device_id`` the calling thread's device, which stands for the model's.
    """

    owner: ActiveApiLock
    subscriptions: Subscriptions
    is_loaded: Callable[[int], bool]
    device_id: Callable[[], int]
    _configs: Handles[SubscribeConfig] = field(factory=lambda: Handles(handle_numbers(0x4_0000_0000)))

    def create_config(self, switch: int, metrics: int, descriptor: int) -> int:
        """Return the handle of a subscription's configuration; 0 for a switch that is neither 0 nor 1."""
        return self._configs.add(SubscribeConfig.of(switch, metrics, descriptor)) if switch in (0, 1) else 0

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
