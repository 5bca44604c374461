"""Tables in a browser: ``kibitz serve skat``, then open the link that it prints."""

import asyncio
import ipaddress
import os
import signal
import socket
import sys
from contextlib import nullcontext, suppress
from pathlib import Path
from urllib.parse import quote

from cluster import cli
from cluster.errors import blaming_input
from cluster.files import uris
from cluster.files.locks import run_lock
from search.apps.serve.config import ServeConfig
from search.apps.serve.output import need_no_reader
from search.apps.serve.server import Server
from search.apps.serve.service import Service


def main(config: ServeConfig) -> None:
    """Serve until interrupted. Nobody else may read the files that this process makes: they hold secrets."""
    os.umask(0o077)
    need_no_reader()
    with run_lock(config.out) if config.out else nullcontext():
        if config.out and _is_open_to_others(config.out):
            print(f"warning: out={config.out}: others of this machine can look into it; chmod 700 it", file=sys.stderr)
        with blaming_input():
            service = Service(config)
        asyncio.run(_serve(config, Server(config, service)))


async def _serve(config: ServeConfig, server: Server) -> None:
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    async with server.connections.listening(server.app, config.host, config.port) as port:
        host = _followed(config.host)
        fragment = f"#key={quote(config.key, safe='')}" if config.key else ""
        print(f"tables of {config.game.name}; kibitz serve GAME has others", file=sys.stderr)
        print(f"http://{f'[{host}]' if ':' in host else host}:{port}/{fragment}", flush=True)
        await ended.wait()


def _is_open_to_others(out: str) -> bool:
    if uris.is_remote(out):
        return False
    found = Path(uris.resolve(out)[1]).stat()
    return bool(found.st_mode & 0o077) or found.st_uid != os.getuid()


def _followed(host: str) -> str:
    """A name or address of what is listened at that others can follow; of all addresses the one that leads out."""
    try:
        everywhere = not host or ipaddress.ip_address(host).is_unspecified
    except ValueError:  # a name
        everywhere = False
    if not everywhere:
        return host
    family, far = (socket.AF_INET6, "2001:db8::1") if ":" in host else (socket.AF_INET, "192.0.2.1")
    with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect((far, 9))  # sends nothing
        return str(probe.getsockname()[0])
    return socket.gethostname()


if __name__ == "__main__":
    cli.game_alone()
    cli.run("serve", ServeConfig, main, output_key="out")
