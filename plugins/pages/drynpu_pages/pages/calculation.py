"""How much is computed: operations by kernel, scope and step, and the share of the chip's peak."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import polars as pl
from attrs import frozen

from drynpu.analysis.calculation import CUBE_FLOP_PER_CYCLE, kernel_work, scope_flops, uncounted_work, work_totals
from drynpu.platforms import Chip
from drynpu.views.content import EMPTY, Block, Chart, Column, Fact, Facts, Note, Row, Table
from drynpu.views.page import Page
from drynpu.views.runs import Rank, View
from drynpu.views.theme import share_text, time_text
from drynpu_pages.figures import bars
from drynpu_pages.figures.calculation import roofline, sankey
from drynpu_pages.pages._parts import WINDOW
from drynpu_pages.pages._windows import longest, of_kernels
from drynpu_pages.whatif import KERNEL_KEY

_TOP = 20
_COLUMNS = (
    Column("op_type", "type"),
    Column("input_shapes", "input shapes", wide=True),
    Column("input_dtypes", "input types"),
    Column("count", "count"),
    Column("total_us", "total (us)", 3),
    Column("mflops", "MFLOPs of one", 3),
    Column("gflops", "GFLOPS", 1),
    Column("use_pct", "of peak (%)", 2),
    Column("mbytes", "MiB of one", 3),
    Column("intensity", "FLOP per byte", 2),
    Column("source", "source"),
)


_UNCOUNTED = (
    Column("op_type", "type"),
    Column("task_type", "core"),
    Column("count", "count"),
    Column("total_us", "total (us)", 3),
    Column("share_pct", "of all kernels (%)", 2),
    Column("reason", "why"),
)
_HALF = frozenset({"FLOAT16", "DT_BF16", "BFLOAT16", "BF16"})


@frozen
class _Peak:
    """What the chip can do at most; ``None`` is unknown."""

    cube_gflops: float | None
    """With operands of 16 bit."""
    memory_gbs: float | None
    name: str
    chip: Chip | None = None

    def roof_gflops(self, dtypes: str, hf32: bool) -> float | None:
        """Return the rate with the first operand of a kernel; only a known chip tells it of other types."""
        dtype = dtypes.split(";")[0]
        if self.chip is not None:
            return self.chip.cube_cores * self.chip.cube_gflops(dtype, hf32=hf32)
        return self.cube_gflops if dtype in _HALF else None

    @classmethod
    def from_rank(cls, rank: Rank) -> _Peak:
        """Return the limits of the rank's chip, else of the clock and cores that were recorded."""
        profile, chip = rank.profile, rank.chip
        if chip is not None:
            return cls(chip.cube_cores * chip.cube_gflops("FLOAT16", hf32=False), chip.memory_gbs, chip.name, chip)
        if profile.aic_mhz and profile.aic_cores:
            return cls(profile.aic_cores * CUBE_FLOP_PER_CYCLE * profile.aic_mhz / 1000, None, "this device")
        return cls(None, None, "")


def _build(view: View) -> Sequence[Block]:
    within = view.rank.step_range(view.step)
    work = kernel_work(view.rank.profile, within).join(
        of_kernels(view.rank.profile, within), on=KERNEL_KEY, how="left", maintain_order="left"
    )
    if work["cube_flops"].null_count() == work.height:
        reason = "No kernel here has operations that are known: neither the counters of ArithmeticUtilization nor"
        note = Note(f"{reason} shapes of matrix products, convolutions or attention were recorded.", EMPTY)
        return [note, *_uncounted(view, work)]
    peak = _Peak.from_rank(view.rank)
    shown = _with_shares(work, peak)
    return [
        *_facts(view, shown, peak),
        Row([_by_type(shown, view), _roofline(shown, peak, view)]),
        *_scopes(view),
        Table("work", "Distinct kernels", shown, _COLUMNS, _DETAIL, modelled=view.modelled, window=WINDOW),
        *_uncounted(view, work),
    ]


_DETAIL = (
    "of the cube units, with the padding to blocks; from counters where they were collected, else from shapes; the "
    "timeline shows the longest kernel"
)


def _uncounted(view: View, work: pl.DataFrame) -> Iterator[Block]:
    rest = uncounted_work(work)
    if rest.height:
        share = share_text(float(rest["share_pct"].sum()) / 100)
        keys = ["op_type", "task_type"]
        timed = rest.join(longest(work, keys), on=keys, how="left", maintain_order="left")
        yield Table(
            "uncounted",
            "Kernels without known operations",
            timed,
            _UNCOUNTED,
            f"{share} of the time of all kernels; these do not count above",
            modelled=view.modelled,
            window=WINDOW,
        )


def _with_shares(work: pl.DataFrame, peak: _Peak) -> pl.DataFrame:
    roofs = [peak.roof_gflops(*row) for row in work.select("input_dtypes", "hf32").iter_rows()]
    work = work.with_columns(pl.Series("roof_gflops", roofs, dtype=pl.Float64))
    return work.with_columns(
        (pl.col("cube_flops") / 1e6).alias("mflops"),
        (pl.col("bytes") / 2**20).alias("mbytes"),
        (pl.col("cube_flops") / pl.col("bytes")).alias("intensity"),
        (pl.col("gflops") / pl.col("roof_gflops") * 100).alias("use_pct"),
    )


