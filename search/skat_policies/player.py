"""The players of paper 004 (arXiv 1905.10907): Skat by networks that imitate records, and values of their games.

In our layout the discards come before the declaration. So a player decides the game from twelve cards, discards for it
and declares the same; ``di_s`` draws its discards from the mixture over the games, and then the declaration given the
discards, which is the paper's distribution of the two. All that a turn needs is its history.

Letters: ``M`` turns, all of one phase in the methods of a phase.
"""

from collections.abc import Callable

import numpy as np

from games.bits import BIT
from games.game import Game
from games.skat import rules
from games.skat.cards import FIRST_BID, FIRST_GAME, FIRST_MODIFIER, HAND, HOLD, NUM_CARDS, PASS, PICKUP, SEATS
from games.skat.policies.decisions import observed
from games.skat.policies.points import BID, CONTINUE
from games.skat.policies.walk import card_point
from games.skat.values import BIDS
from learner.decision_model import DecisionModel
from search.pimc.config import PimcConfig
from search.pimc.player import Pimc
from search.players.imitation import sample
from search.players.kinds import PlayerKind
from search.players.memory import worlds_bytes
from search.players.player import ChoosingPlayer, Player, Turns
from search.players.support import Support
from search.scripted.skat.config import SkatRulesConfig
from search.scripted.skat.rules.player import SkatRules
from search.skat_policies.beliefs import by_policies
from search.skat_policies.config import PIMC_WORLDS, SkatPoliciesPlayerConfig
from search.skat_policies.plans import PAIRS, Deciding, either, games_of, max_bid, modifiers_of, pickup_or_hand


class SkatPolicies(ChoosingPlayer):
    """Decides by the networks; see ``SkatPoliciesPlayerConfig``."""

    name, plays = "skat_policies", "skat"

    def __init__(self, model: DecisionModel, config: SkatPoliciesPlayerConfig, support: Support) -> None:
        self._model, self._config = model, config
        scripted: Player = SkatRules(SkatRulesConfig())
        self._before = scripted if config.method == "skat_rules" else None
        self._cards = scripted if config.cards == "skat_rules" else None
        if config.cards == "pimc":
            settings = PimcConfig(PIMC_WORLDS, config.candidates, evaluator="solver")
            self._cards = Pimc(None, settings, support, by_policies(model))
        self._decide: dict[int, Callable[[Deciding], np.ndarray]] = {
            rules.AUCTION: _call,
            rules.CHOICE: _choice,
            rules.DISCARD: _discard,
            rules.DECLARATION: _declaration,
            rules.MODIFIER: _modifier,
            rules.PLAY: _card,
        }

    def start(self, game: Game, num_games: int) -> None:
        """See ``Player``."""
        super().start(game, num_games)
        for other in filter(None, (self._before, self._cards)):
            other.start(game, num_games)

    def forget(self, games: np.ndarray) -> None:
        """See ``Player``."""
        for other in filter(None, (self._before, self._cards)):
            other.forget(games)

    def choose(self, turns: Turns) -> np.ndarray:
        """``int64[M]``: one legal token per turn."""
        views, logs = observed(turns.tokens, turns.lengths)
        phases, chosen = views["public"]["phase"], np.empty(len(views), np.int64)
        for phase in np.unique(phases):
            rows = np.flatnonzero(phases == phase)
            part, other = turns.take(rows), self._cards if phase == rules.PLAY else self._before
            chosen[rows] = other.act(part) if other else self._decide[phase](self.known(part, views[rows], logs[rows]))
        return chosen

    def known(self, turns: Turns, views: np.ndarray, logs: np.ndarray) -> Deciding:
        """What turns of one phase (``[M]``) are decided by."""
        return Deciding(self._model, self._config, turns, views, logs)


def _call(now: Deciding) -> np.ndarray:
    """Goes along while its limit allows (equations 2 and 3), by no more than the next value."""
    public = now.views["public"]
    asked = public["bid"] + np.where(public["asked"] != 0, 1, 2)
    goes_on = np.empty(len(now), np.bool_)
    for first in (True, False):
        rows = np.flatnonzero((public["duel"] == 0) == first)
        if len(rows):
            goes_on[rows] = _goes_on(now.take(rows), BID if first else CONTINUE, asked[rows])
    onward = np.where(public["asked"] != 0, HOLD, FIRST_BID + asked - 1)
    return np.where(goes_on & (asked <= len(BIDS)), onward, PASS)


