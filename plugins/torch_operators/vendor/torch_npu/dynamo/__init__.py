"""The facade of ``torch_npu.dynamo``; graphs run operator by operator (docs/torch-device.md)."""

from __future__ import annotations

import sys

from torch_npu.dynamo import torchair

sys.modules.setdefault("torchair", torchair)
