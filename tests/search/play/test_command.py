"""``kibitz play`` as people call it: bad input, shards, and a whole hand in a real terminal."""

import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from cluster.errors import UserError
from games.config import GameConfig
from games.hearts.game import HeartsGame
from games.registry import make_game
from games.rng import derive_many
from games.shards import Sequences, find_shards, read_shard, write_shard
from search.apps.play.__main__ import _seated, main, new_shard
from search.apps.play.config import PlayConfig
from tests.selfplay.commands import here
from tests.test_repository import build_command

ROOT = Path(__file__).parents[3]
NO_PASS = build_command("play", "game=hearts_no_pass").game


@pytest.mark.parametrize(
    ("game", "threshold", "policy_weight"), [("hearts", 0.02, 0.1), ("skat", 0.1, 0.3), ("crew", 0.05, 0.3)]
)
def test_without_players_the_network_that_ships_plays_as_its_card_says(game, threshold, policy_weight) -> None:
    table = make_game(game)
    seated = _seated(PlayConfig(game=GameConfig(game)), table, f"kibitz:{game}")
    assert [entrant.name for entrant in seated] == [f"argmax_val@kibitz:{game}"] * (table.num_players - 1)
    assert {(each.settings.threshold, each.settings.policy_weight) for each in seated} == {(threshold, policy_weight)}
    given = _seated(PlayConfig(game=GameConfig(game), players=["random"]), table, "")
    assert {entrant.name for entrant in given} == {"random"}


@pytest.fixture
def shard(tmp_path: Path) -> Path:
    """A shard of three hands; what the last says could not have happened."""
    game, seeds = HeartsGame(), derive_many(1, 3)
    states = game.deal(seeds)
    game.playout(states, seeds)
    tokens, _ = game.histories(states, np.zeros(3, int))
    tokens[2, 1] = tokens[2, 2]
    names = np.array(["random"] * 3, object)
    rows = Sequences(tokens, game.outcome(states)[:, 0], np.zeros(3), names, seeds, np.arange(3))
    write_shard(tmp_path / "hands.parquet", rows, game, {})
    return tmp_path / "hands.parquet"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"players": ["nobody"]}, "no player 'nobody'; there are random, hearts_rules"),
        ({"players": ["random", "random"]}, "players: 2 given"),
        ({"players": []}, "players: 0 given"),
        ({"seat": 4}, "seat=4: hearts has seats 0 to 3"),
        ({"checkpoint": "/nowhere/at/all"}, "/nowhere/at/all: no such directory"),
        ({"players": ["random"], "checkpoint": "/nowhere/at/all"}, "/nowhere/at/all: no such directory"),
        ({"players": ["argmax_val@/nowhere/else"]}, "/nowhere/else: no such directory"),
        ({"checkpoint": ""}, "player 'argmax_val' needs a network: give checkpoint=DIR"),
        ({"game": GameConfig("chess")}, "no game 'chess'"),
        ({"game": GameConfig("openspiel:kuhn_poker")}, "none ships for openspiel:kuhn_poker: give checkpoint=DIR"),
        ({"replay": "missing.parquet"}, "missing.parquet"),
        ({"replay": "SHARD", "row": 3}, "row=3: .* has rows 0 to 2"),
        ({"replay": "SHARD", "row": 2}, "row=2: .* could not have happened"),
        ({"players": ["random"], "out": "SHARD"}, "hands.parquet is a file; give a directory"),
        ({"players": ["random"]}, "needs a terminal"),
        ({"players": ["q_values:worlds=2"], "game": NO_PASS, "checkpoint": "kibitz:alphahearts"}, "needs a terminal"),
        ({"replay": "SHARD"}, "needs a terminal"),
    ],
)
def test_bad_input_is_one_line_before_the_screen_opens(settings: dict, message: str, shard: Path) -> None:
    given = {key: str(shard) if value == "SHARD" else value for key, value in settings.items()}
    with pytest.raises(UserError, match=message) as refused:
        main(PlayConfig(**{"game": GameConfig("hearts"), **given}))
    assert "\n" not in str(refused.value)


