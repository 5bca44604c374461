"""Tables without a network: what seats are told, and what they may do."""

import json
import re
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from rich.text import Text

from games.registry import make_game
from games.rng import derive_many
from games.shards import read_shard
from search.apps.pictures.scene import Scene
from search.apps.play.layouts import layout_of
from search.apps.serve.saved import SavedTables
from search.apps.serve.service import Service
from search.apps.serve.tables import WATCHING, Table, TableOptions, scene_message
from tests.search.serve.material import EACH_GAME, config, lowest, service, table

SCENE = scene_message(Scene("", Text(), (), False, 0, ""))
"""The keys of a scene."""


def waited(at: Table) -> Table:
    """The table once a person is to act, or its hand is over."""
    while at.waits_for_players:
        at.hands.let_play()
    return at


def act(at: Table) -> int:
    """The decision of whoever is to act, the lowest; returns the seat."""
    seat = at.hands.turn
    at.act(seat, lowest(at.scenes(seat, 0)[0][-1]))
    return seat


def play_hand(at: Table, decisions: int = 1000) -> None:
    """To its end, or until somebody has made so many decisions."""
    while not waited(at).hands.over and len(at.hands.decisions[-1]) < decisions:
        act(at)


@pytest.mark.parametrize("game", EACH_GAME)
def test_every_byte_that_a_seat_is_sent_follows_from_its_own_history(game: str) -> None:
    """And from public facts: whose turn it is, and sums of points of hands that are over."""
    at = table(game, 2)
    moment = at._moment(0)
    seen, told = dict.fromkeys(at.seats, 0), {seat: at.scenes(seat, 0)[0] for seat in at.seats}
    while not at.hands.over:
        at.hands.let_play() if at.waits_for_players else act(at)
        for seat in at.seats:
            scenes, seen[seat] = at.scenes(seat, seen[seat])
            told[seat] += scenes
            history = at.hands.history_of(seat)
            layout = layout_of(make_game(game), [*at.layout(seat).players[1:]])
            alone = [json.dumps(scene_message(layout.scene(history[:stop]))) for stop in layout.stops(history)[-12:]]
            for scene in told[seat]:
                bare = json.dumps({key: value for key, value in scene.items() if key not in moment})
                assert bare in alone
            told[seat] = told[seat][-1:]
    secrets = [at.seats[1].token, str(at.seed), str(at.hands._deal_seed)]
    sent = json.dumps(at.scenes(0, 0)[0])
    assert not any(secret in sent for secret in secrets if len(secret) > 3)


@pytest.mark.parametrize("game", EACH_GAME)
def test_spectators_see_what_every_seat_knows(game: str) -> None:
    """In whatever other seats hold, as far as one of them knows, spectators see the same."""
    rules, drawn = make_game(game), np.random.default_rng(3)
    at = table(game, rules.num_players)
    layout = at.layout(WATCHING)
    for decision in count():
        told = [{key: scene[key] for key in SCENE} for scene in at.scenes(WATCHING, 0)[0]]
        for knowing in range(1, rules.num_players) if decision % 15 == 0 else ():
            history = at.hands.history_of(knowing)
            views = rules.views(np.tile(history, (4, 1)), np.full(4, len(history)))
            worlds, seats = rules.determinize(views, derive_many(decision, 4))
            tokens, lengths = rules.histories(worlds, (seats.astype(np.int64) - knowing) % rules.num_players)
            for row, length in zip(tokens, lengths, strict=True):
                stops = layout.stops(row[:length])
                assert [scene_message(layout.public(layout.scene(row[:stop]))) for stop in stops] == told
        if at.hands.over:
            return
        scene = at.scenes(at.hands.turn, 0)[0][-1]
        legal = [choice["token"] for choice in scene["choices"] if choice["legal"]]
        at.act(at.hands.turn, drawn.choice(legal, scene["needed"], replace=False).tolist())


def test_a_table_that_was_kept_goes_on_where_it_was(tmp_path: Path) -> None:
    offered = service("skat")
    at, kept = (
        offered.table(TableOptions(level="rules", people=2, rival="rules", deals=3)),
        SavedTables(str(tmp_path), offered),
    )
    for _ in range(2):
        play_hand(at)
        offered.rival_replay(at, 0)
        kept.keep(at)
        assert same(found(kept, at), at)
        at.deal()
    play_hand(at, 6)
    kept.keep(at)
    back = found(kept, at)
    assert back is not None and same(back, at)
    with pytest.raises(ValueError, match="this table is not for training"):
        back.undo(0)
    for one in (back, at):
        play_hand(one)
        kept.keep(one)
    assert same(back, at) and back.match_over
    assert len(read_shard(tmp_path / f"hands-{at.id}.parquet", at.game)) == 3 * 3
    with pytest.raises(ValueError, match="the match of 3 deals is over"):
        back.deal()


