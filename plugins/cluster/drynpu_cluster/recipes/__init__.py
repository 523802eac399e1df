"""Recipes: one question to all ranks, answered from how often each value occurs on each."""

from __future__ import annotations

from drynpu_cluster.recipes._run import RECIPES, RecipeResult, run_recipe

__all__ = ["RECIPES", "RecipeResult", "run_recipe"]
