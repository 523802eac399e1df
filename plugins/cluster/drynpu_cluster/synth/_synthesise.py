"""A synthetic cluster on disk: one directory per rank, each written by itself, with the label of what it is."""

from __future__ import annotations

import functools
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import attrs
import orjson
import polars as pl
from attrs import frozen

from drynpu import OutputError, staged
from drynpu.layouts.result_files import (
    ANALYSE_DONE_FILE,
    ANALYSIS_DATABASE,
    METADATA_FILE,
    RANKED_DATABASE,
    RANKED_INFO_PATTERN,
    profiler_info_file,
)
from drynpu.writers.files import make_directory, new_file
from drynpu.writers.folders import FRAMEWORK_OUTPUT
from drynpu_cluster import _facts as f
from drynpu_cluster._db_output import kind_of
from drynpu_cluster._find import ClusterSource, Form, RankSource
from drynpu_cluster._groups import Group, find_groups
from drynpu_cluster._rank import RankRead, read_rank, stacked
from drynpu_cluster._spread import spread
from drynpu_cluster.synth._db import write_db_rank
from drynpu_cluster.synth._groups import copy_groups, merge_groups
from drynpu_cluster.synth._linked import ClusterLinks, build_links, link_rank, plan_links
from drynpu_cluster.synth._plan import (
    DB_TITLES,
    STEP_PREFIX,
    TEXT_TITLES,
    RankPlan,
    RecordedRank,
    SynthOptions,
    SynthPlan,
    plan_cluster,
)
from drynpu_cluster.synth._raw import RawSource, find_raw, move_end, write_raw_rank
from drynpu_cluster.synth._text import FILES, write_text_rank
from drynpu_cluster.synth._works import OperatorWork, find_works

LABEL = "synthetic.json"

FEW_RANKS = 32
"""So few ranks are written faster here than by processes that have to be started first."""


@frozen
class Synthesis:
    """What was written: the folder, the plan's slow rank and link, files of recorded ranks that have no counterpart."""

    folder: Path
    ranks: int
    slow_rank: int | None
    slow_link: tuple[int, int] | None
    left_out: tuple[str, ...]
    unlinked: tuple[str, ...] = ()
    """Operators that move nothing in the topology, because it is unknown what they move or between which ranks."""


@frozen
class _Job:
    """What the writing of every rank shares."""

    sources: tuple[RankSource, ...]
    groups: tuple[Group, ...]
    options: SynthOptions
    folder: Path
    label: Mapping[str, object]
    links: ClusterLinks | None
    raw: tuple[RawSource, ...]


@frozen(eq=False)
class _Recorded:
    """What was read of the recorded ranks, by place; ``works`` only where a topology needs them."""

    ranks: tuple[RecordedRank, ...]
    groups: tuple[Group, ...]
    works: tuple[tuple[OperatorWork, ...], ...]
    links: ClusterLinks | None


def synthesise(source: ClusterSource, folder: Path, options: SynthOptions, *, workers: int | None = None) -> Synthesis:
    """
    Write a cluster of ``options.ranks`` ranks to *folder*, in the form of *source*.

    Ranks are written one by one, on all cores; memory does not grow with their number beyond the plan (some bytes per
    rank and step).

    Raises
    ------
    OutputError
        A recorded rank cannot be read or has no step times, *folder* holds something, or a file cannot be written.
    """
    if folder.exists() and any(folder.iterdir()):
        raise OutputError(f"{folder} is not empty; name a new folder")
    read = _read(source, options)
    plan, links = _planned(read, source, options)
    with tempfile.TemporaryDirectory(prefix="drynpu-synth-") as work:
        works = read.works or ((),) * len(source.ranks)
        pairs = zip(source.ranks, works, strict=True) if options.raw else ()
        raw = tuple(find_raw(rank, Path(work), works_of) for rank, works_of in pairs)
        make_directory(folder)
        label = _label(source, options, plan, links)
        job = _Job(source.ranks, read.groups, options, folder, label, links, raw)
        few = workers is None and options.ranks <= FEW_RANKS
        items = [(rank, read.works[rank.place] if read.works else ()) for rank in plan.ranks]
        _write_all(job, items, 1 if few else workers)
    with new_file(folder / LABEL) as stream:
        stream.write(orjson.dumps(label, option=orjson.OPT_INDENT_2))
    unlinked = {work.name.partition("__")[0] for works in read.works for work in works if not work.kind}
    left_out = sorted({*_left_out(source), *(name for rank in raw for name in rank.left_out)})
    return Synthesis(folder, options.ranks, plan.slow_rank, plan.slow_link, tuple(left_out), tuple(sorted(unlinked)))


