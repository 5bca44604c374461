"""A trick-taking game from nothing to the conformance suite: all that a game of one's own has to write.

Three seats hold four cards each of twelve, two suits of six. Suit must be followed, the highest card of the suit led
takes the trick, and every trick counts 1. A history, relative to its observer: 4 dealt cards in their order; position
of the seat that leads first; 12 plays; ``eos``.
"""

from itertools import product

import numpy as np
import pytest

from games import conformance
from games.batches import Loops, playing_out
from games.bits import count, holds, mark, nth
from games.compiled import CompiledGame
from games.compiling import kernel
from games.dividing import deal_out, divide
from games.game import Next
from games.histories import write, write_all, write_cards
from games.outcomes import OutcomeTable
from games.rng import below, next_state, output
from games.vocabulary import Vocabulary

CARDS = [suit + rank for suit in "AB" for rank in "123456"]
VOCABULARY = Vocabulary({"Cards": CARDS, "Positions": ("self", "left", "right")})
NUM_CARDS, HAND_SIZE, POSITIONS, EOS, MAX_LENGTH = 12, 4, 12, 15, 18
ALL_CARDS = (1 << NUM_CARDS) - 1
SUITS = np.array([0b111111, 0b111111 << 6])
BIT = np.int64(1) << np.arange(NUM_CARDS)
_OBSERVATION, _ACTION, _END = int(Next.OBSERVATION), int(Next.ACTION), int(Next.END)

# ---- what all seats see, written once for states (seats absolute) and for views (seats relative) --------------------

PUBLIC = np.dtype(
    [(name, np.int64) for name in ("turn", "num_played", "led", "high", "winner")] + [("tricks", np.int64, 3)]
)
"""``turn`` is -1 before the first lead and at the end; ``winner`` has played ``high``, the best card of this trick."""


@kernel
def legal_plays(public, hand):
    following = hand & SUITS[public["led"]]
    return hand if public["num_played"] % 3 == 0 or following == 0 else following


@kernel
def play_card(public, card):
    if public["num_played"] % 3 == 0:
        public["led"], public["high"] = card // 6, -1
    if card // 6 == public["led"] and card > public["high"]:
        public["high"], public["winner"] = card, public["turn"]
    public["num_played"] += 1
    public["turn"] = (public["turn"] + 1) % 3
    if public["num_played"] % 3 == 0:
        public["tricks"][public["winner"]] += 1
        public["turn"] = public["winner"] if public["num_played"] < NUM_CARDS else -1


# ---- the true state ------------------------------------------------------------------------------------------------

STATE = np.dtype(
    [("public", PUBLIC), ("hands", np.int64, 3), ("lengths", np.int64, 3), ("tokens", np.uint8, (3, MAX_LENGTH))]
)


@kernel
def deal_hands(state, hands, leader):
    """Deal given hands; ``leader`` leads first."""
    state["public"]["turn"] = leader
    for seat in range(3):
        state["hands"][seat] = hands[seat]
        write_cards(state, seat, hands[seat])
        write(state, seat, POSITIONS + (leader - seat) % 3)


@kernel
def deal(state, seed):
    hands = np.zeros(3, np.int64)
    _, counter = deal_out(hands, NUM_CARDS, HAND_SIZE, seed)
    deal_hands(state, hands, below(output(next_state(counter)), 3))


@kernel
def legal(state):
    return legal_plays(state["public"], state["hands"][max(state["public"]["turn"], 0)])


@kernel
def act(state, card):
    public = state["public"]
    state["hands"][public["turn"]] &= ~BIT[card]
    play_card(public, card)
    write_all(state, card)
    if public["turn"] < 0:
        write_all(state, EOS)


# ---- what one seat knows -------------------------------------------------------------------------------------------

VIEW = np.dtype(
    [("public", PUBLIC), ("tokens", np.uint8, MAX_LENGTH)]
    + [(name, np.int64) for name in ("hand", "dealt", "length", "ended", "refuted")]
    + [(name, np.int64, 3) for name in ("shown", "possible")]
)
"""``shown``: cards each seat has played; ``possible``: all unseen ones, then those that each other seat may hold."""


@kernel
def next_of(view):
    if view["ended"] != 0 or view["public"]["num_played"] == NUM_CARDS:
        return _END
    if view["public"]["turn"] != 0 or view["length"] <= HAND_SIZE:
        return _OBSERVATION
    return _ACTION if view["hand"] != 0 else _END


@kernel
def own_legal(view):
    return legal_plays(view["public"], view["hand"])


