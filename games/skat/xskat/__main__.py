"""XSkat as a witness of our rules: ``python -m games.skat.xskat --games 10000 [--seed 1]``.

XSkat, a program of its own, plays deals against itself (``apt-get install xskat``; no display is needed). Every deal
of its log is replayed by the kernels that self-play uses: legality, who won each trick, card points, value and winner
must agree. Each deal that differs is printed with what differs. The last line is ``N deals, M agree``. Exits 1 if any
differs, 2 without XSkat.
"""

import argparse
import sys

import numpy as np

from cluster.reader import end_with_reader
from games.skat.cards import NULL, SEATS, VOCABULARY
from games.skat.records.iss import FormatError
from games.skat.replay import new_state, replay
from games.skat.state import result_of
from games.skat.xskat.log import Played, parse
from games.skat.xskat.program import XSkatError, self_play


def differences(deal: Played, value: int) -> list[str]:
    """What XSkat and the replay of a deal disagree in; empty if nothing. ``value`` is what the list has."""
    state = new_state()
    refused = replay(state, deal.hands, np.array(deal.seats, np.int64), np.array(deal.tokens, np.int64))
    if refused >= 0:
        what = f"{VOCABULARY.name(deal.tokens[refused])} by {SEATS[deal.seats[refused]]}"
        return [f"action {refused + 1}: {what} is not legal, or not its turn"]
    public = state["public"]
    if deal.soloist < 0:
        return [] if public["turn"] < 0 and value == 0 else ["XSkat has all pass, the replay not"]
    if public["turn"] >= 0 and public["game"] != NULL:
        return [f"XSkat ends the deal after {public['num_played']} cards"]
    won, worth, _, _, points = result_of(state)
    pairs = [
        ("soloist", deal.soloist, int(public["soloist"])),
        ("won", deal.won, bool(won)),
        ("value", value, int(worth if won else -2 * worth)),
        ("tricks", deal.tricks, int(public["tricks"][public["soloist"]])),
    ]
    if deal.points >= 0:
        pairs.append(("card points", deal.points, int(points)))
    return [f"{what}: XSkat says {theirs}, the replay {ours}" for what, theirs, ours in pairs if theirs != ours]


def main(arguments: list[str] | None = None) -> int:
    """The command; returns its exit status."""
    parser = argparse.ArgumentParser(prog="python -m games.skat.xskat", description=__doc__)
    parser.add_argument("--games", type=int, default=1000, help="deals to play")
    parser.add_argument("--seed", type=int, default=1, help="of XSkat's deals")
    asked = parser.parse_args(arguments)
    if asked.games < 1:
        parser.error(f"--games {asked.games}: at least 1 is needed")
    deals = agree = 0
    try:
        for text, value in self_play(asked.games, asked.seed):
            faults = differences(parse(text), value)
            deals += 1
            agree += not faults
            if faults:
                print(f"deal {deals}: {'; '.join(faults)}\n{text}")
    except (XSkatError, FormatError) as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{deals} deals, {agree} agree")
    return 0 if agree == deals else 1


if __name__ == "__main__":
    end_with_reader()
    sys.exit(main())
