"""Recordings of single blocks: the fixture ``npu_profile`` of pytest, the magic ``%%npu_profile`` of notebooks."""
