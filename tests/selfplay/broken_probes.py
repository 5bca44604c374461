"""Probes that a broken GPU breaks; little is imported here, as each runs in a process of its own."""

import os
import signal
import time

from selfplay.gpu.isolated import Peers


def crash(peers: Peers) -> dict[str, float]:
    os.kill(os.getpid(), signal.SIGABRT)
    return {}


def hang(peers: Peers) -> dict[str, float]:
    if peers.rank == 0:
        time.sleep(600)
    return {}


def refuse(peers: Peers) -> dict[str, float]:
    if peers.rank == 0:
        raise RuntimeError("CUDA error: an illegal memory access was encountered\nCompile with ...")
    peers.barrier.wait()  # for one that never comes
    return {}
