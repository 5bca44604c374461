"""Features of The Crew: on a position by hand, and over random missions against plain Python that reads the state."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from games.crew.cards import FIRST_POSITION, NO, TILES, YES
from games.crew.chances import spread
from games.crew.game import CrewGame
from games.crew.hidden import may_hold
from games.crew.public import DRAFT, NAME, PLAY, POLL
from search.players.player import Turns
from search.scripted.crew.rules.player import CrewRules
from tests.games.crew.table import do, given
from tests.games.crew.test_hidden import plain_winners
from tests.games.material import decisions
from tests.marks import slow

GAME = CrewGame()
HANDS = [
    ["P9", "P5", "G2", "B1", "B2", "B3", "B4", "B5", "B6", "R4"],
    ["G5", "G7", "P1", "P2", "Y1", "Y2", "Y3", "Y4", "Y5", "Y6"],
    ["G3", "G4", "G6", "P3", "P4", "B7", "B8", "B9", "R1", "R2"],
    ["G1", "G8", "G9", "P6", "P7", "P8", "Y7", "Y8", "Y9", "R3"],
]


def test_who_does_not_follow_and_who_said_only_has_no_more_of_that_colour() -> None:
    states = given(1, HANDS, "Y9")
    do(states, "Y9 silent silent silent silent P9 P2 P3 P8 silent silent silent silent B1 Y1 B7 G1")
    views = GAME.views(*GAME.histories(states, np.array([0])))
    voids = GAME.features["voids"].encode(views)[0]
    assert voids[:, 1].tolist() == [1, 0, 1] and voids[:, [0, 2, 3, 4]].sum() == 0


def test_types_say_whose_token_comes() -> None:
    states = given(3, HANDS, "P9 P1")
    do(states, "P9 P1 silent G7 highest silent silent P9")
    tokens, lengths = GAME.histories(states, np.array([1]))
    types = [GAME.token_types[kind] for kind in GAME.next_type(GAME.prefixes(tokens[:, : lengths[0]])[0])]
    assert types[:5] == ["mission"] * 5 and types[6:15] == ["card dealt to me"] * 9
    assert types[15:18] == ["place of the commander", "task card", "task card"]
    assert types[18:] == [
        *("right's task", "my task", "right's card shown or silence", "my card shown or silence", "my radio token"),
        *("left's card shown or silence", "across's card shown or silence", "right's play", "my play"),
    ]


def plainly(state: np.ndarray, seat: int) -> dict[str, np.ndarray]:
    """Features read off the true state, seats turned so that the observer is first."""
    public = state["public"]
    told = {name: np.zeros(feature.shape, np.int64) for name, feature in GAME.features.items() if name not in _APART}
    gone = 0
    for other in range(4):
        cards, relative = int(public["shown"][other]), (other - seat) % 4
        gone |= cards
        told["tricks"][relative] = public["tricks"][other]
        told["radio"][relative, 0] = public["radio"][other]
        if public["said"][other] >= 0:
            told["radio"][relative, 1 + public["said"][other]] = 1
        if public["marks"][other] >= 0:
            told["radio"][relative, 41 + public["marks"][other]] = 1
    for card in range(40):
        told["gone"][card] = gone >> card & 1
        told["hand"][card] = int(state["hands"][seat]) >> card & 1
        told["trick"][card] = int(public["trick"]) >> card & 1
    if public["trick"]:
        told["trick"][40 + (public["winner"] - seat) % 4] = told["trick"][44 + public["led"]] = 1
    for place, (value, size) in {0: (public["allocation"], 4), 4: (public["communication"], 4)}.items():
        told["mission"][place : place + size] = np.arange(size) == value
    told["mission"][8:25] = [int(public["special"]) >> special & 1 for special in range(17)]
    for place, name in ((25, "commander"), (29, "named"), (33, "last")):
        if public[name] >= 0:
            told["mission"][place + (public[name] - seat) % 4] = 1
    open_tasks = [0] * 4
    for task in range(int(public["num_laid"])):
        row, owner, done = told["tasks"][public["tasks"][task]], int(public["owners"][task]), public["done"][task] > 0
        row[0], row[1], row[6 + public["tiles"][task]] = 1, done, 1
        if owner >= 0:
            row[2 + (owner - seat) % 4] = 1
            open_tasks[(owner - seat) % 4] += not done
    number_done = int((public["done"] > 0).sum())
    left = [sum(1 for card in cards if not gone >> card & 1) for cards in _FAMILIES]
    told["needed"][:] = [
        *open_tasks,
        public["num_tasks"] - number_done,
        number_done + 1,
        10 - public["num_played"] // 4,
        max(public["tricks"]) - min(public["tricks"]),
        public["progress"],
        *left,
    ]
    others = [
        card for other in range(4) if other != seat for card in range(40) if int(state["hands"][other]) >> card & 1
    ]
    for card in np.flatnonzero(told["hand"]).tolist():
        row = told["choices"][card]
        for task in range(int(public["num_laid"])):
            if public["tasks"][task] == card and public["owners"][task] >= 0:
                row[(public["owners"][task] - seat) % 4], row[4] = 1, breaks_the_order(public, task)
        beats = card // 9 in (public["led"], 4) and card > public["high"]
        row[5], row[6] = bool(public["trick"]) and beats, sum(o // 9 == card // 9 and o > card for o in others)
        row[7] = sum(o // 9 == card // 9 and o < card for o in others)
        winner = seat if beats or not public["trick"] else public["winner"]
        for task, owner in zip(public["tasks"], public["owners"][: int(public["num_laid"])], strict=False):
            if owner >= 0 and (task == card or int(public["trick"]) >> int(task) & 1):
                row[8 if owner == winner else 9] = 1
            if owner >= 0 and task in others and task // 9 == card // 9:
                row[11 + (owner - seat) % 4] += 1
            if owner >= 0 and task != card and told["hand"][task] and task // 9 == card // 9:
                row[17 if owner == seat else 18] += 1
        held = [other for other in np.flatnonzero(told["hand"]) if other // 9 == card // 9]
        row[15], row[16] = len(held), sum(other < card for other in held)
        for task in range(int(public["num_laid"])):
            laid = public["tasks"][task] == card or int(public["trick"]) >> int(public["tasks"][task]) & 1
            if public["owners"][task] >= 0 and public["done"][task] == 0 and laid:
                row[20 + (public["owners"][task] - seat) % 4] = 1
    in_trick = [card for card in range(40) if int(public["trick"]) >> card & 1]
    for task in range(int(public["num_laid"])):
        if public["tasks"][task] in in_trick and public["owners"][task] >= 0:
            told["stakes"][(public["owners"][task] - seat) % 4] = 1
    told["stakes"][4] = (4 - len(in_trick)) % 4
    return told


def chances(view: np.void) -> np.ndarray:
    """Columns 24 to 31 of ``choices``: who wins the trick if all play low, if one alone tries, if those that should
    try do."""
    public, columns = view["public"], np.zeros((40, 8), np.int64)
    likely = np.empty((4, 40))
    spread(view, likely)
    owned: list[set[int]] = [set(), set(), set(), set()]
    for task in range(int(public["num_laid"])):
        if public["done"][task] == 0 and public["owners"][task] >= 0:
            owned[public["owners"][task]].add(int(public["tasks"][task]))
    trick = {card for card in range(40) if int(public["trick"]) >> card & 1}
    for card in [card for card in range(40) if int(view["hand"]) >> card & 1]:
        led = public["led"] if trick else card // 9
        low = plain_winners(public, likely, card, set(), set().union(*owned))
        columns[card, :4] = quarters(low)
        for seat in range(1, 4):
            others = set().union(*(owned[other] for other in range(4) if other != seat))
            columns[card, 3 + seat] = quarters(plain_winners(public, likely, card, {seat}, others)[seat])
        wanting = {seat for seat in range(4) if owned[seat] & (trick | {card})}
        wanting = wanting or {seat for seat in range(4) if any(task // 9 == led for task in owned[seat])}
        others = set().union(*(owned[other] for other in range(4) if other not in wanting))
        wins = plain_winners(public, likely, card, wanting, others)
        columns[card, 7] = sum(int(quarters(wins[seat])) for seat in wanting)
    return columns


def quarters(chance: np.ndarray | float) -> np.ndarray:
    return np.floor(4.0 * np.asarray(chance) + 0.5).astype(np.int64)


def rivals(view: np.void, card: int) -> int:
    """The seats still to play to the trick that can hold a card that beats one which would win it so far."""
    public, number = view["public"], 0
    trick = [other for other in range(40) if int(public["trick"]) >> other & 1]
    if trick and not (card // 9 in (public["led"], 4) and card > public["high"]):
        return 0
    for seat in range(1, 4 - len(trick)):
        cards = int(may_hold(view, seat))
        holds = [other for other in range(40) if cards >> other & 1]
        number += any(other > card and other // 9 in (card // 9, 4) for other in holds)
    return number


def breaks_the_order(public: np.void, task: int) -> bool:
    """The three checks of the rules, were this task done next and nothing else."""
    tiles, count = [TILES[tile] for tile in public["tiles"]], int(public["num_tasks"])
    done = [n for n in range(count) if public["done"][n] > 0 or n == task]
    pending = [n for n in range(count) if n not in done]
    for n in pending:
        if tiles[n].isdigit() and any(not tiles[m].isdigit() or int(tiles[m]) > int(tiles[n]) for m in done):
            return True
        if ">" in tiles[n] and any(">" in tiles[m] and len(tiles[m]) > len(tiles[n]) for m in done):
            return True
    return bool(pending) and any(tiles[m] == "omega" for m in done)


_APART = ("voids", "likely", "estimates", "roles")
"""Sets with tests of their own."""
_FAMILIES = ([0, 9, 18, 27], [8, 17, 26, 35], range(9), range(36, 40))
"""1s, 9s, pink cards, rockets."""


@pytest.mark.parametrize("count", [20, *slow(150)])
def test_features_are_what_plain_python_reads_off_the_state(count: int) -> None:
    """Random missions, for every seat at every fourth step."""
    compared = 0
    for step, (states, acting, _) in enumerate(decisions(GAME, count, 8)):
        for seat in range(4 if step % 4 == 0 else 0):
            views = GAME.views(*GAME.histories(states, np.full(len(states), seat)))
            numbers = {name: feature.encode(views) for name, feature in GAME.features.items()}
            for row in range(step % 3, len(states), 3):
                compared += 1
                plain, voids = plainly(states[row], seat), numbers["voids"][row]  # which have a test of their own
                plain["choices"][:, 10] = [plain["hand"][card] * voids[:, card // 9].sum() for card in range(40)]
                if acting[row] == seat:
                    for card in np.flatnonzero(plain["hand"]):
                        plain["choices"][card, 19] = rivals(views[row], int(card))
                    plain["choices"][:, 24:] = chances(views[row])
                else:
                    plain["choices"][:] = 0
                for name, expected in plain.items():
                    np.testing.assert_array_equal(numbers[name][row], expected, f"{name}, seat {seat}")
    assert compared > 6 * count


def asked(count: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """Turn by turn of random missions: views, histories, legal tokens, and what the scripted player does."""
    for states, seats, views in decisions(GAME, count, seed):
        tokens, lengths = GAME.histories(states, seats)
        player, legal, place = CrewRules(), GAME.legal(states), np.arange(len(states))
        player.start(GAME, len(states))
        done = player.act(Turns(place, seats, tokens, lengths, legal, np.zeros(len(states), np.uint64)))
        yield views, tokens, legal, done


def test_estimates_say_what_the_scripted_player_thinks_of_each_card_and_the_rest_is_what_choices_say() -> None:
    """Random missions; in threads too, as a learner makes batches, where memory that is let go is soon another's."""
    compared, drafted, sets = 0, 0, GAME.features
    for views, _, legal, wanted in asked(200, 9):
        with ThreadPoolExecutor(4) as threads:
            found, *others = threads.map(sets["estimates"].encode, [views] * 4)
        assert all(np.array_equal(found, other) for other in others)
        np.testing.assert_array_equal(found[..., :32], sets["choices"].encode(views))
        cards = np.isin(views["public"]["phase"], [PLAY, DRAFT])
        assert not found[~cards, :, 32:].any()
        best, behind, chance = np.moveaxis(found[cards][..., 32:].astype(int), -1, 0)
        # The scripted player takes the lowest of the best.
        np.testing.assert_array_equal(best.argmax(1), wanted[cards])
        assert not (best + behind + chance)[~legal[cards][:, :40]].any()
        assert not behind[best > 0].any() and (behind <= 8).all() and (chance <= 8).all()
        compared += int(cards.sum())
        drafted += int((views["public"]["phase"] == DRAFT).sum())
    assert compared > 2000 and drafted > 100


def test_roles_say_what_the_scripted_player_answers_and_whom_it_names() -> None:
    compared, heard = np.zeros(2, int), 0
    for views, tokens, legal, wanted in asked(300, 10):
        found, phases = GAME.features["roles"].encode(views), views["public"]["phase"]
        polled, naming = (np.flatnonzero((phases == phase) & (legal.sum(1) > 1)) for phase in (POLL, NAME))
        assert not found[~np.isin(phases, [POLL, NAME])].any()
        assert (found[polled, :2].sum(1) == 1).all()
        np.testing.assert_array_equal(found[polled, :2].argmax(1), wanted[polled] - YES)
        np.testing.assert_array_equal(found[naming, 2:6].argmax(1), wanted[naming] - FIRST_POSITION)
        for row in naming:  # who said yes: the last replies to a poll, clockwise from the seat behind the one that asks
            said = [token == YES for token in tokens[row] if token in (YES, NO)][-3:]
            if len(said) == 3 and views["public"]["named"][row] < 0:
                heard += 1
                assert found[row, 7:].tolist() == said
        compared += len(polled), len(naming)
    assert (compared > 100).all() and heard > 30
