"""Tables in a browser: ``kibitz serve skat``, then open the link that it prints."""

import asyncio
import signal
from contextlib import nullcontext
from urllib.parse import quote

from aiohttp import web

from cluster import cli
from cluster.errors import UserError, blaming_input
from cluster.files.locks import run_lock
from search.serve.config import ServeConfig
from search.serve.games import Service
from search.serve.server import Server


def main(config: ServeConfig) -> None:
    """Serve until interrupted."""
    with run_lock(config.out) if config.out else nullcontext():
        with blaming_input():
            service = Service(config)
        asyncio.run(_serve(config, Server(config, service)))


async def _serve(config: ServeConfig, server: Server) -> None:
    runner = web.AppRunner(server.app, access_log=None, shutdown_timeout=2)
    await runner.setup()
    site = web.TCPSite(runner, config.host, config.port)
    try:
        await site.start()
    except OSError as error:
        raise UserError(f"host={config.host} port={config.port}: cannot be listened at ({error.strerror})") from error
    port = runner.addresses[0][1]
    host = f"[{config.host}]" if ":" in config.host else config.host
    fragment = f"#key={quote(config.key, safe='')}" if config.key else ""
    print(f"http://{host}:{port}/{fragment}", flush=True)
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    await ended.wait()
    await runner.cleanup()


if __name__ == "__main__":
    cli.game_alone()
    cli.run("serve", ServeConfig, main)
