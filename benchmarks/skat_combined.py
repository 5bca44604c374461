"""Skat before card play by two networks of the same games: ``python -m benchmarks.skat_combined POLICIES TRANSFORMER``.

``POLICIES`` is a checkpoint of paper 004's networks, ``TRANSFORMER`` one that reads histories. Every player leaves the
cards to ``skat_rules`` and plays against that player, on the same deals in six seatings. Beside the methods of the
paper with either network: MLV with the networks' policy and the transformer's values, and with the transformer's policy
and the networks' values. They bid alike, up to the percentile A of the one that has the policy.
"""

import argparse
import json
from dataclasses import dataclass

import numpy as np

from benchmarks.report import machine
from games.game import Game
from games.rng import derive, derive_many
from games.skat import rules
from games.skat.cards import FIRST_GAME, FIRST_MODIFIER, HAND, NULL, OUVERT, PICKUP, PLAIN
from games.skat.game import SkatGame
from games.skat.policies.decisions import observed
from games.skat.policies.points import CHOICE, DECLARE, NULL_OUVERT, NUM_CHOICES, NUM_DECLARATIONS
from learner.config import EngineConfig
from learner.observation_model import EMPTY, Answer, ObservationModel
from search.arena.tournament.report import interval, signed
from search.arena.tournament.seatings import seatings
from search.arena.tournament.statistics import ends_of
from search.config import SearchConfig
from search.players.histories import tokens_since
from search.players.player import ChoosingPlayer, Player, Turns
from search.players.policy import legal_policy
from search.players.table import play_table
from search.roster.engines import Engines
from search.roster.registry import make_players
from search.scripted.skat.support import SUPPORT
from search.skat_policies.config import SkatPoliciesPlayerConfig
from search.skat_policies.plans import GAME_OF, PAIRS, Deciding
from search.skat_policies.player import SkatPolicies

GAME, AT_ONCE = SkatGame(), 64
"""Turns whose games are valued at once."""
COMPARED = (
    ("networks' policy, transformer's values", "networks, MLV"),
    ("networks' policy, transformer's values", "networks, AB"),
    ("transformer's policy, networks' values", "transformer, MLV"),
    ("transformer's policy, networks' values", "transformer, AB"),
    ("transformer, AB", "networks, AB"),
    ("transformer, MLV", "networks, MLV"),
)
"""Players whose points are compared deal by deal."""


class CardsByRules(ChoosingPlayer):
    """Another player up to the declaration, then ``skat_rules``."""

    def __init__(self, before: Player, cards: Player) -> None:
        self._players, self.name = (before, cards), before.name

    def start(self, game: Game, num_games: int) -> None:
        super().start(game, num_games)
        for player in self._players:
            player.start(game, num_games)

    def forget(self, games: np.ndarray) -> None:
        for player in self._players:
            player.forget(games)

    def choose(self, turns: Turns) -> np.ndarray:
        plays = GAME.views(turns.tokens, turns.lengths)["public"]["phase"] == rules.PLAY
        chosen = np.empty(len(plays), np.int64)
        for player, rows in zip(self._players, (np.flatnonzero(~plays), np.flatnonzero(plays)), strict=True):
            if len(rows):
                chosen[rows] = player.act(turns.take(rows))
        return chosen


# ---- the transformer on whole plans ----------------------------------------------------------------------------------


def plan(point: int, action: int, pair: np.ndarray | None) -> list[int]:
    """The tokens by which a game is chosen at a point of decision; ``pair``: the discards for it."""
    if point == CHOICE:
        if action == 0:
            return [PICKUP]
        game = NULL if action > 10 else (action - 1) % 5
        return [HAND, FIRST_GAME + game, FIRST_MODIFIER + (OUVERT if action in range(6, 11) or action == 12 else PLAIN)]
    assert pair is not None
    tokens = [*pair.tolist(), FIRST_GAME + int(GAME_OF[action])]
    null = {NULL: [FIRST_MODIFIER + PLAIN], NULL_OUVERT: [FIRST_MODIFIER + OUVERT]}
    return tokens + null.get(action, [])


