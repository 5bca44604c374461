"""Names of players: kinds, settings and checkpoints of their own."""

from search.go_mcts.config import GoMctsConfig
from search.roster.spec import labels, parse


def test_a_name_is_taken_apart():
    entrant = parse("go_mcts:lanes=16:mask_impossible=true:policy_weight=0.1@s3://bucket/a@b:c")
    assert (entrant.kind, entrant.checkpoint) == ("go_mcts", "s3://bucket/a@b:c")
    config = entrant.configured(GoMctsConfig(num_runs=7))
    assert config == GoMctsConfig(num_runs=7, lanes=16, mask_impossible=True, policy_weight=0.1)
    assert parse("random").configured(GoMctsConfig()) == GoMctsConfig()
    assert parse("kind:a=b/c:x=1@kibitz:y").settings == (("a", "b/c"), ("x", "1"))


def test_equal_names_are_told_apart():
    assert labels(["a", "a:x=1", "a", "a"]) == ["a", "a:x=1", "a#2", "a#3"]
