"""Value of keeping a card, as a difference in the chance of success; below 0 for a card better played."""

from games.bits import count
from games.compiling import kernel
from games.crew.cards import BIT, COLOUR_CARDS, ROCKET, ROCKET_4
from games.crew.missions import COMMANDER_ENDS
from search.scripted.crew.rules.specials import worth_for_special


@kernel
def worth_keeping(view, notes, card):
    """Gain in the chance of success by keeping a card of the hand, except by means to win own tasks."""
    public, hand = view["public"], view["hand"]
    colour = card // 9
    special = public["special"]
    own, others = notes["owned"][0], notes["open"] & ~notes["owned"][0]
    if colour == ROCKET:
        if card == ROCKET_4 and (special & COMMANDER_ENDS != 0 or public["last"] == 0):
            return 0.5
        shed = own == 0 and others != 0
        return (-0.02 if shed else 0.013) + 0.003 * (card - 36)
    in_colour = COLOUR_CARDS[colour]
    unseen = notes["unseen"] & in_colour
    share = count(unseen & (BIT[card] - 1)) / count(unseen) if unseen != 0 else 0.5
    worth = 0.0
    if others & in_colour & ~BIT[card] != 0:
        lower = count(hand & in_colour & (BIT[card] - 1))
        worth -= 0.035 * share / (1.0 + lower)
        worth += 0.07 * (1.0 - share)
    guarded = hand & notes["open"] & in_colour & ~BIT[card]
    if guarded != 0:
        worth += 0.05 / count(hand & in_colour & ~guarded)
    worth += 0.03 * share if own & ~in_colour != 0 else -0.007 * share
    worth -= 0.007 / count(hand & in_colour)
    if special != 0:
        worth += worth_for_special(public, notes, special, hand, card, share)
    return worth
