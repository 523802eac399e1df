"""``npu_hook``: session hooks."""

from __future__ import annotations

from drynpu_tf.bridge.hooks import (
    NPUBroadcastGlobalVariablesHook,
    NPUCheckpointSaverHook,
    NPULogOutfeedSessionHook,
    NPUOutputTensorHook,
    NPUShutDownHook,
    SetIterationsVarHook,
    TellMeStepOrLossHook,
    broadcast_global_variables,
)
from drynpu_tf.bridge.hooks import (
    NPUHostCallHook as NPUInfeedOutfeedSessionHook,
)

__all__ = [
    "NPUBroadcastGlobalVariablesHook",
    "NPUCheckpointSaverHook",
    "NPUInfeedOutfeedSessionHook",
    "NPULogOutfeedSessionHook",
    "NPUOutputTensorHook",
    "NPUShutDownHook",
    "SetIterationsVarHook",
    "TellMeStepOrLossHook",
    "broadcast_global_variables",
]
