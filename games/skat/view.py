"""What one seat knows, rebuilt from its history alone, token by token.

Seats are forehand, middlehand and rearhand, as in the true state: the first token is the observer's own. Whether a
history could have happened is judged exactly at every point: each observed play restricts what the rest of that seat's
hand may be, and the cards never seen must fit into the hidden hands and the talon (Hall's condition).
"""

import numpy as np

from games.batches import advancing
from games.bits import BIT, is_legal
from games.compiling import kernel
from games.game import ACTION, END, OBSERVATION
from games.hands import comes_next, record, rule_out
from games.skat.cards import ALL_CARDS, FIRST_SEAT, HAND_SIZE, NUM_CARDS, NUM_PLAYS, OUVERT, ROW, SUIT_CARDS, SUIT_OF
from games.skat.legal import legal_discards, legal_plays, legal_tokens
from games.skat.rules import (
    AUCTION,
    CHOICE,
    DECLARATION,
    DISCARD,
    OVER,
    PLAY,
    PUBLIC,
    begin,
    call,
    choose,
    declare,
    is_revealed,
    modify,
    play_card,
)

VIEW = record(
    ("public", PUBLIC),
    "seat",  # the observer's own
    "hand",  # cards the observer holds
    "dealt",  # cards it was dealt, as far as seen
    "talon",  # cards it has picked up
    "laid",  # cards it has discarded
    "open",  # cards that the soloist has shown before the first trick
    "turned",  # the soloist's cards turned over at the end
    ("possible", np.int64, 3),  # cards each other seat may hold, meaningful once the own are dealt
    "due",  # cards of a group that are still to come: talon and discards, shown or turned over
    "length",  # tokens taken in
    "ended",  # 1 after a token of a wrong kind, or a call or declaration that is not legal
    "refuted",  # 1 once a card was seen that could not have come
    ("tokens", np.uint8, ROW),  # the tokens taken in, eos behind them
)

OWN_PLACE, DEALT, TALON, LAID, SHOWN, TURNED, CALLED, CHOSEN, DECLARED, MODIFIED, PLAYED, ENDED = range(12)
"""What the next token of a history is: groups of cards, then what a seat does, then nothing."""


@kernel
def stage_of(view):
    """What the next token is, one of ``OWN_PLACE`` ... ``ENDED``. It follows from trick and strength alone, so this
    holds for impossible histories too; one that leaves the observer no card to play ends."""
    phase, due = view["public"]["phase"], view["due"]
    if view["ended"] != 0:
        return ENDED
    if view["length"] <= HAND_SIZE:
        return OWN_PLACE if view["length"] == 0 else DEALT
    if phase == DISCARD:
        stage = TALON if due > 2 else LAID
    elif phase == PLAY:
        stage = SHOWN if due > 0 else PLAYED
    elif phase == OVER:
        stage = TURNED if due > 0 else ENDED
    elif phase == AUCTION:
        stage = CALLED
    elif phase == CHOICE:
        stage = CHOSEN
    else:
        stage = DECLARED if phase == DECLARATION else MODIFIED
    own_card = stage == LAID or (stage == PLAYED and view["public"]["turn"] == view["seat"])
    return ENDED if own_card and view["hand"] == 0 else stage


@kernel
def next_of(view):
    """A ``Next``: what the next token of the history is."""
    stage = stage_of(view)
    if stage == ENDED:
        return END
    if stage == LAID or (stage >= CALLED and view["public"]["turn"] == view["seat"]):
        return ACTION
    return OBSERVATION


@kernel
def own_legal(view):
    """What ``legal_tokens`` returns for the observer, whose turn it must be. In an impossible history whose hand the
    rules leave no card, every card of it."""
    first, tokens, low, high = legal_tokens(view["public"], view["hand"], view["laid"])
    return first, view["hand"] if tokens == 0 else tokens, low, high


@kernel
def is_of_kind(view, token):
    """Whether a token is a card where one is due, or a call or declaration that the rules allow: what follows any other
    is undefined."""
    stage = stage_of(view)
    if stage >= CALLED and stage <= MODIFIED:
        return is_legal(legal_tokens(view["public"], np.int64(0), np.int64(0)), token)
    if stage == OWN_PLACE:
        return token >= FIRST_SEAT and token < FIRST_SEAT + 3
    return token < NUM_CARDS


@kernel
def _see(view, token):
    """Take in a token; returns whether it could have come."""
    stage = stage_of(view)
    if stage >= CALLED and stage <= MODIFIED:
        _see_announcement(view, stage, token)
    elif stage == OWN_PLACE:
        view["seat"] = token - FIRST_SEAT
    else:
        return _see_card(view, stage, token)
    return True