@kernel
def advance(view, token):
    public, length, turn, possible = view["public"], view["length"], view["public"]["turn"], True
    first, behind = (POSITIONS, EOS) if length == HAND_SIZE else (0, NUM_CARDS)
    if next_of(view) == _END:
        return
    if token < first or token >= behind:
        view["ended"] = 1
        return
    if length < HAND_SIZE:
        possible = view["dealt"] >> token == 0 and NUM_CARDS - token >= HAND_SIZE - length
        view["dealt"] |= BIT[token]
        view["hand"] = view["dealt"]
    elif length == HAND_SIZE:
        public["turn"] = token - POSITIONS
        view["possible"][:] = ALL_CARDS & ~view["hand"]
    else:
        possible = (own_legal(view) if turn == 0 else view["possible"][turn]) & BIT[token] != 0
        if turn != 0 and public["num_played"] % 3 != 0 and token // 6 != public["led"]:
            view["possible"][turn] &= ~SUITS[public["led"]]
        view["hand"] &= ~BIT[token] if turn == 0 else ALL_CARDS
        view["shown"][turn] |= BIT[token]
        for seat in range(3):
            view["possible"][seat] &= ~BIT[token]
        play_card(public, token)
    view["refuted"] |= not possible
    view["tokens"][length] = token
    view["length"] += 1


@kernel
def is_consistent(view):
    """Whether the unseen cards fit into the other hands."""
    if view["ended"] != 0 or view["refuted"] != 0:
        return False
    cards, at, shown = view["possible"][0], view["possible"], view["shown"]
    fits = count(cards & ~at[1]) <= HAND_SIZE - count(shown[2]) and count(cards & ~at[2]) <= HAND_SIZE - count(shown[1])
    return view["length"] <= HAND_SIZE or (fits and cards & ~(at[1] | at[2]) == 0)


@kernel
def can_stand(view):
    return view["length"] > HAND_SIZE  # the cards and the leader arrive as one


@kernel
def determinize(view, state, seed):
    """Every division of the unseen cards equally likely."""
    hands, shown, at = np.zeros(3, np.int64), view["shown"], view["possible"]
    rooms = HAND_SIZE - count(shown[1]), HAND_SIZE - count(shown[2])
    left, right, _, _ = divide(at[0], at[1], at[2], np.int64(0), rooms[0], rooms[1], seed)
    hands[0], hands[1], hands[2] = view["dealt"], left | shown[1], right | shown[2]
    deal_hands(state, hands, np.int64(view["tokens"][HAND_SIZE]) - POSITIONS)
    for place in range(HAND_SIZE + 1, view["length"]):
        act(state, np.int64(view["tokens"][place]))


# ---- the game ------------------------------------------------------------------------------------------------------

TRICKS = np.array([tricks for tricks in product(range(5), repeat=3) if sum(tricks) == 4], np.float32)
LABELS = np.full((5, 5, 5), -1, np.int32)
LABELS[tuple(TRICKS.astype(int).T)] = np.arange(len(TRICKS))


def labels_of(public: np.ndarray, seat: int) -> np.ndarray:
    """``int32[B]``: the label seen from a seat, -1 before the end."""
    return LABELS[tuple(np.roll(public["tricks"], -seat, axis=1).T)]


class ToyTricks(CompiledGame):
    """Three hands of four cards."""

    name = "toy_tricks"
    rules_version = 1
    num_players = 3
    max_length = MAX_LENGTH
    vocabulary = VOCABULARY
    state_type = STATE
    view_type = VIEW
    loops = Loops(
        deal=deal,
        legal=legal,
        mark=mark,
        holds=holds,
        act=act,
        play_out=playing_out(legal, count, nth, act),
        next_of=next_of,
        own_legal=own_legal,
        advance=advance,
        consistent=is_consistent,
        can_stand=can_stand,
        determinize=determinize,
    )

    def __init__(self) -> None:
        self.options = {}
        self.template = np.array([(-1, 0, 0, 0, 0, 0)], PUBLIC)
        self.outcomes = OutcomeTable(TRICKS, {"tricks": TRICKS[:, 0]})

    def outcome(self, states: np.ndarray) -> np.ndarray:
        return np.stack([labels_of(states["public"], seat) for seat in range(3)], axis=1)

    def view_outcome(self, views: np.ndarray) -> np.ndarray:
        return labels_of(views["public"], 0)


@pytest.mark.parametrize("law", [*conformance.LAWS, conformance.check_no_leak])
def test_the_toy_game_keeps_the_law(law) -> None:
    law(ToyTricks(), num_deals=60, seed=1)
