"""Kernels that follow histories and write the decisions that they show."""

import numpy as np

from games.bits import mark
from games.compiling import kernel
from games.skat.cards import FIRST_GAME, FIRST_MODIFIER, GRAND, HAND, NULL, OUVERT, PASS, PICKUP
from games.skat.policies.features import write_before_play, write_card_play
from games.skat.policies.log import LOG, follow
from games.skat.policies.points import CARD, CHOICE, DECLARE, DISCARD, NULL_OUVERT
from games.skat.view import CALLED, CHOSEN, LAID, PLAYED, stage_of


@kernel
def pair_of(low, high):
    """Number of a pair of cards."""
    return high * (high - 1) // 2 + low


@kernel
def card_point(game, soloist):
    """Index of the point of a card."""
    kind = 0 if game < GRAND else 1 if game == GRAND else 2
    return CARD + 2 * kind + (0 if soloist else 1)


@kernel
def follow_all(tokens, lengths, views, logs):
    """Take in whole histories."""
    for i in range(len(tokens)):
        for place in range(lengths[i]):
            follow(views[i], logs[i], tokens[i, place])


@kernel
def write_all(views, logs, ouvert, bits, numbers):
    """The features of every view."""
    for i in range(len(views)):
        if stage_of(views[i]) == PLAYED:
            write_card_play(views[i], logs[i], bits[i], numbers[i])
        else:
            write_before_play(views[i], logs[i], ouvert[i], bits[i])


@kernel
def collect(tokens, lengths, fresh, survivors, point, bits, numbers, label, row, censored):
    """Write the decisions of all histories, and with ``survivors`` what survivors of duels show; returns how many."""
    number, view, log = 0, fresh.copy(), np.zeros(1, LOG)
    empty = np.zeros(1, LOG)
    for i in range(len(tokens)):
        view[0], log[0] = fresh[0], empty[0]
        for place in range(lengths[i]):
            left = tokens[i, place : lengths[i]]
            before = number
            if survivors and _survives(view[0], log[0], left[0]):
                number = _write_limit(view[0], log[0], number, point, bits, label)
                censored[before] = True
            else:
                number = _decide(view[0], log[0], left, number, point, bits, numbers, label)
            row[before:number] = i
            follow(view[0], log[0], tokens[i, place])
    return number


@kernel
def _decide(view, log, left, number, point, bits, numbers, label):
    """Write the decisions that the next of the tokens ``left`` shows; returns how many there are then."""
    stage, public, token = stage_of(view), view["public"], left[0]
    if public["turn"] != view["seat"] or stage < LAID:
        return number
    if stage == CALLED and token == PASS and public["duel"] < 2:
        return _write_limit(view, log, number, point, bits, label)
    if stage == CHOSEN and (token == PICKUP or (token == HAND and len(left) > 2)):
        point[number], label[number] = CHOICE, _choice(left)
        write_before_play(view, log, 0, bits[number])
        return number + 1
    if stage == LAID and view["due"] == 2 and len(left) > 2:
        return _decide_game(view, log, left, number, point, bits, label)
    if stage == PLAYED:
        point[number] = card_point(public["game"], public["soloist"] == view["seat"])
        label[number] = token
        write_card_play(view, log, bits[number], numbers[number])
        return number + 1
    return number


@kernel
def _survives(view, log, token):
    """Whether ``token`` is the pass of the observer's opponent in a duel in which the observer has bid or held. It has
    where the duel's bidder has bid: the listener held the last bid, or else it is the one that passes now."""
    public, seat = view["public"], view["seat"]
    if stage_of(view) != CALLED or token != PASS or public["duel"] > 1 or public["turn"] == seat:
        return False
    bidder = public["duel"] + 1
    return (seat == bidder or seat == public["listener"]) and log["reached"][bidder] > 0


@kernel
def _write_limit(view, log, number, point, bits, label):
    """Write what the observer has reached in the auction, as a decision of the duel under way; returns how many
    decisions there are then."""
    point[number], label[number] = view["public"]["duel"], log["reached"][view["seat"]]
    write_before_play(view, log, 0, bits[number])
    return number + 1


@kernel
def _choice(left):
    """Label of ``pickup``, or of ``hand`` with the game and modifier that follow."""
    if left[0] == PICKUP:
        return 0
    game, shown = left[1] - FIRST_GAME, left[2] - FIRST_MODIFIER == OUVERT
    if game == NULL:
        return 12 if shown else 11
    return 1 + game + (5 if shown else 0)


@kernel
def _decide_game(view, log, left, number, point, bits, label):
    """Declaration and discards, from the discards on; none where a null game breaks off before its modifier."""
    game = left[2] - FIRST_GAME
    if game == NULL and len(left) < 4:
        return number
    shown = game == NULL and left[3] - FIRST_MODIFIER == OUVERT
    point[number], label[number] = DECLARE, NULL_OUVERT if shown else game
    write_before_play(view, log, 0, bits[number])
    point[number + 1], label[number + 1] = DISCARD + game, pair_of(left[0], left[1])
    write_before_play(view, log, shown, bits[number + 1])
    return number + 2


@kernel
def mark_all(sets, rows):
    """Mark every set of cards in its row."""
    for i in range(len(sets)):
        mark(sets[i], rows[i])
