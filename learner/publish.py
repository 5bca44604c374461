"""Give a network away: ``kibitz publish CHECKPOINT DIR`` or ``kibitz publish CHECKPOINT hf://USER/NAME``.

What others need and nothing else: ``config.json``, ``model.safetensors``, ``players.json`` if there is one, their
digests, and a card, ``README.md``. A card that lies in the checkpoint is kept, and gets the hub's header if it has
none; else one is written with the facts that the checkpoint has. ``hf://`` uploads to the Hugging Face hub with the
token of ``HF_TOKEN`` or ``hf auth login`` (``HF_ENDPOINT`` names another hub).
"""

import argparse
import re
import shutil
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from cluster.errors import UserError, first_line, say
from cluster.files import storage
from cluster.files.digests import DIGESTS_FILE
from cluster.reader import check_lasts, end_with_reader
from games.registry import recorded_game
from learner import kinds
from learner.model.checkpoint import CONFIG_FILE, PLAYERS_FILE, WEIGHTS_FILE, checkpoint_id, find, read_config

CARD = "README.md"
_HUB = re.compile(r"hf://([\w.-]+/[\w.-]+)")


def main(arguments: list[str] | None = None) -> int:
    """Entry point; 2 after one line on what is wrong."""
    parser = argparse.ArgumentParser(
        prog="kibitz publish", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkpoint", help="directory, URI, run, or kibitz:NAME")
    parser.add_argument("target", help="a directory to make, or hf://USER/NAME")
    parser.add_argument("--private", action="store_true", help="a new repository of the hub is private")
    parser.add_argument("--game", default="", help="a game of your own that it plays, as module:attribute")
    given = parser.parse_args(arguments)
    try:
        if given.private and not given.target.startswith("hf://"):
            raise UserError(f"--private: is for a hub; leave it out with {given.target}")
        check_lasts(given.target)
        if given.target.startswith("hf://"):
            where = upload(given.checkpoint, given.target, given.private, given.game)
        else:
            where = write(given.checkpoint, Path(given.target), given.game)
    except (ValueError, OSError) as error:
        return say(" ".join(str(error).split()))
    print(f"published: {where}")
    return 0


def write(checkpoint: str, out: Path, own: str = "") -> str:
    """Write the files into a new or empty directory; returns its path. ``ValueError`` for one that holds something, a
    checkpoint that cannot be loaded, or its game."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(f"{out}: is there already; name a new directory")
    source, names = find(checkpoint), (CONFIG_FILE, WEIGHTS_FILE, PLAYERS_FILE, DIGESTS_FILE)
    for name in (*names, CARD):
        if (source / name).is_symlink() or ((source / name).exists() and not (source / name).is_file()):
            raise UserError(f"{source / name}: is a link or no file; put what is to be given away in its place")
    card = _card(checkpoint, own)

    def fill(directory: Path) -> None:
        for name in filter(lambda name: (source / name).exists(), names):
            shutil.copyfile(source / name, directory / name)
        (directory / CARD).write_text(card, encoding="utf-8")

    with suppress(OSError):
        out.rmdir()  # empty, and made anew: whole or not at all
    storage.write_directory_atomic(out, fill)
    return str(out)


def upload(checkpoint: str, target: str, private: bool, own: str = "") -> str:
    """Upload to the hub; returns the address of the commit. ``ValueError`` for a target of another form, or what the
    hub refuses."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, LocalTokenNotFoundError

    found = _HUB.fullmatch(target)
    if not found:
        raise UserError(f"{target}: must be hf://USER/NAME, of letters, digits, dots and dashes")
    with tempfile.TemporaryDirectory() as place:
        folder = write(checkpoint, Path(place) / "network", own)
        try:
            api = HfApi()
            api.create_repo(found[1], private=private, exist_ok=True)
            commit = api.upload_folder(repo_id=found[1], folder_path=folder, commit_message="Network of Kibitz")
        except LocalTokenNotFoundError:
            raise UserError(f"{target}: needs a token; set HF_TOKEN or run hf auth login") from None
        except HfHubHTTPError as error:
            raise UserError(f"{target}: the hub refuses it: {error}") from error
        except Exception as error:  # what stands between here and a hub raises errors of its own
            raise UserError(f"{target}: the hub cannot be reached ({first_line(error)}); try again") from error
    return str(commit.commit_url)


def _card(checkpoint: str, own: str) -> str:
    """The text of the card, the hub's header included; one that has a header already stays as it is."""
    kind = kinds.of_checkpoint(checkpoint)
    config = read_config(find(checkpoint), checkpoint, kind.model_type)
    game = recorded_game(checkpoint, config.get("game"), config.get("game_options"), own)
    net = kind.load(checkpoint, game)  # also checks the files
    written = find(checkpoint) / CARD
    if written.exists():
        text = written.read_text(encoding="utf-8")
        return text if re.match(r"\ufeff?---\s*\n", text) else _header(config) + text
    size = sum(parameter.numel() for parameter in net.parameters())
    options = ", ".join(f"`{name}={value}`" for name, value in sorted(game.options.items())) or "none"
    return _header(config) + (
        f"# A network for {game.name}\n\n"
        f"For Kibitz: kind `{kind.name}`, {size:,} parameters, rules version "
        f"{game.rules_version}, id `{checkpoint_id(checkpoint)}`.\n\nRule options: {options}.\n\n"
        "```sh\nhf download USER/NAME --local-dir network\n"
        f"kibitz play {game.name} checkpoint=network\n```\n"
    )


def _header(config: dict[str, Any]) -> str:
    """What the hub reads of a card."""
    game = str(config.get("game", "")).replace(":", "-")
    return (
        f"---\nlicense: apache-2.0\nlibrary_name: kibitz\ntags:\n- kibitz\n- reinforcement-learning\n- {game}\n---\n\n"
    )


if __name__ == "__main__":
    end_with_reader()
    sys.exit(main())
