"""Names of players: kinds, settings and checkpoints of their own."""

import pytest

from games.hearts.game import HeartsGame
from search.go_mcts.config import GoMctsConfig
from search.roster.registry import resolve
from search.roster.spec import labels, parse


def test_a_name_is_taken_apart():
    entrant = parse("go_mcts:lanes=16:mask_impossible=true:policy_weight=0.1@s3://bucket/a@b:c")
    assert (entrant.kind, entrant.checkpoint) == ("go_mcts", "s3://bucket/a@b:c")
    config = entrant.configured(GoMctsConfig(num_runs=7))
    assert config == GoMctsConfig(num_runs=7, lanes=16, mask_impossible=True, policy_weight=0.1)
    assert parse("random").configured(GoMctsConfig()) == GoMctsConfig()
    assert parse("kind:a=b/c:x=1@kibitz:y").settings == (("a", "b/c"), ("x", "1"))


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("go_mcts:lanes", "'lanes' is no setting; write go_mcts:KEY=VALUE"),
        ("go_mcts:lanes=", "'lanes=' is no setting"),
        ("go_mcts:depth=3", "go_mcts has no 'depth'; there are num_runs, num_steps"),
        ("go_mcts:lanes=two", "lanes is 'two'; it must be of type int"),
        ("go_mcts:mask_impossible=1", "it must be true or false"),
        ("go_mcts:lanes=2:puct", "'puct' is no setting; write go_mcts:KEY=VALUE"),
        ("go_mcts:keep_subtree=false", "go_mcts has no 'keep_subtree'; there are num_runs, num_steps"),
        ("go_mcts:lanes=0", "player 'go_mcts:lanes=0': go_mcts.lanes=0: must be at least 1"),
        ("argmax_val:policy_weight=-1", "argmax_val.policy_weight=-1.0: must be between 0 and 100"),
        ("random:lanes=2", "random has no settings"),
        ("go_mcts:lanes=2:lanes=3", "lanes is given twice"),
        ("random:explore=0.1:explore=0.2", "explore is given twice"),
        ("random:explore=2", "explore is '2'; it must be a probability, 0 to 1"),
        ("go_mcts:explore=often", "explore is 'often'; it must be a probability, 0 to 1"),
        ("argmax_val@", "the directory of a checkpoint must follow the @"),
        ("nobody:lanes=2", "no player 'nobody'; there are random"),
        ("nobody:", "'' is no setting; write nobody:KEY=VALUE"),
        ("no.such.module:KIND", "'no.such.module:KIND' cannot be imported .ModuleNotFoundError"),
        ("no.such.module:KIND:lanes=", "'lanes=' is no setting; write no.such.module:KIND:KEY=VALUE"),
        ("games.hearts.game:HeartsGame", "must be a search.players.kinds.PlayerKind"),
        ("go_mcts:utility=fun", "fun"),
    ],
)
def test_what_makes_no_sense_is_named_before_any_work(name, complaint):
    with pytest.raises(ValueError, match=complaint.replace("'", ".")):
        resolve(["random", name], HeartsGame())


def test_equal_names_are_told_apart():
    assert labels(["a", "a:x=1", "a", "a"]) == ["a", "a:x=1", "a#2", "a#3"]