@kernel
def _see_announcement(view, stage, token):
    """Take in a legal call, choice or declaration: always possible, and no hand follows from it."""
    public = view["public"]
    if stage == CALLED:
        call(public, token)
    elif stage == CHOSEN:
        choose(public, token)
        if public["picked_up"] != 0:
            if view["seat"] == public["soloist"]:
                view["due"] = 4
            else:  # only the soloist sees its discards
                public["phase"] = DECLARATION
    elif stage == DECLARED:
        declare(public, token)
    else:
        modify(public, token)
        if public["modifier"] == OUVERT and view["seat"] != public["soloist"]:
            view["due"] = HAND_SIZE


# Each of these takes in a card, and returns whether it could have come.


@kernel
def _see_card(view, stage, card):
    if stage == DEALT:
        return _see_dealt(view, card)
    if stage == PLAYED:
        return _see_play(view, card)
    view["due"] -= 1
    if stage == TALON:
        return _see_talon(view, card)
    if stage == LAID:
        return _see_laid(view, card)
    if stage == SHOWN:
        return _see_shown(view, card)
    possible = unseen(view) & ~view["open"] & ~view["turned"] & BIT[card] != 0 and view["turned"] >> card == 0
    view["turned"] |= BIT[card]
    return possible


@kernel
def _see_dealt(view, card):
    dealt = view["dealt"]
    possible = comes_next(card, dealt, ALL_CARDS & ~dealt, HAND_SIZE - view["length"])
    view["dealt"] = dealt | BIT[card]
    view["hand"] = view["dealt"]
    if view["length"] == HAND_SIZE:
        view["possible"][:] = ALL_CARDS & ~view["dealt"]
        begin(view["public"])
    return possible


@kernel
def _see_talon(view, card):
    talon = view["talon"]
    possible = comes_next(card, talon, ALL_CARDS & ~view["dealt"] & ~talon, view["due"] - 2)
    view["talon"] = talon | BIT[card]
    view["hand"] |= BIT[card]
    rule_out(view, BIT[card])
    return possible


@kernel
def _see_laid(view, card):
    possible = legal_discards(view["hand"], view["laid"]) & BIT[card] != 0
    view["hand"] &= ~BIT[card]
    view["laid"] |= BIT[card]
    if view["due"] == 0:
        view["public"]["phase"] = DECLARATION
    return possible


@kernel
def _see_shown(view, card):
    shown, soloist = view["open"], view["public"]["soloist"]
    possible = comes_next(card, shown, ALL_CARDS & ~view["dealt"] & ~shown, view["due"])
    view["open"] = shown | BIT[card]
    if view["due"] == 0:
        rule_out(view, view["open"])
        view["possible"][soloist] = view["open"]
    return possible


@kernel
def _see_play(view, card):
    """Cards that were played are possible nowhere any more; who does not follow has none of the suit led."""
    public, bit = view["public"], BIT[card]
    turn, game = public["turn"], public["game"]
    if turn == view["seat"]:
        possible = legal_plays(public, view["hand"]) & bit != 0
        view["hand"] &= ~bit
    else:
        possible = view["possible"][turn] & bit != 0
        if public["trick"] != 0 and SUIT_OF[game, card] != public["led"]:
            view["possible"][turn] &= ~SUIT_CARDS[game, public["led"]]
        rule_out(view, bit)
    play_card(public, card)
    if is_revealed(public):
        known = view["seat"] == public["soloist"] or public["modifier"] == OUVERT
        view["due"] = 2 if known else 2 + HAND_SIZE - public["tricks"].sum()
    return possible


advance = advancing(next_of, is_of_kind, _see)
"""``(view, token)``: take in one token."""


@kernel
def played(view):
    """``int64`` set of all cards played."""
    shown = view["public"]["shown"]
    return shown[0] | shown[1] | shown[2]


@kernel
def unseen(view):
    """``int64`` set of the cards that lie in the hands of the others, or aside where the observer did not lay them."""
    return ALL_CARDS & ~(view["hand"] | view["laid"] | played(view))


@kernel
def twelve_seen(view):
    """``int64`` set: the soloist's hand and the talon as dealt, at the end of a history. Null needs none."""
    public = view["public"]
    soloist = public["soloist"]
    if public["num_played"] == NUM_PLAYS:
        return ALL_CARDS & ~(public["shown"][(soloist + 1) % 3] | public["shown"][(soloist + 2) % 3])
    known = public["shown"][soloist] | view["turned"] | view["open"]
    return known | view["hand"] if view["seat"] == soloist else known
