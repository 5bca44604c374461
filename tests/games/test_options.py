"""What a game does not know is refused with what there is, in one line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from games.crew.game import CrewGame
from games.crew.missions import missions_text, parse_missions
from games.hearts.rules import OPTIONS
from games.registry import make_game

BUCKETS = {"outcomes": "buckets", "num_buckets": 100}


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("whist", {}, "no game 'whist'; there are hearts"),
        ("openspiel", {}, "no game 'openspiel'; there are hearts, skat, crew, samegame, openspiel:<game>"),
        ("hearts", {"jack": True}, "no option 'jack'; its options are pass_cards"),
        ("hearts", {"moon": "none"}, "moon='none': choose one of others_plus_26, shooter_minus_26"),
        ("hearts", {"jd_bonus": "yes"}, "jd_bonus='yes': choose one of true, false"),
        ("skat", {"ramsch": "yes"}, "skat has no option 'ramsch'; its options are scoring"),
        ("skat", {"scoring": "none"}, "choose one of seeger_fabian, classic"),
        ("crew", {"tasks": 3}, "its options are missions, distress, nines"),
        ("crew", {"nines": "never"}, "nines='never': choose one of play_on, stop"),
        ("crew", {"distress": "yes"}, "distress='yes': choose one of true, false"),
        *(
            ("crew", {"missions": text}, "missions=")
            for text in ("", "0", "51", "7-3", "a", "1-", "1,,2", "1-2-3", "-1")
        ),
        ("samegame", {"rows": 1}, "rows=1: must be a whole number from 2 to 30"),
        ("samegame", {"rows": "abc"}, "rows=abc: must be a whole number from 2 to 30"),
        ("samegame", {"rows": None}, "rows=None: must be a whole number from 2 to 30"),
        ("samegame", {"columns": 100}, "columns=100: must be a whole number from 2 to 30"),
        ("samegame", {"colours": 10}, "colours=10: must be a whole number from 2 to 9"),
        ("samegame", {"colors": 4}, "samegame has no option 'colors'; its options are rows, columns, colours"),
        ("samegame", {"boards": "even"}, "boards=even: no such file; give random, balanced, dominant, standard_20"),
        ("samegame", {"boards": "standard_20"}, "line 4: has 15 tiles; columns=10"),
        ("samegame", {"boards": "balanced", "colours": 3}, "100 cells do not divide into 3 colours"),
        (
            "samegame",
            {"boards": "dominant", "dominant_tiles": 101},
            "dominant_tiles=101: must be a whole number from 1",
        ),
        ("samegame", {"penalty": "none"}, "penalty='none': choose one of stated, excess"),
        ("openspiel:", {}, "OpenSpiel has no game ''"),
        ("openspiel:no_such_game", {}, "no game 'no_such_game'"),
        ("openspiel:goofspiel", {}, "not sequential"),
        ("openspiel:leduc_poker", {"colour": "red"}, "does not load"),
        ("openspiel:hearts", {}, "too many to list its outcomes"),
        ("openspiel:liars_dice", {}, "too many to list its outcomes"),
        ("openspiel:hearts", BUCKETS, "fewer num_buckets"),
        ("openspiel:hearts", {"outcomes": "some"}, "outcomes='some'"),
        ("openspiel:breakthrough", {}, "no information_state_string"),
    ],
)
def test_what_a_game_does_not_know_is_refused_with_what_there_is(name: str, options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message) as refused:
        make_game(name, options)
    assert "\n" not in str(refused.value)


def test_a_game_tells_all_options_in_force() -> None:
    assert make_game("hearts", {"jd_bonus": True}).options["jd_bonus"] is True
    assert make_game("hearts").options == {**OPTIONS, "moon": "others_plus_26", "free_first_lead": False}
    buckets = {"outcomes": "buckets", "num_buckets": 5}
    game = make_game("openspiel:hearts(jd_bonus=True)", {"pass_cards": False, **buckets})
    again = make_game(game.name, game.options)
    assert (game.name, game.options["jd_bonus"], game.options["pass_cards"]) == ("openspiel:hearts", True, False)
    assert again.options == game.options and again.vocabulary.fingerprint == game.vocabulary.fingerprint


@given(st.sets(st.integers(1, 50), min_size=1))
def test_missions_are_named_in_one_way(numbers) -> None:
    assert parse_missions(missions_text(numbers)) == tuple(sorted(numbers))
    assert parse_missions(",".join(map(str, numbers))) == tuple(sorted(numbers))


def test_the_texts_of_the_documentation_name_missions() -> None:
    for text, missions in (("1-50", range(1, 51)), ("4", [4]), ("1-3, 7", [1, 2, 3, 7])):
        assert parse_missions(text) == tuple(missions)
    assert CrewGame(missions=4).options == CrewGame(missions="4").options
    assert CrewGame(missions="2,1,3").options["missions"] == "1-3"
