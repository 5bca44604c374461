"""Any game as an environment of PettingZoo's (Agent Environment Cycle), for training with its tools.

A deal of Hearts, played at random::

    env = GameEnv(make_game("hearts"))
    env.reset(seed=1)
    for agent in env.agent_iter():
        observation, reward, termination, truncation, info = env.last()
        env.step(None if termination else env.action_space(agent).sample(observation["action_mask"]))

It needs the extra ``kibitz[pettingzoo]``. The interface: https://pettingzoo.farama.org/api/aec/.
"""

from typing import Any

import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv

from games.game import Game
from games.rng import derive


class GameEnv(AECEnv):
    """One deal of a game after the other. Agent ``player_3`` has seat 3.

    An action is a token (``Discrete(V)``). An observation is what the agent's seat has seen and nothing else:
    ``observation``, its history padded with ``eos`` (``[L]``), and ``action_mask``, its legal actions (``int8[V]``,
    all 0 when others are to act). Rewards are the utility of the outcome, when the deal is over, and 0 before.
    """

    def __init__(self, game: Game, utility: str = "") -> None:
        """
        Args:
            utility: name of the outcome utility that is the reward; empty for the game's default. ``ValueError`` for
                one that the game does not have.
        """
        super().__init__()
        self.metadata = {"name": game.name, "render_modes": [], "is_parallelizable": False}
        self.render_mode = None
        self.possible_agents = [f"player_{seat}" for seat in range(game.num_players)]
        self._game, self._utility = game, game.outcomes.utility(utility)
        size, dtype = game.vocabulary.size, game.vocabulary.dtype
        seen: dict[str, spaces.Space[Any]] = {
            "observation": spaces.Box(0, size - 1, (game.max_length,), dtype),
            "action_mask": spaces.Box(0, 1, (size,), np.int8),
        }
        self.observation_spaces = {agent: spaces.Dict(seen) for agent in self.possible_agents}
        self.action_spaces = {agent: spaces.Discrete(size) for agent in self.possible_agents}
        self._seed, self._deals = 0, 0

    def observation_space(self, agent: str) -> spaces.Dict:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Discrete:
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Deal. With a seed the deal follows from it alone; without, from the last seed (0 before the first) and the
        number of deals since."""
        self._seed, self._deals = (self._seed, self._deals + 1) if seed is None else (seed, 0)
        self._states = self._game.deal(np.array([derive(self._seed, "deal", self._deals)], np.uint64))
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self.agent_selection = self.agents[self._seat_to_act()]

    def observe(self, agent: str) -> dict[str, np.ndarray]:
        seat = self.possible_agents.index(agent)
        tokens, _ = self._game.histories(self._states, np.array([seat]))
        legal = self._game.legal(self._states)[0] & (seat == self._seat_to_act())
        return {"observation": tokens[0], "action_mask": legal.astype(np.int8)}

    def step(self, action: int | None) -> None:
        """Play a token; ``None`` for an agent whose deal is over. ``ValueError`` for an action that is not legal."""
        if self.terminations[self.agent_selection]:
            self._was_dead_step(action)
            return
        self._cumulative_rewards[self.agent_selection] = 0.0
        self._game.play(self._states, np.array([action]))
        seat = self._seat_to_act()
        if seat >= 0:
            self.agent_selection = self.agents[seat]
            return
        labels = self._game.outcome(self._states)[0]
        self.rewards = dict(zip(self.agents, self._utility[labels].tolist(), strict=True))
        self.terminations = dict.fromkeys(self.agents, True)
        self._accumulate_rewards()
        self.agent_selection = self.agents[0]

    def _seat_to_act(self) -> int:
        return int(self._game.to_move(self._states)[0])