def _write_all(job: _Job, items: Sequence[tuple[RankPlan, tuple[OperatorWork, ...]]], workers: int | None) -> None:
    """Write all ranks, or none: a part of a cluster is of no use."""
    try:
        for _ in spread(functools.partial(_write_rank, job=job), items, stage="Writing ranks", workers=workers):
            pass
    except BaseException:
        for path in job.folder.iterdir():
            shutil.rmtree(path, ignore_errors=True)
        raise


def _read(source: ClusterSource, options: SynthOptions) -> _Recorded:
    with tempfile.TemporaryDirectory(prefix="drynpu-synth-") as work:
        reads = [read_rank(rank, Path(work)) for rank in staged("Reading recorded ranks", source.ranks)]
        ranks = tuple(_recorded(read, source.ranks) for read in reads)
        groups = merge_groups(find_groups(_pairs(reads, source.form), reads))
        if not options.topology:
            return _Recorded(ranks, groups, (), None)
        links = build_links(source, groups, options)
        return _Recorded(ranks, groups, find_works(reads, groups, source.form, links.recorded), links)


def _planned(read: _Recorded, source: ClusterSource, options: SynthOptions) -> tuple[SynthPlan, ClusterLinks | None]:
    """Return the plan, and the links of the cluster with the slow one among them."""
    if read.links is None:
        return plan_cluster(read.ranks, options), None
    recorded = [rank.rank for rank in source.ranks]
    copies = [copy_groups(read.groups, recorded, copy, options.ranks) for copy in range(options.ranks // len(recorded))]
    names = read.ranks[0].steps["step"].to_list()
    linked, links = plan_links(read.links, read.works, copies, names, options)
    return plan_cluster(read.ranks, options, linked), links


def _label(
    source: ClusterSource, options: SynthOptions, plan: SynthPlan, links: ClusterLinks | None
) -> Mapping[str, object]:
    stated = attrs.asdict(options)
    if links is None:
        del stated["topology"]
    else:
        stated["chip"] = links.chip.name
    return {
        "synthetic": True,
        "made_from": [rank.path.name for rank in source.ranks],
        **stated,
        "slow_rank": plan.slow_rank,
        "slow_link": plan.slow_link,
    }


def _left_out(source: ClusterSource) -> tuple[str, ...]:
    """Return the names of result files that synthetic ranks do not have."""
    known = (*FILES, ANALYSE_DONE_FILE) if source.form is Form.TEXT else (ANALYSIS_DATABASE, ANALYSE_DONE_FILE)
    names = {entry.name for rank in source.ranks for entry in (rank.path / FRAMEWORK_OUTPUT).iterdir()}
    databases = {name for name in names if source.form is Form.DB and RANKED_DATABASE.match(name)}
    return tuple(sorted(names - set(known) - databases))


def _write_rank(item: tuple[RankPlan, tuple[OperatorWork, ...]], job: _Job) -> None:
    plan, works = item
    source = job.sources[plan.place]
    recorded = [each.rank for each in job.sources]
    groups = copy_groups(job.groups, recorded, plan.copy, job.options.ranks)
    linked = None if job.links is None else link_rank(job.links, works, plan, groups)
    worker, _, _ = source.path.name.partition("_")
    if plan.node is not None:
        worker = f"{worker}-{plan.node}"
    # The name keeps the time stamp of the recorded rank; its process id counts up.
    stamp = "".join(part for part in source.path.name.split("_") if len(part) == 17 and part.isdigit())
    suffix = "_".join(source.path.name.split("_")[-2:])
    directory = job.folder / f"{worker}_{100_000 + plan.rank}_{stamp or '0' * 17}_{suffix}"
    output = make_directory(directory / FRAMEWORK_OUTPUT)
    raw = job.raw[plan.place] if job.raw else None
    anchors = None if raw is None else raw.anchors
    if source.form is Form.DB:
        warp = write_db_rank(source, output, plan, groups, linked, anchors)
    else:
        warp = write_text_rank(source.path, output, plan, groups, linked, anchors)
    if raw is not None:
        planned = () if linked is None else tuple(zip(works, linked.tasks, strict=True))
        write_raw_rank(raw, directory, plan, groups, warp, job.options.ranks, planned)
    info = next(source.path.glob(RANKED_INFO_PATTERN), None)
    said = orjson.loads(info.read_bytes()) if info is not None else {}
    if "rank_id" in said:
        said["rank_id"] = plan.rank
    if raw is not None:
        move_end(said, warp)
    _write(directory / profiler_info_file(plan.rank), said)
    metadata = source.path / METADATA_FILE
    facts = orjson.loads(metadata.read_bytes()) if metadata.is_file() else {}
    facts.pop("distributed_args", None)
    facts["parallel_group_info"] = groups.metadata
    facts["drynpu"] = {**facts.get("drynpu", {}), "synthetic": job.label}
    _write(directory / METADATA_FILE, facts)


def _write(path: Path, document: object) -> None:
    with new_file(path) as stream:
        stream.write(orjson.dumps(document))


def _pairs(reads: Sequence[RankRead], form: Form) -> pl.DataFrame:
    """Return ``type``, ``group``, ``rank`` of all recorded operators."""
    tables = []
    for read in reads:
        table = stacked([read], "operations")
        if table.height and form is Form.DB:
            kind = kind_of(pl.col("hccl_op_name")).alias("type")
            table = table.with_columns(kind, pl.col("group_name").alias("group"))
        if table.height:
            rank = pl.lit(read.source.rank, dtype=pl.Int64).alias("rank")
            tables.append(table.select("type", "group", rank).unique(maintain_order=True))
    schema = {"type": pl.String, "group": pl.String, "rank": pl.Int64}
    return pl.concat([pl.DataFrame(schema=schema), *tables])


def _recorded(read: RankRead, sources: Sequence[RankSource]) -> RecordedRank:
    database = read.source.form is Form.DB
    titles = DB_TITLES if database else TEXT_TITLES
    steps = stacked([read], "steps")
    if steps.is_empty() or not {titles.computing, titles.free, titles.apart} <= set(steps.columns):
        raise OutputError(f"rank {read.source.rank} has no step times; a cluster is made of ranks with steps")
    times = steps.select(
        "step",
        (pl.col(titles.computing) + pl.col(titles.free)).alias("alone_us"),
        pl.col(titles.apart).alias("apart_us"),
    )
    wait = "wait_time" if database else "wait_ms"
    operations, waits = stacked([read], "operations"), pl.DataFrame()
    if operations.height:
        name = pl.col("step").str.strip_prefix(STEP_PREFIX)
        joined = pl.col("type") == f.COLLECTIVE
        waits = operations.group_by(name).agg(
            pl.col(wait).filter(joined).sum().alias("wait_ms"),
            joined.sum().alias("count"),
            pl.col("transit_time" if database else "transit_ms").sum().alias("transit_ms"),
        )
    return RecordedRank(times, waits, _links(read, sources, database=database))


def _links(read: RankRead, sources: Sequence[RankSource], *, database: bool) -> tuple[tuple[int, int], ...]:
    """Return the links of a rank in groups of all recorded ranks, where numbers within a group are places."""
    matrix = stacked([read], "matrix")
    if matrix.is_empty():
        return ()
    source, end = ("src_rank", "dst_rank") if database else ("source", "target")
    numbers = matrix.select(pl.col(source, end).cast(pl.Int64, strict=False)).drop_nulls().unique()
    place = [rank.rank for rank in sources].index(read.source.rank)
    return tuple(
        sorted((one, two) for one, two in numbers.iter_rows() if one == place and two != place and two < len(sources))
    )