@dataclass(frozen=True)
class ValuesOfTransformer(Deciding):
    """The networks' policies, and V(h.a) of the transformer for whole plans: in the game of ``action`` with the
    networks' discards for it. Always from the history at the point of decision, so all turns of a plan agree."""

    transformer: ObservationModel | None = None

    def values(self, point: int) -> np.ndarray:
        found = np.empty((len(self), NUM_CHOICES if point == CHOICE else NUM_DECLARATIONS), np.float32)
        for first in range(0, len(self), AT_ONCE):
            rows = np.arange(first, min(first + AT_ONCE, len(self)))
            found[rows] = self.take(rows)._values(point, found.shape[1])  # type: ignore[attr-defined]
        return found

    def _values(self, point: int, actions: int) -> np.ndarray:
        pairs = None if point == CHOICE else [PAIRS[self.discards(each).argmax(axis=1)] for each in range(actions)]
        plans = [
            plan(point, a, None if pairs is None else pairs[a][m]) for m in range(len(self)) for a in range(actions)
        ]
        model = self.transformer
        assert model is not None
        lengths = point_of_decision(self.turns, point)
        before = model.query(np.full(len(self), EMPTY), *tokens_since(self.turns.tokens, 0 * lengths, lengths))
        counts = np.array([len(each) for each in plans])
        answer = model.query(
            before.handles.repeat(actions), np.concatenate(plans), counts, values=np.ones(len(plans), np.bool_)
        )
        release(model, before, answer)
        return answer.value.reshape(len(self), actions)


def point_of_decision(turns: Turns, point: int) -> np.ndarray:
    """``int64[M]``: tokens before hand or pickup, or up to the second card of the skat."""
    token, more = (HAND, 0) if point == CHOICE else (PICKUP, 3)
    there = turns.tokens == token
    return np.where(there.any(axis=1), there.argmax(axis=1) + more, turns.lengths)


def release(model: ObservationModel, *answers: Answer) -> None:
    for answer in answers:
        model.release(answer.handles)
        model.release(answer.action_handles)


class PolicyOfNetworks(SkatPolicies):
    """MLV with the transformer's values."""

    transformer: ObservationModel

    def known(self, turns: Turns, views: np.ndarray, logs: np.ndarray) -> Deciding:
        return ValuesOfTransformer(self._model, self._config, turns, views, logs, self.transformer)


class PolicyOfTransformer(ChoosingPlayer):
    """The transformer's greedy imitation, but of the games that it finds likely the one of the networks' highest
    value: by hand or not before the skat is seen, and what to declare after its discards."""

    def __init__(self, imitation: Player, transformer: ObservationModel, networks: SkatPolicies, threshold: float):
        self.name, self._imitation = imitation.name, imitation
        self._model, self._networks, self._threshold = transformer, networks, threshold

    def start(self, game: Game, num_games: int) -> None:
        super().start(game, num_games)
        self._imitation.start(game, num_games)

    def forget(self, games: np.ndarray) -> None:
        self._imitation.forget(games)

    def choose(self, turns: Turns) -> np.ndarray:
        views, logs = observed(turns.tokens, turns.lengths)
        phases, chosen = views["public"]["phase"], self._imitation.act(turns)
        decides = np.isin(phases, (rules.CHOICE, rules.DECLARATION, rules.MODIFIER))
        for by_hand in (False, True):
            rows = np.flatnonzero(decides & ((views["public"]["picked_up"] == 0) == by_hand))
            for first in range(0, len(rows), AT_ONCE):
                some = rows[first : first + AT_ONCE]
                part = turns.take(some)
                chosen[some] = self._games(part, self._networks.known(part, views[some], logs[some]), by_hand)
        return chosen

    def _games(self, turns: Turns, known: Deciding, by_hand: bool) -> np.ndarray:
        """``int64[M]``: the next token of the chosen plan, from the history before its first one."""
        point, actions, done = (CHOICE, NUM_CHOICES, 0) if by_hand else (DECLARE, NUM_DECLARATIONS, 2)
        begins = point_of_decision(turns, point) + done
        ways = [plan(point, action, PAIRS[0])[done:] for action in range(actions)]
        chances = np.column_stack([self._probability(turns, begins, way) for way in ways])
        likely = (chances >= self._threshold) | (chances == chances.max(axis=1, keepdims=True))
        best = np.where(likely, known.values(point), -np.inf).argmax(axis=1)
        return np.array([ways[way][at] for way, at in zip(best, turns.lengths - begins, strict=True)])

    def _probability(self, turns: Turns, begins: np.ndarray, way: list[int]) -> np.ndarray:
        """``float64[M]``: of a plan among the legal ones; 0 for one that breaks the rules."""
        count = len(begins)
        tokens, lengths = turns.tokens.astype(np.int64), begins.copy()
        chances = np.ones(count)
        for token in way:
            legal = GAME.view_legal(GAME.views(tokens, lengths))
            fits = np.flatnonzero(legal[:, token] & (chances > 0))
            answer = self._model.query(
                np.full(len(fits), EMPTY), *tokens_since(tokens[fits], np.zeros(len(fits), np.int64), lengths[fits])
            )
            release(self._model, answer)
            taken = np.zeros(count)
            taken[fits] = legal_policy(answer.next_token, legal[fits])[:, token]
            chances *= taken
            tokens[np.arange(count), lengths] = token
            lengths += 1
        return chances


