"""A referee for The Crew in plain Python, written from the rules: it reads the histories of all four seats as names and
plays the mission over. It knows nothing of the code under test."""

from itertools import permutations

from tests.games.crew.facts import FACTS, Fact

ARROWS = (">", ">>", ">>>", ">>>>")
POSITIONS = ("self", "left", "across", "right")
FIRST_WINDOW = {"normal": 1, "dead zone": 1, "from trick 2": 2, "from trick 3": 3}
ROLES = {"sick": 1, "exactly one": 1, "only first and last": 1, "first four and last": 2}


class Referee:
    """Replays one mission; any breach of the rules is an ``AssertionError``."""

    def __init__(self, histories: list[list[str]], options: dict[str, str | bool]) -> None:
        self.histories, self.options, self.at = histories, options, 0
        self.own: list[int] = [0, 0, 0, 0]
        """Tokens that a seat alone has seen so far, besides those that all see."""
        self.radio = [True] * 4
        self.said: dict[int, str] = {}
        self.won: list[tuple[int, str, list[str]]] = []
        """Of every trick its winner, the winning card and all cards."""
        self.done: list[list[int]] = []
        """The tasks that every trick fulfilled."""
        self.named: list[int] = []

    def judge(self) -> tuple[int, str]:
        """``(mission, "success" or "failure")``."""
        self.mission, self.fact = self._header()
        self.hands = [set(self._private(seat, 10)) for seat in range(4)]
        assert len(set().union(*self.hands)) == 40
        self._check_sorted()
        self.commander = self._position()
        assert "R4" in self.hands[self.commander]
        if self._has("all pink") and not self._late_pink():
            self._find_pink()
        self._allocate()
        if self.options["distress"]:
            self._distress()
        if self._has("all pink") and self._late_pink():
            self._find_pink()
        leader, verdict = self.commander, ""
        while not verdict:
            self._window(leader)
            leader = self._trick(leader)
            verdict = self._verdict()
            if not verdict and self._has("random draw") and len(self.won) == 1:
                self._draw()
        assert self._all() == "eos"
        assert all(len(history) == self.at + own for history, own in zip(self.histories, self.own, strict=True))
        return self.mission, verdict

    # ---- reading

    def _has(self, special: str) -> bool:
        return special in self.fact.special

    def _all(self) -> str:
        """A token that all see alike."""
        tokens = {history[self.at + own] for history, own in zip(self.histories, self.own, strict=True)}
        assert len(tokens) == 1, f"seats see {tokens} at {self.at}"
        self.at += 1
        return tokens.pop()

    def _private(self, seat: int, number: int) -> list[str]:
        """Tokens that one seat sees."""
        place = self.at + self.own[seat]
        self.own[seat] += number
        return self.histories[seat][place : place + number]

    def _position(self) -> int:
        """A seat that all are told of, each by its own token."""
        told = {(seat + POSITIONS.index(self.histories[seat][self.at + self.own[seat]])) % 4 for seat in range(4)}
        assert len(told) == 1, f"seats are told of {told} at {self.at}"
        self.at += 1
        return told.pop()

    def _header(self) -> tuple[int, Fact]:
        found = [n for n, fact in FACTS.items() if self._begins(fact.header)]
        assert len(found) == 1, f"missions {found} begin like {self.histories[0][:6]}"
        for _ in FACTS[found[0]].header:
            self._all()
        return found[0], FACTS[found[0]]

    def _begins(self, header: list[str]) -> bool:
        after = self.histories[0][len(header)]
        return self.histories[0][: len(header)] == header and after[0] in "PBGYR" and len(after) == 2

    def _check_sorted(self) -> None:
        for seat in range(4):
            hand = self.histories[seat][len(self.fact.header) :][:10]
            assert hand == sorted(hand, key=lambda card: ("PBGYR".index(card[0]), card[1]))

    # ---- before the first trick

    def _late_pink(self) -> bool:
        return bool(self.options["distress"]) and self.options["pink_target"] == "after_distress"

    def _find_pink(self) -> None:
        holder = self._position()
        assert "P9" in self.hands[holder]
        self.named = [(holder + 1) % 4]

    def _allocate(self) -> None:
        self.cards: list[str] = []
        self.owners: list[int] = []
        self.tiles = [*self.fact.tiles, *["no tile"] * (self.fact.tasks - len(self.fact.tiles))]
        if self.fact.allocation == "draft":
            self._draft()
        elif self.fact.allocation == "commander_decision":
            owner = self._ask_and_name()
            self.cards = [self._all() for _ in range(self.fact.tasks)]
            self.owners = [owner] * self.fact.tasks
        elif self.fact.allocation == "commander_distribution":
            for _ in range(self.fact.tasks):
                self.cards.append(self._all())
                self._replies(range(1, 4))
                self.owners.append(self._position())
            held = [self.owners.count(seat) for seat in range(4)]
            assert max(held) - min(held) < 2
        for special, roles in ROLES.items():
            if self._has(special):
                self.named = self._roles() if roles == 2 else [self._ask_and_name()]
        assert len(set(self.cards)) == self.fact.tasks
        assert not any(card[0] == "R" for card in self.cards)

    def _draft(self) -> None:
        self.cards = [self._all() for _ in range(self.fact.tasks)]
        if self._has("swap tiles") or self._has("move a tile"):
            self._change_tiles()
        if self._has("muted") and self.options["muting"] == "before_draft":
            self._mute()
        owners = {}
        for n in range(self.fact.tasks):
            card = self._all()
            assert card in self.cards
            assert card not in owners
            owners[card] = (self.commander + n) % 4
        self.owners = [owners[card] for card in self.cards]
        if self._has("muted") and self.options["muting"] == "after_draft":
            self._mute()

    def _mute(self) -> None:
        muted = self._position()
        assert muted != self.commander or self.options["muted"] == "anybody"
        self.radio[muted] = False

    def _change_tiles(self) -> None:
        first = self._all()
        if first == "no tile":
            return
        a, b = self.cards.index(first), self.cards.index(self._all())
        assert a != b
        assert self.tiles[a] != "no tile"
        assert (self.tiles[b] != "no tile") == self._has("swap tiles")
        self.tiles[a], self.tiles[b] = self.tiles[b], self.tiles[a]

    def _replies(self, distances: range) -> list[str]:
        replies = [self._all() for _ in distances]
        assert set(replies) <= {"yes", "no"}
        return replies

    def _ask_and_name(self) -> int:
        self._replies(range(1, 4))
        named = self._position()
        assert named != self.commander
        return named

    def _roles(self) -> list[int]:
        """Mission 50: who has one role is not asked for the other."""
        roles: list[int] = []
        for _ in range(2):
            asked = [seat for seat in ((self.commander + d) % 4 for d in range(1, 4)) if seat not in roles]
            if self.options["roles"] == "volunteers":
                willing = next((seat for seat in asked if self._all() == "yes"), self.commander)
                roles.append(willing)
            else:
                self._replies(range(len(asked)))
                roles.append(self._position())
        assert roles[0] != roles[1]
        return roles

    def _distress(self) -> None:
        for _ in range(4):
            if self._all() == "no":
                return
        shift = {"left": 1, "right": 3}[self._all()]
        passed = [self._private(seat, 1)[0] for seat in range(4)]
        for seat, card in enumerate(passed):
            assert card[0] != "R"
            self.hands[seat].remove(card)
        for seat in range(4):
            received = self._private(seat, 1)[0]
            assert received == passed[(seat - shift) % 4]
            self.hands[seat].add(received)

    # ---- tricks

    def _window(self, leader: int) -> None:
        if len(self.won) + 1 < FIRST_WINDOW[self.fact.communication]:
            return
        for seat in ((leader + d) % 4 for d in range(4)):
            if not self.radio[seat]:
                continue
            card = self._all()
            if card == "silent":
                continue
            assert card in self.hands[seat]
            assert card[0] != "R"
            colour = sorted(other for other in self.hands[seat] if other[0] == card[0])
            true = {mark for mark, there in (("highest", card == colour[-1]), ("lowest", card == colour[0])) if there}
            assert true, f"{card} is neither highest nor lowest of {colour}"
            if len(colour) == 1:
                true = {"only", "highest", "lowest"} if self.options["singleton"] == "any" else {"only"}
            if self.fact.communication != "dead zone":
                assert self._all() in true
            self.radio[seat] = False
            self.said[seat] = card

    def _trick(self, leader: int) -> int:
        cards: list[str] = []
        for seat in ((leader + d) % 4 for d in range(4)):
            card = self._all()
            self.hands[seat].remove(card)
            follows = not cards or card[0] == cards[0][0]
            assert follows or not any(other[0] == cards[0][0] for other in self.hands[seat]), f"{card} does not follow"
            cards.append(card)
        rockets = [card for card in cards if card[0] == "R"]
        best = max(rockets or [card for card in cards if card[0] == cards[0][0]])
        winner = (leader + cards.index(best)) % 4
        self.won.append((winner, best, cards))
        return winner

    def _draw(self) -> None:
        told = [self._private(seat, 2) for seat in range(4)]
        for seat, (lost, gained) in enumerate(told):
            assert gained == told[(seat - 1) % 4][0]
            assert lost in self.hands[seat]
            assert lost != self.said.get(seat) or self.options["shown_card"] == "may_be_drawn"
        for seat, (lost, gained) in enumerate(told):
            self.hands[seat] = (self.hands[seat] - {lost}) | {gained}

    # ---- the end

    def _verdict(self) -> str:
        """``success`` or ``failure`` once the tricks so far decide the mission, else nothing."""
        winner, _, cards = self.won[-1]
        self.done.append([n for n, card in enumerate(self.cards) if card in cards])
        if any(self.owners[n] != winner for n in self.done[-1]) or not self._in_some_order() or self._refuses():
            return "failure"
        if any(self._hopeless(special) for special in self.fact.special):
            return "failure"
        open_tasks = self.fact.tasks - sum(map(len, self.done))
        if open_tasks == 0 and all(self._complete(special) for special in self.fact.special):
            return "success"
        return "failure" if len(self.won) == 10 else ""

    def _in_some_order(self) -> bool:
        """Whether the tasks of this trick can be put behind those before in an order that the tiles allow."""
        before = [n for trick in self.done[:-1] for n in trick]
        return any(self._allowed([self.tiles[n] for n in [*before, *last]]) for last in permutations(self.done[-1]))

    def _allowed(self, done: list[str]) -> bool:
        for place, tile in enumerate(done, 1):
            if tile.isdigit() and place != int(tile):
                return False
            if tile == "omega" and place != self.fact.tasks:
                return False
        late = [tile for tile in self.tiles if tile.isdigit() and tile not in done and int(tile) <= len(done)]
        arrows = [tile for tile in done if tile in ARROWS]
        return not late and arrows == list(ARROWS[: len(arrows)])

    def _refuses(self) -> bool:
        tiles = [self.tiles[n] for n in self.done[-1]]
        fixed = any(tile.isdigit() or tile == "omega" for tile in tiles)
        return self.options["same_trick"] == "refused" and fixed and "no tile" in tiles

    def _hopeless(self, special: str) -> bool:
        """Whether the tricks so far break a special rule."""
        winners, bests = [trick[0] for trick in self.won], [trick[1] for trick in self.won]
        played, number = [card for trick in self.won for card in trick[2]], len(self.won)
        counts = [winners.count(seat) for seat in range(4)]
        rockets_won = [card for card in bests if card[0] == "R"]
        ones = sum(card in ("P1", "B1", "G1", "Y1") for card in bests)
        ones_left = sum(card not in played for card in ("P1", "B1", "G1", "Y1"))
        named = self.named[0] if self.named else -1
        own = [n for n, winner in enumerate(winners, 1) if winner == named]
        by_rocket = any(bests[n - 1][0] == "R" for n in own)
        rockets_lost = sum(card[0] == "R" for card in played) > len(rockets_won)
        return {
            "sick": bool(own),
            "a 1 wins": ones + ones_left < 1,
            "two 1s win": ones + ones_left < 2,
            "rockets win": rockets_lost,
            "rockets in order": rockets_lost or rockets_won != ["R1", "R2", "R3", "R4"][: len(rockets_won)],
            "no 9 wins": any(card[1] == "9" for card in bests),
            "balanced": max(counts) - min(counts) > 1,
            "exactly one": len(own) > 1 or by_rocket,
            "commander first and last": any(winners[n - 1] != self.commander for n in (1, 10) if n <= number),
            "only first and last": by_rocket or own != [n for n in (1, 10) if n <= number],
            "all pink": any("P" in {card[0] for card in trick[2]} and trick[0] != named for trick in self.won),
            "omega at the end": number < 10 and "omega" in [self.tiles[n] for n in self.done[-1]],
            "first four and last": self._wrong_role(winners),
        }.get(special, False)

    def _wrong_role(self, winners: list[int]) -> bool:
        if not self._has("first four and last"):
            return False
        first, last = self.named
        others = {0, 1, 2, 3} - {first, last}
        return any(
            winner not in ({first} if n <= 4 else others if n <= 9 else {last}) for n, winner in enumerate(winners, 1)
        )

    def _complete(self, special: str) -> bool:
        """Whether nothing of a special rule that is not broken is left to be done."""
        bests = [trick[1] for trick in self.won]
        played = {card for trick in self.won for card in trick[2]}
        ones = sum(card in ("P1", "B1", "G1", "Y1") for card in bests)
        over = len(self.won) == 10
        stops = self.options["nines"] == "stop" and self.fact.tasks > 0
        named_won = [trick for trick in self.won if self.named and trick[0] == self.named[0]]
        return {
            "sick": over,
            "a 1 wins": ones > 0,
            "two 1s win": ones > 1,
            "rockets win": {"R1", "R2", "R3", "R4"} <= played,
            "rockets in order": {"R1", "R2", "R3", "R4"} <= played,
            "no 9 wins": stops or {"P9", "B9", "G9", "Y9"} <= played,
            "balanced": over,
            "exactly one": over and len(named_won) == 1,
            "commander first and last": over,
            "only first and last": over,
            "all pink": {f"P{value}" for value in range(1, 10)} <= played,
            "first four and last": over,
        }.get(special, True)
