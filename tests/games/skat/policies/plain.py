"""Paper 004's features and labels once more: plain Python over the course of a deal, card names and all.

It shares nothing with ``games.skat.policies`` but the names of tokens. A deal is the cards dealt, the talon and the
actions ``(seat, name)`` in order, as a record has them.
"""

from collections.abc import Iterator

SUITS, RANKS = "DHSC", "789QKTAJ"
CARDS = [suit + rank for suit in SUITS for rank in RANKS]
POINTS = {"A": 11, "T": 10, "K": 4, "Q": 3, "J": 2, "9": 0, "8": 0, "7": 0}
BASES = {"diamonds": 9, "hearts": 10, "spades": 11, "clubs": 12, "grand": 24}
GAMES = [*BASES, "null"]
NULLS = (23, 35, 46, 59)
BIDS = sorted({base * n for game, base in BASES.items() for n in range(2, 19 if game != "grand" else 12)} | {*NULLS})


def is_trump(card: str, game: str) -> bool:
    return game != "null" and (card[1] == "J" or (game in BASES and game != "grand" and card[0] == game[0].upper()))


def suit_of(card: str, game: str) -> str:
    return "trump" if is_trump(card, game) else card[0]


def beats(card: str, other: str, game: str) -> bool:
    """Whether ``card``, played later, takes the trick from ``other``."""
    if suit_of(card, game) != suit_of(other, game):
        return is_trump(card, game)
    order = "789TJQKA" if game == "null" else RANKS
    if is_trump(card, game) and "J" in (card[1], other[1]):
        return (card[1] == "J", SUITS.index(card[0])) > (other[1] == "J", SUITS.index(other[0]))
    return order.index(card[1]) > order.index(other[1])


def one_hot(names: list, chosen: object) -> list[int]:
    return [int(name == chosen) for name in names]


def marked(cards: set[str]) -> list[int]:
    return [int(card in cards) for card in CARDS]


