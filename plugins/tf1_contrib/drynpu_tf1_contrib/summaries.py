"""Names of ``tf.contrib.summary`` that have another name today."""

from __future__ import annotations

from drynpu_tf.inside import all_v2_summary_ops as all_summary_ops
from drynpu_tf.inside import legacy_contrib_should_record_summaries as should_record_summaries

__all__ = ["all_summary_ops", "should_record_summaries"]
