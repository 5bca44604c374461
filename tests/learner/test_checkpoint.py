"""What is wrong with a checkpoint is said in one message that names the file."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pytest
import torch
from safetensors.torch import load_file, save_file

from games.hearts.game import HeartsGame
from learner import kinds
from learner.model.checkpoint import checkpoint_id, find, load_weights, save_weights
from learner.model.runs import newest
from learner.q_network.kind import KIND as Q_KIND
from tests.learner.material import NO_PASS, tiny_net, tiny_q_net

GAME = HeartsGame(**NO_PASS)


@dataclass(frozen=True)
class Kind:
    """A kind of network, and a matrix of it with its shape."""

    name: str
    make: Callable[[int], torch.nn.Module]
    load: Callable[..., torch.nn.Module]
    matrix: str
    shape: tuple[int, ...]


TRANSFORMER = Kind("transformer", partial(tiny_net, GAME), load_weights, "lm_head.weight", (61, 16))
Q_NETWORK = Kind("q_network", partial(tiny_q_net, GAME), Q_KIND.load, "head.weight", (61, 8))
KINDS = {"kibitz_policy_value": TRANSFORMER, "kibitz_q_network": Q_NETWORK}


@pytest.fixture(params=KINDS)
def kind(request) -> Kind:
    return KINDS[request.param]


@pytest.fixture
def anew(kind, tmp_path):
    """A checkpoint of either kind."""
    save_weights(tmp_path / "anew", kind.make(0), GAME)
    return tmp_path / "anew"


@pytest.fixture
def checkpoint(tmp_path):
    """Of a transformer."""
    save_weights(tmp_path / "checkpoint", tiny_net(GAME), GAME)
    return tmp_path / "checkpoint"


def change_config(checkpoint, **values):
    file = checkpoint / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | values))


def change_weights(checkpoint, change):
    file = checkpoint / "model.safetensors"
    tensors = {name: tensor.clone() for name, tensor in load_file(file).items()}
    change(tensors)
    save_file(tensors, file)


def test_weights_come_back_bit_for_bit_and_the_record_says_what_it_is(kind, anew):
    loaded, wanted = kind.load(anew, GAME).state_dict(), kind.make(0).state_dict()
    assert loaded.keys() == wanted.keys() and all(torch.equal(tensor, loaded[name]) for name, tensor in wanted.items())
    config = json.loads((anew / "config.json").read_text())
    assert KINDS[config["model_type"]] is kind and kinds.of_checkpoint(anew) is kinds.find(kind.name)
    assert config["game_options"] == dict(GAME.options)
    assert sorted(path.name for path in anew.iterdir()) == ["config.json", "digests.json", "model.safetensors"]


def test_each_kind_is_refused_where_another_is_asked_for(kind, anew):
    [other] = [each for each in KINDS.values() if each is not kind]
    mine, theirs = (next(name for name, each in KINDS.items() if each is one) for one in (kind, other))
    with pytest.raises(ValueError, match=f"model_type is '{mine}', not '{theirs}'"):
        other.load(anew, GAME)


def test_missing_and_broken_files_are_named(kind, anew, tmp_path):
    with pytest.raises(ValueError, match=r"nowhere: no such directory; a checkpoint holds config.json and model"):
        kind.load(tmp_path / "nowhere", GAME)
    whole = {path: path.read_bytes() for path in anew.iterdir()}
    for text in ("{", "[]"):
        (anew / "config.json").write_text(text)
        with pytest.raises(ValueError, match=r"config\.json: is no JSON object"):
            kind.load(anew, GAME)
    (anew / "config.json").write_bytes(whole[anew / "config.json"])
    (anew / "model.safetensors").write_bytes(whole[anew / "model.safetensors"][:500])
    with pytest.raises(ValueError, match=r"model\.safetensors: cannot be read as safetensors"):
        kind.load(anew, GAME)
    (anew / "model.safetensors").unlink()
    for read in (lambda: kind.load(anew, GAME), lambda: checkpoint_id(anew)):
        with pytest.raises(ValueError, match=r"model\.safetensors: no such file"):
            read()


def a_run(directory, settings, **leads):
    """A run as its directory has it: iteration -> lead at its gate, None without; networks are empty."""
    directory.mkdir()
    (directory / "config.yaml").write_text(settings)
    for name, lead in leads.items():
        (directory / f"iterations/{name[1:]}/checkpoint").mkdir(parents=True)
        if lead is not None:
            columns = [{"comparisons": [{"advantage": lead}]}]
            (directory / f"iterations/{name[1:]}/gate.json").write_text(json.dumps([{"columns": columns}]))
    return directory


@pytest.mark.parametrize(
    ("settings", "leads", "wanted"),
    [
        ("selfplay: {gate: {deals: 0}}", {"i000": None, "i001": None}, "001"),
        ("selfplay: {gate: {deals: 0}}", {"i000": None, "i009": None, "i010": None}, "010"),
        ("selfplay: {gate: {deals: 2, margin: 0.5}}", {"i000": None, "i001": 0.6, "i002": 0.5}, "001"),
        ("selfplay: {gate: {deals: 2, margin: 0}}", {"i000": None, "i001": -1.0, "i002": 0.0}, "000"),
        # The gate of the last is under way.
        ("selfplay: {gate: {deals: 2, margin: 0}}", {"i000": None, "i001": 1.0, "i002": None}, "001"),
    ],
)
def test_a_run_stands_for_its_newest_accepted_network(tmp_path, settings, leads, wanted) -> None:
    run = a_run(tmp_path / "run", settings, **leads)
    (run / "iterations/099.tmp").mkdir()
    for name in (run, f"{run}/"):
        assert newest(name) == f"{run}/iterations/{wanted}/checkpoint"


def test_a_run_is_a_checkpoint_wherever_one_is_named(checkpoint, tmp_path) -> None:
    run = a_run(tmp_path / "run", "selfplay: {gate: {deals: 0}}")
    with pytest.raises(ValueError, match=r"run: is a run without a network yet; wait until it has trained one, or "):
        (run / "iterations").mkdir()
        find(run)
    (run / "iterations/000").mkdir()
    checkpoint.rename(run / "iterations/000/checkpoint")
    assert find(run) == run / "iterations/000/checkpoint"
    assert checkpoint_id(run) == checkpoint_id(run / "iterations/000/checkpoint")
    load_weights(run, GAME)


def test_what_is_neither_checkpoint_nor_run_is_not_to_be_removed(tmp_path) -> None:
    with pytest.raises(ValueError, match=r"is neither a checkpoint, which holds config.json .*, nor a run; name one$"):
        load_weights(tmp_path, GAME)
    run = a_run(tmp_path / "run", "selfplay: [", i001=0.5)
    for settings, broken in (
        ("selfplay: [", "config.yaml"),
        ("a: b", "config.yaml"),
        ("selfplay: {gate: {deals: 2, margin: 0}}", "gate.json"),
    ):
        (run / "config.yaml").write_text(settings)
        (run / "iterations/001/gate.json").write_text("[{}]")
        with pytest.raises(ValueError, match=rf"{broken}: is not what a run writes there .*; restore it, or name one"):
            find(run)


OF_ALL = {
    "game": "skat", "game_options": {}, "rules_version": 99, "vocabulary_fingerprint": "0" * 16, "vocab_size": 60,
    "model_type": "gpt2",
}  # fmt: skip
OF_ONE = {
    "transformer": {"num_outcomes": 2, "n_positions": 10},
    "q_network": {"num_features": 471, "features_version": 2, "architecture": "pv17", "format": 2},
}


def test_checkpoints_of_another_game_are_refused_by_key(kind, anew):
    whole = json.loads((anew / "config.json").read_text())
    for key, value in (OF_ALL | OF_ONE[kind.name]).items():
        (anew / "config.json").write_text(json.dumps(whole | {key: value}))
        with pytest.raises(ValueError, match=rf"config\.json: {key}( |=)"):
            kind.load(anew, GAME)


def test_a_checkpoint_is_refused_for_other_rule_options(checkpoint):
    named = r"game_options is \{'jd_bonus': False\}, the game in use has \{'jd_bonus': True\};"
    with pytest.raises(ValueError, match=named):  # and not the options that agree
        load_weights(checkpoint, HeartsGame(**NO_PASS, jd_bonus=True))


def test_weights_that_do_not_fit_the_configuration_are_named(kind, anew):
    def shrink(tensors):
        tensors[kind.matrix] = tensors[kind.matrix][:5].clone()

    change_weights(anew, shrink)
    shapes = rf"{kind.matrix} has shape \(5, {kind.shape[1]}\), config\.json asks for \(61, {kind.shape[1]}\)"
    with pytest.raises(ValueError, match=shapes):
        kind.load(anew, GAME)
    change_weights(anew, lambda tensors: tensors.pop(kind.matrix))
    with pytest.raises(ValueError, match=rf"missing \['{kind.matrix}'\]"):
        kind.load(anew, GAME)


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("n_embd", ["16", 1.5, None, 0, -16, True, [16], 10**30, 2**31 - 1, 200_000]),
        ("n_layer", ["1", None, 0, 1_000_000]),
        ("n_head", [0, 3, None]),
        ("n_inner", [10**9, 10**30, 1e999]),
        ("n_positions", ["99", None, 10**9]),
        ("layer_norm_epsilon", [float("nan"), 0, -1e-5, "1e-5", None, 1e999]),
        ("embd_pdrop", [1, float("nan"), None]),
        ("features", [[], [1], 1, "x", {"x": 1}, {"points": 10**9}]),
        ("num_features", [10**9, "1"]),
        ("choices", [1, {"offset": 0, "actions": 10**9, "numbers": 1, "width": 1}, {"layers": 10**9}, {"width": "x"}]),
        ("boards", [{"rows": 10**6, "columns": 10**6, "planes": 10**6, "channels": [10**6]}, [[]], {"channels": "x"}]),
        ("first", [5, -1, "x"]),
        ("token_types", [10**9, "x"]),
    ],
)
def test_what_no_network_has_is_one_line_and_takes_no_memory(checkpoint, key, values):
    (checkpoint / "digests.json").unlink()
    good = json.loads((checkpoint / "config.json").read_text())
    for value in values:
        if not value and good.get(key) in (None, value):
            continue
        change_config(checkpoint, **{**good, key: value})
        with pytest.raises(ValueError, match=r"^[^\n]*config\.json[^\n]*$"):
            load_weights(checkpoint, GAME)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("config.json", "[" * 100_000, r"config\.json: is .*nested too deeply.*restore"),
        ("digests.json", "[" * 100_000, r"digests\.json: is .*nested too deeply.*restore"),
        ("digests.json", '{"../../x": "0"}', r"digests\.json: is damaged \('../../x' leads out of it\)"),
        ("digests.json", "{}", r"config\.json: is damaged"),  # it vouches for no file
    ],
    ids=["config", "digests", "files elsewhere", "no file"],
)
def test_json_that_nobody_wrote_is_one_line(checkpoint, name, text, message):
    (checkpoint / name).write_text(text)
    with pytest.raises(ValueError, match=message):
        load_weights(checkpoint, GAME)


def test_an_existing_directory_is_not_overwritten(checkpoint):
    with pytest.raises(ValueError, match="exists already"):
        save_weights(checkpoint, tiny_net(GAME), GAME)


def test_equal_weights_have_equal_ids(checkpoint, tmp_path):
    for name, seed in (("same", 0), ("other", 1)):
        save_weights(tmp_path / name, tiny_net(GAME, seed), GAME)
    assert checkpoint_id(checkpoint) == checkpoint_id(tmp_path / "same") != checkpoint_id(tmp_path / "other")


@pytest.mark.parametrize("file", ["model.safetensors", "config.json", "digests.json"])
def test_a_flipped_bit_is_noticed(kind, anew, file):
    content = (anew / file).read_bytes()
    at = content.find(b"f") if file == "digests.json" else len(content) - 40
    damaged = content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]
    (anew / file).write_bytes(content.replace(b"true", b"1   ") if file == "config.json" else damaged)
    with pytest.raises(ValueError, match=r"(model.safetensors|config.json): is damaged, its bytes are not those"):
        kind.load(anew, GAME)


def test_a_checkpoint_from_elsewhere_needs_no_digests_and_weights_that_are_finite(checkpoint):
    (checkpoint / "digests.json").unlink()
    load_weights(checkpoint, GAME)
    change_weights(checkpoint, lambda tensors: tensors["transformer.ln_f.bias"].fill_(float("nan")))
    not_finite = r"model\.safetensors: transformer\.ln_f\.bias has numbers that are not finite"
    with pytest.raises(ValueError, match=not_finite):
        load_weights(checkpoint, GAME)
