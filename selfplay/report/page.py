"""HTML pages about one run, or several side by side. A page is self-contained and opens offline."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from plotly.offline import get_plotlyjs

from cluster.errors import UserError
from cluster.fields import flat
from cluster.files import storage
from cluster.provenance import installed_version
from learner import kinds
from search.apps.pictures.pages import templates
from search.arena.tournament.report import (
    ahead_text,
    footer,
    indicator_rows,
    matched,
    seat_rows,
    sections,
    signed,
    title,
    variant_rows,
)
from search.arena.tournament.result import TournamentResult, lead
from selfplay.report.charts import charts
from selfplay.report.contents import Run, labels, read_run, seconds_by_stage
from selfplay.report.deals import Deal, sample_deals
from selfplay.run_directory import RunDirectory

_TEMPLATES = templates("selfplay.report")


@dataclass(frozen=True)
class Sample:
    """The deals of a page, or why there are none."""

    deals: Sequence[Deal]
    reason: str


def write_page(root: str, out: str = "", deals: int = 2, searched: int = 0, game: str = "", player: str = "") -> str:
    """Write the page of a run, and return its path.

    Args:
        root: the run directory, local or a URI.
        out: path or URI of the page; empty for ``results/report.html`` of the run.
        deals: number of sample deals that the newest network plays.
        searched: number of these deals that GO-MCTS also searches, which takes seconds for each.
        game, player: the user's own names, see ``sample_deals``.

    Raises:
        UserError: there is no run in ``root``.
    """
    run, path = read_run(root), out or RunDirectory(root).result("report.html")
    storage.write_bytes_atomic(path, page(run, sample(run, deals, searched, game, player)).encode())
    return path


def write_comparison(roots: Sequence[str], out: str) -> str:
    """Write a page about several runs, and return its path. The table marks runs that failed, are unfinished or never
    began."""
    runs, broken = dict[str, Run](), dict[str, str]()
    for label, root in zip(labels(roots), roots, strict=True):
        try:
            runs[label] = read_run(root)
        except UserError as error:
            broken[label] = str(error)
    storage.write_bytes_atomic(out, comparison(runs, broken).encode())
    return out


def sample(run: Run, count: int, searched: int, game: str = "", player: str = "") -> Sample:
    """Sample deals of a run, or a line that says why there are none."""
    if run.newest is None:
        return Sample((), "There is no network in this run's directory to play with.")
    if kinds.find(run.settings["model"]["kind"]).input == "states":
        return Sample((), "Its network reads whole deals; pages play deals with networks that read what a seat sees.")
    try:
        return Sample(sample_deals(run, count, searched, game, player), "None were asked for.")
    except (ValueError, OSError) as error:  # a network of another version, a plug-in that is not installed
        return Sample((), f"The network of iteration {run.newest} cannot play: {error}")


def page(run: Run, sampled: Sample, version: str = "") -> str:
    """The page of a run as HTML; with a ``version``, it polls its server's version and reloads when that changes."""
    return _TEMPLATES.get_template("run.html").render(
        **_common(run.name, charts({run.name: run}), version),
        notes=run.notes,
        run=run,
        status=status(run),
        headline=list(_headline(run)),
        gates=list(_gates(run)),
        tournaments=[_table(result) for result in run.final],
        deals=sampled.deals,
        no_deals=sampled.reason,
        settings=flat(run.settings),
    )


def comparison(runs: Mapping[str, Run], broken: Mapping[str, str]) -> str:
    """A page about several runs as HTML; ``broken``: label -> why a run cannot be read."""
    settings = {label: flat(run.settings) for label, run in runs.items()}
    differing = [key for key in _keys(settings.values()) if len({str(one.get(key)) for one in settings.values()}) > 1]
    rows = [
        {
            "label": label,
            "status": status(run),
            "results": {matched(result): ahead_text(result) for result in _latest(run)},
            "rate": _rate(run),
            "hours": f"{_hours(run):.2f}",
        }
        for label, run in runs.items()
    ]
    unknown = {"status": "cannot be read", "results": {}, "rate": "-", "hours": "-"}
    rows += [{"label": label, **unknown} for label in broken]
    return _TEMPLATES.get_template("comparison.html").render(
        **_common(f"{len(rows)} runs", charts(runs) if runs else [], ""),
        notes=[*broken.values(), *(note for run in runs.values() for note in run.notes)],
        rows=rows,
        settings=settings,
        differing=[key for key in differing if key != "run.dir"],
        matches=_keys(row["results"] for row in rows),
    )


def status(run: Run) -> str:
    """State of a run, in words."""
    if run.finished:
        return f"finished: iterations 0 to {run.iterations}"
    if not run.state:
        return "not begun"
    last = f", last measured {_utc(run.log[-1].time)}" if run.log else ""
    iteration, stage = run.state.get("iteration"), run.state.get("stage")
    return f"iteration {iteration} of {run.iterations}, {stage}{last}: under way, or stopped"


# ---- parts of a page


def _common(name: str, drawn: Sequence[object], version: str) -> dict[str, Any]:
    return {
        "title": name,
        "charts": drawn,
        "version": version,
        "plotly": get_plotlyjs(),
        "made": _utc(datetime.now(UTC).timestamp()),
        "kibitz": installed_version(),
    }


def _utc(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"


def _latest(run: Run) -> Sequence[TournamentResult]:
    """The final tournaments, and the last iteration's with any."""
    curve = run.curve[max(run.curve)] if run.curve else ()
    return [*curve, *run.final]


def _headline(run: Run) -> Iterator[dict[str, str]]:
    """The figures at the top of the page."""
    for result in run.final or _latest(run):
        yield {"value": signed(lead(result)[0]), "label": f"points a hand ahead: {matched(result)}"}
    if run.log:
        hours = _hours(run)
        yield {"value": f"{hours:.1f} h" if hours >= 1 else f"{60 * hours:.1f} min", "label": "of work on the run"}


def _gates(run: Run) -> Iterator[dict[str, Any]]:
    margin = run.settings["selfplay"]["gate"]["margin"]
    for iteration, result in sorted(run.gates.items()):
        taken = lead(result, column=0)[0] > margin
        yield {"iteration": iteration, "ahead": ahead_text(result, column=0), "deals": result.deals, "taken": taken}


def _table(result: TournamentResult) -> dict[str, Any]:
    return {
        "title": title(result),
        "columns": [column.name for column in result.columns],
        "sections": sections(result),
        "variants": variant_rows(result),
        "indicators": indicator_rows(result) if result.indicators else [],
        "by_seat": seat_rows(result) if result.by_seat else [],
        "footer": footer(result),
    }


def _hours(run: Run) -> float:
    return sum(sum(stages.values()) for stages in seconds_by_stage(run.log).values()) / 3600


def _rate(run: Run) -> str:
    """Decisions a second in the last complete iteration."""
    rate = run.figures[max(run.figures)].get("generate/decisions_per_second") if run.figures else None
    return "-" if rate is None else f"{rate:,.0f}"


def _keys(mappings: Any) -> list[str]:
    """The union of keys, in order of first appearance."""
    return list(dict.fromkeys(key for mapping in mappings for key in mapping))