def _facts(view: View, work: pl.DataFrame, peak: _Peak) -> Iterator[Block]:
    flops, known_us, whole_us = work_totals(work)
    count = 1 if view.step else max(len(view.rank.step_names), 1)
    gflops = flops / known_us / 1000 if known_us else 0.0
    use, of_peak = _use(work, peak)
    share = f"{share_text(known_us / (whole_us or 1))} of all kernels"
    span = "of the cube units, a step" if count > 1 else ""
    yield Facts(
        (
            Fact("Operations", f"{flops / count / 1e9:.3f} GFLOPs", span, _counts_modelled(work, view)),
            Fact("Rate", f"{gflops / 1000:.3f} TFLOPS", "while these kernels run", view.modelled),
            Fact("Of peak", share_text(use), of_peak, view.modelled),
            Fact("Time of these kernels", time_text(known_us), share, view.modelled),
        )
    )


def _use(work: pl.DataFrame, peak: _Peak) -> tuple[float | None, str]:
    """Return the share of what the kernels could compute in their time, each with its type of operands."""
    known = work.filter(pl.col("cube_flops").is_not_null() & pl.col("roof_gflops").is_not_null())
    possible = float((known["roof_gflops"] * known["total_us"]).sum()) * 1000
    if not possible:
        return None, "peak unknown"
    roofs = sorted(set(known["roof_gflops"].to_list()), reverse=True)
    text = ", ".join(f"{roof / 1000:.0f}" for roof in roofs)
    types = "the rate of the operands' type" if len(roofs) == 1 else "the rates of the operands' types"
    return float((known["cube_flops"] * known["count"]).sum()) / possible, f"{text} TFLOPS, {types}, of {peak.name}"


def _counts_modelled(work: pl.DataFrame, view: View) -> bool:
    """Return whether operations are modelled: simulated counters are; what follows from recorded shapes is not."""
    return view.modelled and bool((work["source"] == "counters").any())


def _by_type(work: pl.DataFrame, view: View) -> Chart:
    totals = work.group_by("op_type").agg((pl.col("cube_flops") * pl.col("count")).sum().alias("flops"))
    totals = totals.filter(pl.col("flops") > 0).sort("flops", "op_type", descending=[True, False]).head(_TOP)
    names, values = totals["op_type"].to_list(), (totals["flops"] / 1e9).to_list()
    text = ", ".join(f"{name} {value:.3f}" for name, value in list(zip(names, values, strict=True))[:5])
    return Chart(
        "flops-by-type",
        "Operations by type",
        lambda: bars(names, values, axis_title="GFLOPs", unit="GFLOPs", height_px=60 + 28 * len(names)),
        f"GFLOPs by type: {text}.",
        detail="of the step" if view.step else "of the whole recording",
        modelled=_counts_modelled(work, view),
        height_px=340,
    )


def _roofline(work: pl.DataFrame, peak: _Peak, view: View) -> Chart:
    points = work.filter(pl.col("intensity").is_finite() & pl.col("gflops").is_not_null())
    bound = _memory_bound(points, peak)
    return Chart(
        "roofline",
        "Roofline",
        lambda: roofline(points, peak.cube_gflops, peak.memory_gbs, height_px=340),
        f"{points.height} kinds of kernels by operations per byte and rate{bound}.",
        detail="each point a kind of kernel, as large as its time; lines are the chip's limits",
        modelled=view.modelled,
        height_px=340,
    )


def _memory_bound(points: pl.DataFrame, peak: _Peak) -> str:
    if not peak.cube_gflops or not peak.memory_gbs or points.is_empty():
        return ""
    ridge = peak.cube_gflops / peak.memory_gbs
    count = points.filter(pl.col("intensity") < ridge).height
    return f"; {count} lie left of {ridge:.0f} operations per byte, where memory is the limit"


def _scopes(view: View) -> Iterator[Block]:
    scopes: pl.DataFrame = view.rank.keep("scope-flops", lambda: scope_flops(view.rank.profile))
    if scopes.is_empty():
        yield Note("These kernels name no layers of the model. For PyTorch, record with with_modules=True.", EMPTY)
        return
    top: Mapping[str, float] = dict(scopes.filter(pl.col("level") == 0).select("scope", "flops").iter_rows())
    text = ", ".join(f"{name} {value / 1e6:.1f}" for name, value in sorted(top.items(), key=lambda each: -each[1])[:5])
    leaves = scopes.filter(~pl.col("scope").is_in(scopes["parent"].implode())).height
    height = min(max(260, 25 * leaves), 900)
    yield Chart(
        "scopes",
        "Operations by scope (MFLOPs, whole recording)",
        lambda: sankey(scopes, height_px=height),
        f"MFLOPs of the outermost scopes: {text}.",
        height_px=height,
    )


PAGE = Page(
    "calculation",
    "Calculation",
    "How much the kernels compute, how fast, and which share of the chip's peak.",
    _build,
    with_step=True,
)
