"""Synthetic clusters: many ranks in genuine layout, made from a few recorded ones, to test what reads clusters."""

from __future__ import annotations

from drynpu_cluster.synth._plan import SynthOptions, plan_cluster
from drynpu_cluster.synth._synthesise import Synthesis, synthesise

__all__ = ["SynthOptions", "Synthesis", "plan_cluster", "synthesise"]
