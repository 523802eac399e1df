"""The device under which the toolkit shows what was recorded on the host."""

from __future__ import annotations

import polars as pl

from drynpu.tables import Profile


def host_device(profile: Profile) -> pl.Expr:
    """
    Return the cell ``Device_id`` of files that the Python writer makes of the host's records.

    It exports them with the device (Ascend/msprof analysis/msinterface/msprof_output_summary.py); without any device
    they are the host's.
    """
    return pl.lit(str(profile.device_ids[0]) if profile.device_ids else "host").alias("Device_id")