class Deal:
    """Follows one deal; ``decisions`` are those of a seat: (point, features, numbers, label)."""

    def __init__(self, hands: list[set[str]], talon: set[str], actions: list[tuple[int, str]]) -> None:
        self.hands, self.talon, self.actions = [set(hand) for hand in hands], set(talon), actions
        self.dealt = [set(hand) for hand in hands]
        self.soloist, self.game, self.modifier, self.by_hand = -1, "", "plain", False
        self.laid: set[str] = set()
        self.reached = [0, 0, 0]
        self.bid = 0
        self.first_limit: int | None = None
        self.played: list[list[str]] = [[], [], []]
        self.led: list[set[str]] = [set(), set(), set()]
        self.sloughed: list[set[str]] = [set(), set(), set()]
        self.voids: list[set[str]] = [set(), set(), set()]
        self.trick: list[tuple[int, str]] = []
        self.points = [0, 0]

    def decisions(self) -> Iterator[tuple[int, str, list[int], list[int], int]]:
        """(seat, point, features, numbers, label) of every decision."""
        passes = 0
        for index, (seat, name) in enumerate(self.actions):
            rest = [other for _, other in self.actions[index:]]
            if name in ("pass", "hold") or name.isdigit():
                if name == "pass":
                    passes += 1
                    if passes < 3:
                        yield seat, ("bid", "continue")[passes - 1], self.before(seat), [], self.reached[seat]
                    if passes == 1:
                        self.first_limit = self.reached[seat]
                elif name == "hold":
                    self.reached[seat] = self.bid
                else:
                    self.bid = self.reached[seat] = BIDS.index(int(name)) + 1
            elif name in ("pickup", "hand"):
                self.soloist, self.by_hand = seat, name == "hand"
                yield seat, "choice", self.before(seat), [], self.choice(rest)
                if not self.by_hand:
                    self.hands[seat] |= self.talon
            elif self.soloist >= 0 and not self.game and name in CARDS:
                if not self.laid:
                    ouvert = rest[2] == "null" and rest[3] == "ouvert"
                    yield seat, "declare", self.before(seat), [], 6 if ouvert else GAMES.index(rest[2])
                    low, high = sorted(CARDS.index(card) for card in rest[:2])
                    pairs = [(a, b) for b in range(32) for a in range(b)]
                    label = pairs.index((low, high))
                    yield seat, f"discard_{rest[2]}", self.before(seat, ouvert), [], label
                self.laid.add(name)
                self.hands[seat].remove(name)
            elif name in GAMES:
                self.game = name
            elif name in ("plain", "schneider", "schwarz", "ouvert"):
                self.modifier = name
            else:
                kind = self.game if self.game in ("grand", "null") else "suit"
                role = "soloist" if seat == self.soloist else "defender"
                yield seat, f"card_{kind}_{role}", self.card_play(seat), self.numbers(seat), CARDS.index(name)
                self.play(seat, name)

    def survivors(self) -> Iterator[tuple[int, str, list[int], int]]:
        """(seat, point, features, least limit) of who won a duel in which it made a call. Middlehand bids to forehand;
        rearhand bids to who is left of these; a duel is over when one of the two passes."""
        two, last_call, first_limit = {0, 1}, dict[int, int](), None
        value = ""
        for seat, name in self.actions:
            if name == "pass" and len(two) == 2:
                (other,) = two - {seat}
                if other in last_call:
                    point = "bid" if first_limit is None else "continue"
                    position, limit = one_hot([0, 1, 2], other), one_hot(list(range(64)), first_limit)
                    yield other, point, marked(self.dealt[other]) + position + limit, last_call[other]
                two = {other, 2} if first_limit is None else set()
                first_limit, last_call = last_call.get(seat, 0), {}
            elif name.isdigit() or name == "hold":
                value = name if name != "hold" else value
                last_call[seat] = BIDS.index(int(value)) + 1

    def choice(self, rest: list[str]) -> int:
        if rest[0] == "pickup":
            return 0
        if rest[1] == "null":
            return 12 if rest[2] == "ouvert" else 11
        return 1 + GAMES.index(rest[1]) + (5 if rest[2] == "ouvert" else 0)

    def before(self, seat: int, ouvert: bool = False) -> list[int]:
        limits = list(range(64))
        return [
            *marked(self.hands[seat] | (self.laid if seat == self.soloist else set())),
            *one_hot([0, 1, 2], seat),
            *one_hot(limits, self.first_limit),
            *one_hot(limits, self.bid if self.soloist >= 0 else None),
            int(ouvert),
        ]

    def card_play(self, seat: int) -> list[int]:
        others, game = [(seat + 1) % 3, (seat + 2) % 3], self.game
        suits = [*SUITS, "trump"]
        row = marked(self.hands[seat])
        for who in (seat, *others):
            row += marked(set(self.played[who]))
        for each in (self.led, self.sloughed):
            for who in others:
                row += marked(each[who])
        for who in others:
            row += [int(suit in self.voids[who]) for suit in suits]
        row += marked({card for _, card in self.trick})
        for who in others:
            bid = BIDS[self.reached[who] - 1] if self.reached[who] else 0
            row += [int(bid > 0 and bid % base == 0) for base in BASES.values()] + [int(bid in NULLS)]
        announced = ("plain", "schneider", "schwarz", "ouvert").index(self.modifier)
        in_trumps = self.by_hand and game != "null"
        row += [
            int(self.by_hand),
            int(announced == 3),
            int(in_trumps and announced >= 1),
            int(in_trumps and announced >= 2),
        ]
        if seat == self.soloist:
            row += [*marked(self.laid), int(self.needs_schneider())]
        else:
            best = self.winner() if self.trick else self.soloist
            shown = self.hands[self.soloist] if announced == 3 else set()
            row += [int(best != self.soloist), *one_hot([1, 2], (self.soloist - seat) % 3), *marked(shown)]
        if game != "null":
            gone = {card for cards in self.played for card in cards} | self.hands[seat]
            gone |= self.laid if seat == self.soloist else set()
            row += marked({card for card in CARDS if is_trump(card, game)} - gone)
        if game in GAMES[:4]:
            row += one_hot(GAMES[:4], game)
        return row

    def numbers(self, seat: int) -> list[int]:
        trick = sum(POINTS[card[1]] for _, card in self.trick)
        return [sum(POINTS[card[1]] for card in self.hands[seat]), trick, *self.points]

    def needs_schneider(self) -> bool:
        if self.game == "null" or self.modifier != "plain":
            return False
        known = self.dealt[self.soloist] | (set() if self.by_hand else self.talon)
        trumps = [suit + "J" for suit in "CSHD"]
        if self.game != "grand":
            trumps += [self.game[0].upper() + rank for rank in "ATKQ987"]
        run = 0
        while run < len(trumps) and (trumps[run] in known) == (trumps[0] in known):
            run += 1
        level, bid = 1 + run + self.by_hand, BIDS[self.bid - 1]
        return BASES[self.game] * level < bid <= BASES[self.game] * (level + 1)

    def winner(self) -> int:
        best = self.trick[0]
        for seat, card in self.trick[1:]:
            if beats(card, best[1], self.game):
                best = seat, card
        return best[0]

    def play(self, seat: int, card: str) -> None:
        if not self.trick:
            self.led[seat].add(card)
        else:
            led = suit_of(self.trick[0][1], self.game)
            if suit_of(card, self.game) != led:
                self.voids[seat].add(led)
                if not is_trump(card, self.game):
                    self.sloughed[seat].add(card)
        self.hands[seat].remove(card)
        self.played[seat].append(card)
        self.trick.append((seat, card))
        if len(self.trick) == 3:
            side = 0 if self.winner() == self.soloist else 1
            self.points[side] += sum(POINTS[played[1]] for _, played in self.trick)
            self.trick = []