@pytest.mark.parametrize("game", EACH_GAME)
def test_a_table_that_was_kept_takes_back_what_was_done_before(game: str, tmp_path: Path) -> None:
    """As the table itself does: every decision of either person, though not those of the hand before."""
    offered = service(game)
    at, kept = (
        offered.table_of(TableOptions(level="rules", people=2, training=True, rival="rules"), 7),
        SavedTables(str(tmp_path), offered),
    )
    play_hand(at)
    at.deal()
    play_hand(at, 20)
    assert not at.hands.over
    kept.keep(at)
    back = found(kept, at)
    assert back is not None and same(back, at)
    for seat in (*at.seats, 0, 0, 0):
        for one in (back, at):
            one.undo(seat)
        assert same(back, at) and at.hands.turn == seat
    play_hand(back)
    kept.keep(back)
    assert same(found(kept, at), back) and back.hands.finished == 2
    play_hand(at)
    assert same(back, at)
    with pytest.raises(ValueError, match="there is nothing to take back"):
        back.undo(0)


def found(kept: SavedTables, at: Table) -> Table | None:
    """The table as it was kept."""
    record = kept.read(at.id, at.watching)
    return kept.restored(at.id, record) if record else None


def same(one: Table | None, other: Table) -> bool:
    """Whether two tables stand alike."""
    assert one is not None
    facts = [
        [at.id, at.watching, at.seats, at.compared, at.hands.turn, at.hands.points_of(0).tolist(), at.hands.decisions,
         *(at.history_of(seat).tolist() for seat in at.seats)]
        for at in (one, other)
    ]  # fmt: skip
    return facts[0] == facts[1]


