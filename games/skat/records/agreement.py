"""Whether our rules agree with what a server recorded of a deal."""

from collections.abc import Iterator

import numpy as np

from cluster.foreign import shown
from games.skat.cards import NULL, NUM_PLAYS, SEATS, VOCABULARY
from games.skat.records import server
from games.skat.records.iss import Record
from games.skat.replay import concede, new_state, replay
from games.skat.state import result_of


def differences(record: Record, state: np.void | None = None) -> list[str]:
    """What a record and the replay of its deal disagree in; empty if nothing. ``state``: a new one to replay it in."""
    state = new_state() if state is None else state
    refused = replay(state, record.hands, np.array(record.seats, np.int64), np.array(record.tokens, np.int64))
    if refused >= 0:
        return [_refusal(record, state, refused)]
    if record.unreadable:
        return [record.unreadable]
    if record.undecided:
        return ["the record breaks off between declaration and discards: there is no game to judge"]
    public = state["public"]
    over, passed_in = public["turn"] < 0, public["turn"] < 0 and public["soloist"] < 0
    if passed_in or record.result["end"] in ("passed", "penalty"):
        replayed = {"passed": passed_in, "penalty": not over and public["game"] < 0}
        agrees = replayed.get(record.result["end"], False)
        return [] if agrees else [f"end: the record says {shown(record.result['end'])}, the replay another"]
    if public["game"] < 0:
        return ["the record breaks off before the declaration, yet says how the game ended"]
    return list(_judged(record, state, over))


def _refusal(record: Record, state: np.void, index: int) -> str:
    seat, token, turn = record.seats[index], record.tokens[index], int(state["public"]["turn"])
    what = f"action {index + 1}: {VOCABULARY.name(token)} by {SEATS[seat]}"
    if turn < 0:
        return f"{what}, when the deal is over"
    return f"{what}, when it is the turn of {SEATS[turn]}" if turn != seat else f"{what} is not legal"


def _judged(record: Record, state: np.void, over: bool) -> Iterator[str]:
    """Differences from the record's result, where the replay knows it. How servers of all years counted the cards left
    to a soloist that gave up is unknown, so there nothing but the winner is compared."""
    public, given = state["public"], record.result
    soloist, game, played = int(public["soloist"]), int(public["game"]), int(public["num_played"])
    given_up = not over and (record.gone == soloist or soloist in record.resigned)
    defenders_out = len(record.resigned - {soloist}) == 2 or record.gone not in (-1, soloist)
    stopped = not over and not given_up and not defenders_out and server.is_stopped(state)
    if not over and not given_up and not defenders_out and not stopped:
        yield f"the record breaks off after {played} cards, and no player has given up"
        return
    if not over and not given_up and not stopped and game != NULL:
        concede(state)
    won, value, overbid, matadors, points = server.judged(state) if given_up or stopped else result_of(state)
    yield from _compare(given, "declarer", "d", soloist)
    yield from _compare(given, "matadors", "m", matadors)
    yield from _compare(given, "end", "end", "win" if won else "loss")
    if given_up:
        return
    faults = [*_counted(given, won, value, overbid)]
    if won or not faults or any(_counted(given, *server.judged(state)[:3])):
        yield from faults
    yield from _compare(given, "card points", "p", points)
    tricks = int(public["tricks"][soloist])
    yield from _compare(given, "tricks", "t", tricks)
    cut_short = stopped or (over and played < NUM_PLAYS)  # by its announcement: reached neither
    if game != NULL and not cut_short:
        yield from _compare(given, "schneider", "s", int(points <= 30 or points >= 90))
        yield from _compare(given, "schwarz", "z", int(tricks in (0, 10)))


def _counted(given: dict[str, str], won: bool, value: int, overbid: bool) -> Iterator[str]:
    yield from _compare(given, "value", "v", value if won else -2 * value)
    yield from _compare(given, "overbid", "bid", "overbid" if overbid else "bidok")


def _compare(given: dict[str, str], what: str, name: str, replayed: int | str) -> Iterator[str]:
    if given.get(name) != str(replayed):
        yield f"{what}: the record says {shown(given.get(name, 'nothing'))}, the replay {replayed}"
