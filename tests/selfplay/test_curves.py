"""``kibitz curves``: which results become which lines and panels, how they are drawn, and bad input."""

from dataclasses import replace
from pathlib import Path

import pytest

from cluster.errors import UserError
from cluster.files import storage
from search.arena.tournament.result import TournamentResult
from search.arena.tournament.tournament import run_tournament
from search.players.random_player import RandomPlayer
from selfplay.curves import levels_of, main, panels_of
from selfplay.report import pictures
from selfplay.report.contents import Run, read_run
from selfplay.report.pictures import draw_curves
from selfplay.report.terminal import curve_table
from selfplay.run_directory import RunDirectory
from tests.search.material import printed
from tests.search.toy import ToyGame
from tests.selfplay.material import tiny_config


def tournament(seed: int, deals: int = 6, player: str = "net", opponent: str = "rules") -> TournamentResult:
    return run_tournament(ToyGame(), [RandomPlayer(player), RandomPlayer(opponent)], deals, seed=seed)


def leading(ahead: float, low: float | None, high: float | None) -> TournamentResult:
    """A tournament of a game of many points with this lead."""
    result = tournament(1)
    last = result.columns[-1]
    pair = replace(last.comparisons[0], delta=ahead, advantage=ahead, low=low, high=high)
    return replace(result, lower_is_better=False, columns=(replace(last, comparisons=(pair,)),))


def run(root: Path, curve: dict[int, list[TournamentResult]]) -> str:
    """A run directory in which these tournaments have been played."""
    directory = RunDirectory(str(root))
    directory.begin(tiny_config(str(root)))
    for iteration, results in curve.items():
        storage.write_json_atomic(directory.tournament(iteration), [result.record() for result in results])
    return str(root)


def read(*roots: str) -> dict[str, Run]:
    return {Path(root).name: read_run(root) for root in roots}


def test_every_opponent_has_a_panel_and_every_run_a_line(tmp_path: Path) -> None:
    rules, random = tournament(1), tournament(2, opponent="random")
    earlier, later, other = tournament(5), tournament(3), tournament(4)
    a = run(tmp_path / "a", {0: [rules, random], 5: [earlier, later]})  # of two results the later counts
    b = run(tmp_path / "b", {0: [other]})
    panels = panels_of(read(a, b))
    assert list(panels) == ["net against rules, 6 deals", "net against random, 6 deals"]
    first, second = panels.values()
    assert first == {"a": {0: rules, 5: later}, "b": {0: other}} and second == {"a": {0: random}}


def test_lines_that_differ_in_player_or_deals_say_so(tmp_path: Path) -> None:
    a = run(tmp_path / "a", {0: [tournament(1)]})
    b = run(tmp_path / "b", {0: [tournament(1, deals=7, player="search")]})
    ((title, panel),) = panels_of(read(a, b)).items()
    assert title == "against rules" and list(panel) == ["a: net, 6 deals", "b: search, 7 deals"]


def test_opponents_that_see_hidden_cards_and_other_seatings_have_panels_of_their_own(tmp_path: Path) -> None:
    plain = tournament(1)
    hidden, pairs = replace(plain, sees_hidden=("rules",)), replace(plain, seating="pairs")
    root = run(tmp_path / "a", {0: [plain, hidden, pairs]})
    assert list(panels_of(read(root))) == [
        "net against rules, 6 deals",
        "net against rules (sees hidden cards), 6 deals",
        "net against rules, 6 deals of pairs",
    ]


@pytest.mark.filterwarnings("error")
def test_a_line_goes_through_the_leads_with_a_band_of_its_intervals(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pictures, "png", lambda figure: figure)
    line = {10: leading(2, 1.5, 2.5), 0: leading(-1, -3, 1), 20: leading(4, None, None)}
    panels = {title: {"a": line} for title in ("one", "two", "three")}
    one, _, _, unused = draw_curves(panels).axes  # type: ignore[attr-defined]
    drawn, _ = one.lines
    assert list(drawn.get_xdata()) == [0, 10, 20] and list(drawn.get_ydata()) == [-1, 2, 4]
    (band,) = one.collections
    corners = {tuple(point) for path in band.get_paths() for point in path.vertices.tolist()}
    assert corners == {(0, -3), (0, 1), (10, 1.5), (10, 2.5)}
    assert one.get_title() == "one" and one.axison and not unused.axison


