"""Whether our rules agree with what XSkat's log says of a deal."""

import numpy as np

from games.skat.cards import NULL, SEATS, VOCABULARY
from games.skat.replay import new_state, replay
from games.skat.state import result_of
from games.skat.xskat.log import Played


def differences(deal: Played, value: int | None = None, state: np.void | None = None) -> list[str]:
    """What XSkat and the replay of a deal disagree in; empty if nothing.

    Args:
        value: what the list of games has; the log has none.
        state: a new one to replay it in.
    """
    state = new_state() if state is None else state
    refused = replay(state, deal.hands, np.array(deal.seats, np.int64), np.array(deal.tokens, np.int64))
    if refused >= 0:
        what = f"{VOCABULARY.name(deal.tokens[refused])} by {SEATS[deal.seats[refused]]}"
        return [f"action {refused + 1}: {what} is not legal, or not its turn"]
    public = state["public"]
    if deal.soloist < 0:
        return [] if public["turn"] < 0 and not value else ["XSkat has all pass, the replay not"]
    if public["turn"] >= 0 and public["game"] != NULL:
        return [f"XSkat ends the deal after {public['num_played']} cards"]
    won, worth, _, _, points = result_of(state)
    pairs = [
        ("soloist", deal.soloist, int(public["soloist"])),
        ("won", deal.won, bool(won)),
        ("tricks", deal.tricks, int(public["tricks"][public["soloist"]])),
    ]
    if value is not None:
        pairs.append(("value", value, int(worth if won else -2 * worth)))
    if deal.points >= 0:
        pairs.append(("card points", deal.points, int(points)))
    return [f"{what}: XSkat says {theirs}, the replay {ours}" for what, theirs, ours in pairs if theirs != ours]