def _goes_on(now: Deciding, point: int, asked: np.ndarray) -> np.ndarray:
    """``bool[M]``: whether the seat's limit is ``asked`` at least. ``di_s`` draws it call by call, from those limits
    that its calls so far have not exceeded."""
    limits, rows = now.probabilities(point), np.arange(len(now))
    if now.config.method == "di_m":
        return np.asarray(limits.argmax(axis=1) >= asked)
    if now.config.method != "di_s":
        return np.asarray(max_bid(limits, now.config.a) >= asked)
    at_least = np.append(limits[:, ::-1].cumsum(axis=1, dtype=np.float64)[:, ::-1], np.zeros((len(now), 1)), axis=1)
    reached = now.logs["reached"][rows, now.views["seat"]]
    on = at_least[rows, np.minimum(asked, len(BIDS) + 1)]
    return sample(np.column_stack([at_least[rows, reached] - on, on]), now.turns.seeds) == 1


def _choice(now: Deciding) -> np.ndarray:
    return np.where(sample(pickup_or_hand(now.games_by_hand()), now.turns.seeds) == 0, PICKUP, HAND)


def _discard(now: Deciding) -> np.ndarray:
    """The lower card of the pair first. Of the pairs those that go on from the first discard."""
    laid = now.views["laid"]
    pairs = now.with_discards(now.declarations()).sum(axis=1)
    fits = (laid[:, None] == 0) | (laid[:, None] == BIT[PAIRS[:, 0]])
    card = np.where(laid[:, None] == 0, PAIRS[:, 0], PAIRS[:, 1])
    cards = np.zeros((len(now), NUM_CARDS))
    np.add.at(cards, (np.arange(len(now))[:, None], card), np.where(fits, pairs, 0.0))
    return sample(either(cards, now.turns.legal[:, :NUM_CARDS].astype(np.float64)), now.turns.seeds)


def _declaration(now: Deciding) -> np.ndarray:
    return FIRST_GAME + _by_plans(now, FIRST_GAME, lambda now, plans: games_of(plans))


def _modifier(now: Deciding) -> np.ndarray:
    said = _by_plans(now, FIRST_MODIFIER, lambda now, plans: modifiers_of(plans, now.views["public"]["game"]))
    return FIRST_MODIFIER + said


def _by_plans(now: Deciding, first: int, tokens_of: Callable[[Deciding, np.ndarray], np.ndarray]) -> np.ndarray:
    """``int64[M]``: drawn from what the plans that agree with the turns so far say of the tokens from ``first`` on."""
    chosen, picked_up = np.empty(len(now), np.int64), now.views["public"]["picked_up"] != 0
    for up in np.unique(picked_up):
        rows = np.flatnonzero(picked_up == up)
        part = now.take(rows)
        plans = _given_discards(part) if up else part.games_by_hand()
        weights = tokens_of(part, plans)
        legal = part.turns.legal[:, first : first + weights.shape[1]].astype(np.float64)
        chosen[rows] = sample(either(weights * legal, legal), part.turns.seeds)
    return chosen


def _given_discards(now: Deciding) -> np.ndarray:
    """``float64[M, 7]``: weights of the games from twelve cards given what was discarded."""
    plans, laid = now.declarations(), now.views["laid"]
    pair = (BIT[PAIRS[:, 0]] | BIT[PAIRS[:, 1]] == laid[:, None]).argmax(axis=1)
    given = now.with_discards(plans)[np.arange(len(now)), :, pair]
    return either(given, plans)


def _card(now: Deciding) -> np.ndarray:
    """The most probable legal card (paper, section V)."""
    public, chosen = now.views["public"], np.empty(len(now), np.int64)
    soloist = public["soloist"] == now.views["seat"]
    points = np.array([card_point(game, own) for game, own in zip(public["game"], soloist, strict=True)])
    for point in np.unique(points):
        rows = np.flatnonzero(points == point)
        policy = now.take(rows).probabilities(point)
        chosen[rows] = np.where(now.turns.legal[rows, :NUM_CARDS], policy, -1.0).argmax(axis=1)
    return chosen


def _decision_bytes(game: Game, config: SkatPoliciesPlayerConfig) -> int:
    return worlds_bytes(game, PIMC_WORLDS, 1, candidates=config.candidates) if config.cards == "pimc" else 0


KIND = PlayerKind(
    name="skat_policies",
    summary="Skat by networks that imitate records, with values of games (paper 004).",
    games=("skat",),
    seats=len(SEATS),
    settings=SkatPoliciesPlayerConfig,
    needs_model=True,
    model_input="decisions",
    asks_support=True,
    check=lambda game, settings, support: None,
    decision_bytes=_decision_bytes,
    factory=lambda game, model, settings, support: SkatPolicies(model, settings, support),
)