def test_a_shard_of_an_earlier_sitting_is_never_written_over(tmp_path: Path) -> None:
    assert new_shard("", 7) == "" and new_shard(f"{tmp_path}/hands/", 7) == f"{tmp_path}/hands/hands-7.parquet"
    for name in ("hands-7.parquet", "hands-7-2.parquet"):
        assert new_shard(str(tmp_path), 7) == f"{tmp_path}/{name}"
        (tmp_path / name).touch()
    assert new_shard(str(tmp_path), 7) == f"{tmp_path}/hands-7-3.parquet"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["hearts", "players=[random]"], "needs a terminal"),
        (["heart"], "game=heart: no such choice; there are crew, hearts, hearts_no_pass"),
        (["hearts", "row=-1"], "row=-1: must be at least 0"),
    ],
)
def test_the_name_of_the_game_may_stand_alone_and_bad_input_ends_with_2(arguments: list[str], message: str) -> None:
    done = here("cluster.console", "play", *arguments)
    assert done.returncode == 2 and done.stdout == ""
    assert message in done.stderr and len(done.stderr.strip().splitlines()) == 1


@pytest.mark.slow
def test_a_screen_that_would_be_drawn_into_a_file_is_refused() -> None:
    ours, theirs = os.openpty()
    try:
        line = [sys.executable, "-m", "cluster.console", "play", "hearts", "players=[random]", "checkpoint="]
        done = subprocess.run(line, cwd=ROOT, stdin=theirs, stdout=theirs, stderr=subprocess.PIPE, timeout=60)
    finally:
        os.close(ours)
        os.close(theirs)
    assert done.returncode == 2 and b"error output is a file or a pipe" in done.stderr


class Terminal:
    """A command in a terminal of 80 x 24 characters."""

    def __init__(self, socket: Path, *command: str) -> None:
        self._tmux = ["tmux", "-u", "-f", "/dev/null", "-S", str(socket)]
        line = f"{shlex.join(command)}; echo ended with $?; exec sleep 1000"
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8"}
        start = [*self._tmux, "new-session", "-d", "-x", "80", "-y", "24", line]
        subprocess.run(start, check=True, env=environment, cwd=ROOT, timeout=30)

    def press(self, *keys: str, then: Sequence[str]) -> str:
        """Press keys; the screen once it shows one of these."""
        if keys:
            subprocess.run([*self._tmux, "send-keys", *keys], check=True, timeout=30)
            time.sleep(0.1)  # what was on the screen before may say the same
        end = time.monotonic() + 90
        while True:
            done = subprocess.run([*self._tmux, "capture-pane", "-p"], check=True, capture_output=True, timeout=30)
            if any(words in (shown := done.stdout.decode()) for words in then):
                return shown
            assert time.monotonic() < end, f"waited for {then}:\n{shown}"
            time.sleep(0.05)

    def close(self) -> None:
        subprocess.run([*self._tmux, "kill-server"], check=False, timeout=30)


@pytest.fixture
def terminals(tmp_path: Path) -> Iterator[list[Terminal]]:
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    opened: list[Terminal] = []
    yield opened
    for terminal in opened:
        terminal.close()


KIBITZ = (sys.executable, "-m", "cluster.console", "play")


@pytest.mark.slow
def test_a_whole_hand_is_played_kept_and_looked_at_again_in_a_real_terminal(terminals, tmp_path) -> None:
    out = tmp_path / "hands"
    settings = ["players=[hearts_rules]", "checkpoint=", f"out={out}", "card_seconds=0", "trick_seconds=0", "seed=1"]
    terminal = Terminal(tmp_path / "play.sock", *KIBITZ, "hearts", *settings)
    terminals.append(terminal)
    over = "step through the hand"
    shown = terminal.press(then=["Pass three cards to North"])
    assert "West hearts_rules" in shown and "♣" in shown and "Points" in shown
    terminal.press("h", then=["No hints: no network"])
    terminal.press("h", "1", "2", "3", then=["Enter confirms"])
    for _ in range(13):
        terminal.press("Enter", then=["Your card", over])
        terminal.press("1", then=["Enter confirms"])
    shown = terminal.press("Enter", then=[over])
    assert "step 55 of 55" in shown and "took it" in shown
    assert "Pass three cards" in terminal.press("Home", then=["step 1 of 55"])
    ended = terminal.press("q", then=["ended with 0"])
    assert "hands: 1; You" in ended and "seed=1" in ended

    game, path = HeartsGame(), out / "hands-1.parquet"
    assert find_shards(out) == [str(path)]
    assert read_shard(path, game).player.tolist() == ["human", "hearts_rules", "hearts_rules", "hearts_rules"]
    again = Terminal(tmp_path / "replay.sock", *KIBITZ, f"replay={path}", "row=2", "checkpoint=")
    terminals.append(again)
    again.press(then=["step 1 of 55"])
    again.press("End", then=["step 55 of 55"])
    again.press("q", then=["ended with 0"])