def test_a_damaged_table_is_nobodys_and_the_log_says_why(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    offered = service("skat")
    kept, at = (SavedTables(str(tmp_path), offered), offered.table(TableOptions(level="rules", rival="rules")))
    kept.keep(at)
    assert same(found(kept, at), at) and not caplog.records and (tmp_path.stat().st_mode & 0o777) == 0o700
    path = tmp_path / f"table-{at.id}.json"
    sound = json.loads(path.read_text())
    play_hand(at)
    whole_hand = at.hands.decisions[0]
    for change in ({"format": 9}, {"game": ["skat", {}, 0]}, {"decisions": [[[1], [2]], []]}, {"decisions": [[[-5]]]},
                   {"decisions": [[*whole_hand, [1]]]}, {"decisions": [[1]]}, {"decisions": [[[[1]]]]}, {"seed": "x"},
                   {"chairs": []}, {"wanted": {"level": "x"}}, {"compared": [[0, 1, "x"]]},
                   {"chairs": [{"seat": 0, "token": 5, "name": ""}]}):  # fmt: skip
        path.write_text(json.dumps(sound | change))
        assert found(kept, at) is None and path.name in caplog.records[-1].message, change
    for text in (b"\xff{", b"[" * 10_000):
        path.write_bytes(text)
        assert found(kept, at) is None and path.name in caplog.records[-1].message
    told = len(caplog.records)
    for name in ("../secret", "nosuch"):
        assert kept.read(name, at.watching) is None
    assert len(caplog.records) == told


def test_no_table_has_the_seed_of_one_that_was_kept(tmp_path: Path) -> None:
    options = TableOptions(level="rules", rival="rules")
    first = Service(config("skat", seed=100))
    kept = SavedTables(str(tmp_path), first)
    tables = [first.table(options) for _ in range(4)]
    for at in (tables[0], tables[3]):  # two others could not be kept, so nobody has seen them
        kept.keep(at)
    again = Service(config("skat", seed=100))
    SavedTables(str(tmp_path), again)
    assert [at.seed for at in tables] == [100, 101, 102, 103] and [again.table(options).seed for _ in range(3)] == [
        101,
        102,
        104,
    ]


def test_what_is_not_allowed_changes_nothing() -> None:
    at = table("hearts", 2)
    scenes, _ = at.scenes(0, 0)
    right = lowest(scenes[-1])
    before = at.hands.history_of(0).tolist()
    turn = at.hands.turn
    for wrong in ([], right[:-1], [*right, right[0]], [right[0]] * len(right), [9999] * len(right), [-1] * len(right)):
        with pytest.raises(ValueError, match="that is no legal choice"):
            at.act(turn, wrong)
    with pytest.raises(ValueError, match="it is not your turn"):
        at.act(1 - turn, right)
    with pytest.raises(ValueError, match="play it to its end"):
        at.hands.deal()
    with pytest.raises(ValueError, match="there is nothing to take back"):
        at.undo(turn)
    assert at.hands.history_of(0).tolist() == before and at.hands.turn == turn


@pytest.mark.parametrize("game", EACH_GAME)
def test_a_decision_is_taken_back_whole_and_others_play_the_same_again(game: str) -> None:
    at = table(game, 1)
    for _ in range(4):
        before = waited(at).hands.history_of(0).tolist()
        decision = lowest(at.scenes(0, 0)[0][-1])
        at.act(0, decision)
        after = waited(at).hands.history_of(0).tolist()
        if at.hands.over:
            return
        at.undo(0)
        assert at.hands.history_of(0).tolist() == before
        at.act(0, decision)
        assert waited(at).hands.history_of(0).tolist() == after


def test_a_table_that_is_not_for_training_takes_nothing_back_and_gives_no_hints() -> None:
    at = waited(table("skat", 1, training=False))
    at.act(0, lowest(at.scenes(0, 0)[0][-1]))
    for forbidden in (lambda: at.undo(0), lambda: service("skat").hint(at, 0)):
        with pytest.raises(ValueError, match="this table is not for training"):
            forbidden()


def test_only_the_secret_of_a_seat_opens_it() -> None:
    at = table("skat", 3)
    assert [at.seat_of(chair.token) for chair in at.seats.values()] == [0, 1, 2]
    assert at.seat_of("") is None and at.seat_of(at.seats[0].token[:-1]) is None and at.seat_of("ä") is None
    assert len({chair.token for chair in at.seats.values()}) == 3


@pytest.mark.parametrize("game", EACH_GAME)
def test_hints_reviews_and_the_same_deal_again(game: str) -> None:
    at, offered = waited(table(game, 1)), service(game)
    hint = offered.hint(at, 0)
    assert sum(one["probability"] for one in hint["actions"]) == pytest.approx(1, abs=1e-3)
    with pytest.raises(ValueError, match="the hand is not over"):
        offered.rival_replay(at, 0)
    play_hand(at)
    points = at.hands.points_of(0)[-1][0]
    again = offered.rival_replay(at, 0)
    assert again["yours"] == points and again == offered.rival_replay(at, 0) and again["hands"] == 1
    assert "Review of your last hand" in offered.review(at, 0)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ([], "must be an object with level, people, training, rival, deals"),
        ({"levle": "rules"}, "'levle': no such key; there are level, people"),
        ({"level": "argmax_val@/etc"}, "level: no such level; there are beginner, rules, casual"),
        ({"level": ["rules"]}, "level: Input should be a valid string"),
        ({"level": ""}, "level: String should have at least 1 character"),
        ({"rival": "argmax"}, "rival: no such level; there are beginner, rules, casual, network, search"),
        ({"deals": -1}, "deals: Input should be greater than or equal to 0"),
        ({"deals": 1001}, "deals: Input should be less than or equal to 1000"),
        ({"deals": 10, "training": True}, "deals: a match is no training"),
        ({"training": 1}, "training: Input should be a valid boolean"),
        ({"people": 0}, "people: Input should be greater than or equal to 1"),
        ({"people": True}, "people: Input should be a valid integer"),
        ({"people": 2.0}, "people: Input should be a valid integer"),
        ({"people": 4}, "people: Skat has seats for 1 to 3"),
        ({"a\n\x1b[2J": 1}, r"'a\n\x1b[2J': no such key"),
        ({f"{key}": 1 for key in range(100_000)}, "'0': no such key"),
    ],
)
def test_a_table_that_cannot_be_is_said_in_a_line(asked: object, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)) as error:
        service("skat").checked(TableOptions.of(asked))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("game", "sign"), [("hearts", -1), ("skat", 1)])  # of points that people want
def test_ahead_means_better_by_the_rules_of_the_game(game: str, sign: int) -> None:
    at, offered = table(game, 1, training=False, player=f"{game}_rules"), service(game)
    differences = []
    while not any(differences):
        play_hand(at)
        again = offered.rival_replay(at, 0)
        differences.append(sign * (again["yours"] - again["points"]))
        assert again["ahead"] == pytest.approx(sum(differences) / len(differences))
        at.hands.deal()


def test_people_take_back_their_own_decisions() -> None:
    at = table("skat", 3)
    first, second = act(at), at.hands.turn
    assert second != first and not at.scenes(second, 0)[0][-1]["can_undo"]
    with pytest.raises(ValueError, match="there is nothing to take back"):
        at.undo(second)
    before = at.hands.history_of(first).tolist()
    act(at)
    at.undo(second)
    assert at.hands.history_of(first).tolist() == before and at.hands.turn == second
    at.undo(first)
    assert at.hands.turn == first
