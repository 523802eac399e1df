"""Communication groups of a cluster: who is in them, what the script calls them, the stages of a pipeline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import polars as pl
from attrs import frozen

from drynpu.deliverables.communication.group_names import group_id
from drynpu_cluster import _facts as f
from drynpu_cluster._rank import RankRead

PIPELINE = "pp"
"""How names of groups between the stages of a pipeline begin."""


@frozen
class Group:
    """
    A communication group.

    Attributes
    ----------
    kind:
        ``collective`` or ``p2p``.
    seen:
        Ranks whose files have operators of the group, in order.
    ranks:
        All its ranks as the script named them; `seen` where it did not.
    key:
        The id under which profiles know the group.
    label:
        The name of the communicator, whose hash is *key*; ``""`` if unknown.
    purpose:
        What the script calls the group (``dp``, ``tp``, ``pp``); ``""`` if it does not.
    """

    kind: str
    seen: tuple[int, ...]
    ranks: tuple[int, ...]
    key: str
    label: str = ""
    purpose: str = ""


def find_groups(pairs: pl.DataFrame, reads: Sequence[RankRead]) -> tuple[Group, ...]:
    """
    Return the groups of *pairs* in order of first use.

    Parameters
    ----------
    pairs:
        Columns ``type``, ``group``, ``rank``: one row for each that occurs.
    reads:
        The ranks, for what their metadata says of the groups.
    """
    named = _named(reads)
    grouped = pairs.group_by("type", "group", maintain_order=True).agg(pl.col("rank").unique().sort())
    groups = []
    for kind, key, ranks in grouped.iter_rows():
        label, purpose, all_ranks = named.get(key, ("", "", ()))
        seen = tuple(ranks)
        groups.append(Group(kind, seen, all_ranks or seen, key, label, purpose))
    return tuple(groups)


def _named(reads: Sequence[RankRead]) -> Mapping[str, tuple[str, str, tuple[int, ...]]]:
    """Return id -> name, purpose and ranks of the groups in the metadata; what the first rank says counts."""
    named: dict[str, tuple[str, str, tuple[int, ...]]] = {}
    for read in reads:
        for name, info in read.groups.items():
            ranks = info.get("global_ranks")
            all_ranks = tuple(sorted(ranks)) if isinstance(ranks, list) else ()
            named.setdefault(str(group_id(name)), (name, str(info.get("group_name", "")), all_ranks))
    return named


def rank_lists(reads: Sequence[RankRead]) -> pl.DataFrame:
    """Return ``group``, ``local`` (number in the group, as text), ``rank``: what the metadata says of the groups."""
    rows = [(key, str(local), rank) for key, (_, _, ranks) in _named(reads).items() for local, rank in enumerate(ranks)]
    return pl.DataFrame(rows, schema={"group": pl.String, "local": pl.String, "rank": pl.Int64}, orient="row")


def pipeline_stages(groups: Iterable[Group]) -> tuple[tuple[int, ...], ...]:
    """
    Return the ranks of each pipeline stage, by their first rank; nothing without groups between stages.

    A stage is what collective groups join, except those that join two ranks of one pipeline.
    """
    listed = tuple(groups)
    links = sorted(
        (set(group.ranks) for group in listed if group.kind == f.P2P and group.purpose.lower().startswith(PIPELINE)),
        key=min,
    )
    if not links:
        return ()
    pipelines: list[set[int]] = []
    while links:
        joined, *rest = links
        links = []
        for link in rest:
            if link & joined:
                joined = joined | link
            else:
                links.append(link)
        pipelines.append(joined)
    stages: list[set[int]] = []
    for group in listed:
        ranks = set(group.ranks)
        if group.kind != f.COLLECTIVE or any(len(ranks & pipeline) > 1 for pipeline in pipelines):
            continue
        touched = [stage for stage in stages if stage & ranks]
        stages = [stage for stage in stages if not stage & ranks]
        stages.append(ranks.union(*touched))
    return tuple(tuple(sorted(stage)) for stage in sorted(stages, key=min))


SIZES = ("world_size", "tensor_model_parallel_size", "pipeline_model_parallel_size", "data_parallel_size")


def parallel_places(arguments: Mapping[str, object], ranks: int) -> Mapping[int, tuple[int, int, int]] | None:
    """
    Return rank -> index among data, pipeline and tensor parallel ranks, in Megatron's order (tensor first).

    ``None`` where the stated sizes do not say it: no sizes, sizes that do not multiply to the world, a smaller
    world than there are ranks, context parallelism, or data parallelism that experts do not divide.
    """
    values = [arguments.get(name, 1) for name in SIZES]
    others = [arguments.get(name, 1) for name in ("context_parallel_size", "expert_model_parallel_size")]
    sizes = [value for value in (*values, *others) if isinstance(value, int)]
    if not arguments or len(sizes) < len(SIZES) + 2:
        return None
    world, tensor, pipeline, data, context, expert = (sizes[0], *(max(size, 1) for size in sizes[1:]))
    if world != tensor * pipeline * data or world < ranks or context > 1 or data % expert:
        return None
    return {rank: (rank // tensor % data, rank // (tensor * data), rank % tensor) for rank in range(world)}
