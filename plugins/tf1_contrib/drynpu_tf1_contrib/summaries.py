"""Names of ``tf.contrib.summary`` that have another name today."""

from __future__ import annotations

from tensorflow.python.ops.summary_ops_v2 import _legacy_contrib_should_record_summaries as should_record_summaries
from tensorflow.python.ops.summary_ops_v2 import all_v2_summary_ops as all_summary_ops

__all__ = ["all_summary_ops", "should_record_summaries"]