@pytest.mark.filterwarnings("error")  # a figure without room for its axes warns
def test_names_longer_than_the_picture_leave_room_for_the_line() -> None:
    name = " against ".join(["alphahearts:cheat=true:iterations=20:worlds=10 (sees hidden cards)"] * 2)
    assert draw_curves({"": {name: {0: leading(-1, -3, 1)}}}).startswith(b"\x89PNG")


def test_a_level_line_is_drawn_where_its_opponent_is(tmp_path, monkeypatch, capsys) -> None:
    root = run(tmp_path / "a", {0: [tournament(1), tournament(2, opponent="random")]})
    ceiling = replace(tournament(3, deals=9, player="twin"), sees_hidden=("twin",))
    ceiling.write(str(tmp_path / "twin.json"))
    assert main([root, "--level", str(tmp_path / "twin.json"), "--out", str(tmp_path / "out.png")]) == 0
    assert "twin (sees hidden cards), 9 deals: " in capsys.readouterr().out
    panels = panels_of(read(root))
    levels = levels_of(panels, [str(tmp_path / "twin.json")])
    assert levels == {"net against rules, 6 deals": {"twin (sees hidden cards), 9 deals": ceiling}}
    again = replace(ceiling, seed=4)
    again.write(str(tmp_path / "again.json"))
    both = levels_of(panels, [str(tmp_path / name) for name in ("twin.json", "again.json")])
    assert list(next(iter(both.values())).values()) == [ceiling, again]
    monkeypatch.setattr(pictures, "png", lambda figure: figure)
    rules, random = draw_curves(panels, levels=levels).axes
    assert ceiling.advantage in {line.get_ydata()[0] for line in rules.lines[1:]}
    assert len(random.lines) == len(rules.lines) - 1


def shown(curve: dict[str, dict[int, TournamentResult]]) -> str:
    return printed(curve_table("curve", curve), width=140)


def test_a_table_has_gaps_intervals_from_five_deals_on_and_no_minus_before_zero() -> None:
    drawn = curve_table("title", {"a": {0: tournament(1), 2: tournament(2)}, "b": {2: tournament(3)}})
    columns = [list(column.cells) for column in drawn.columns]
    assert columns[0] == ["0", "2"] and columns[2][0] == "-" and "(" in str(columns[2][1])
    assert "(-)" in shown({"line": {0: tournament(1, 4)}}) and "(-)" not in shown({"line": {0: tournament(1, 5)}})
    zero = leading(-0.001, -0.001, 0.001)
    assert "+0.00 (+0.00..+0.00)" in shown({"line": {0: zero}})


def test_the_command_prints_tables_and_writes_the_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    roots = [run(tmp_path / name, {0: [tournament(seed)]}) for name, seed in (("a", 1), ("b", 2))]
    (tmp_path / "b/iterations/001").mkdir(parents=True)
    (tmp_path / "b/iterations/001/tournament.json").write_text("[1]")
    assert main([*roots, "--out", str(tmp_path / "new/curves.png")]) == 0
    assert (tmp_path / "new/curves.png").read_bytes().startswith(b"\x89PNG")
    said = capsys.readouterr()
    assert "net against rules, 6 deals" in said.out and "│ iteration" not in said.err
    assert "001/tournament.json: cannot be read" in said.err and said.err.count("\n") == 1


def test_bad_input_is_refused_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, empty = run(tmp_path / "good", {0: [tournament(1)]}), run(tmp_path / "empty", {})
    tournament(1, opponent="hares").write(str(tmp_path / "hares.json"))
    replace(tournament(1), game="other").write(str(tmp_path / "other.json"))
    (tmp_path / "text.json").write_text("{}")
    for arguments, message in (
        ([good, str(tmp_path / "none")], "none: no run lies there"),
        ([good, empty], "empty: no iteration has played a tournament; give evaluation.curve"),
        ([good, f"{good}/"], "good: is given twice; give every run once"),
        ([good, "--out", str(tmp_path)], "is a directory; name the file to write"),
        ([good, "--level", str(tmp_path / "hares.json")], "hares.json: it is net against hares, 6 deals in toy"),
        ([good, "--level", str(tmp_path / "other.json")], "other.json: it is net against rules, 6 deals in other"),
        ([good, "--level", str(tmp_path / "hares.json"), "--level", str(tmp_path / "hares.json")], "is given twice"),
        ([good, "--level", str(tmp_path / "text.json")], "text.json"),
        ([good, "--level", str(tmp_path / "none.json")], "none.json"),
    ):
        assert main(arguments) == 2
        said = capsys.readouterr().err
        assert message in said and said.count("\n") == 1
    with pytest.raises(UserError, match="empty: no iteration"):
        panels_of(read(empty))