# ---- tournaments -----------------------------------------------------------------------------------------------------


def players_of(policies: str, transformer: str, a: float, threshold: float) -> dict[str, Player]:
    """Name -> player."""
    engines = Engines(GAME, EngineConfig(precision="auto"))
    percentile, likely = f"bidding=percentile:a={a}", f"threshold={threshold}"
    names = {
        "transformer, DI.M": f"imitation:greedy=true@{transformer}",
        "transformer, DI.S": f"imitation@{transformer}",
        "transformer, AB": f"imitation:greedy=true:{percentile}@{transformer}",
        "transformer, MLV": f"argmax_val:{likely}:{percentile}@{transformer}",
        "transformer, MV": f"argmax_val:threshold=0:{percentile}@{transformer}",
        "networks, DI.M": f"skat_policies:method=di_m@{policies}",
        "networks, DI.S": f"skat_policies:method=di_s@{policies}",
        "networks, AB": f"skat_policies:method=ab:a={a}@{policies}",
        "networks, MLV": f"skat_policies:method=mlv:a={a}:{likely}@{policies}",
        "networks, MV": f"skat_policies:method=mv:a={a}@{policies}",
    }
    made = dict(zip(names, make_players([*names.values()], GAME, SearchConfig(), engines=engines), strict=True))
    model = engines.get(transformer)
    settings = SkatPoliciesPlayerConfig(method="mlv", a=a, threshold=threshold)
    first = PolicyOfNetworks(engines.decision_model(policies), settings, SUPPORT)
    first.transformer = model
    networks = SkatPolicies(engines.decision_model(policies), settings, SUPPORT)
    (imitation,) = make_players([names["transformer, AB"]], GAME, SearchConfig(), engines=engines)
    made["networks' policy, transformer's values"] = first
    made["transformer's policy, networks' values"] = PolicyOfTransformer(imitation, model, networks, threshold)
    return made


def ahead(player: Player, deals: int, seed: int) -> np.ndarray:
    """``float[D]``: points a game and seat ahead of ``skat_rules`` in each deal."""
    scripted = make_players(["skat_rules"] * 2, GAME, SearchConfig())
    seated = seatings(2, GAME.num_players)
    result = play_table(
        GAME,
        [CardsByRules(player, scripted[0]), scripted[1]],
        np.tile(seated, (deals, 1)),
        derive_many(derive(seed, "deals"), deals).repeat(len(seated)),
        512,
        secret=derive(seed, "secret"),
    )
    own = np.tile(seated, (deals, 1)) == 0
    each = [np.where(side, result.points, 0).sum(axis=1) / side.sum(axis=1) for side in (own, ~own)]
    return np.asarray((each[0] - each[1]).reshape(deals, -1).mean(axis=1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("policies")
    parser.add_argument("transformer")
    parser.add_argument("--a", type=float, default=0.85, help="percentile of the bids")
    parser.add_argument("--threshold", type=float, default=0.1, help="probability from which values are believed")
    parser.add_argument("--deals", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    found, records = {}, []
    for name, player in players_of(options.policies, options.transformer, options.a, options.threshold).items():
        found[name] = ahead(player, options.deals, options.seed)
        records.append(told(name, found[name]))
    for name, than in COMPARED:
        records.append(told(f"{name}, less {than}", found[name] - found[than]))
    print(json.dumps(records))


def told(case: str, points: np.ndarray) -> dict[str, object]:
    """Print a line; its record."""
    mean, ends = float(points.mean()), ends_of(points)
    print(f"{case}: {signed(mean)} ({interval(*ends)})", flush=True)
    return {"benchmark": "skat_combined", "case": case, "ahead": mean, "interval": ends, "machine": machine()}


if __name__ == "__main__":
    main()
