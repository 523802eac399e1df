"""Links of the device, sampled: network ports, PCIe, HCCS, the link between dies."""

from __future__ import annotations
