"""Several learners that train one network together: each takes a part of every batch, and gradients are added up.

All make the same steps with the same weights. They exchange only the initial state and gradients; the order of the rows
follows from the seed. Only the first reads and writes checkpoints.

gloo connects learners on CPUs, NCCL those with a GPU each. gloo says at once that another has gone. NCCL does not: its
kernels wait on the device, and Python only where it asks for a result. So a learner that fails says so in the store at
which all have met, and the others, who look there, abort their part; what their devices have added up by then is
nothing, and ``Group.check`` comes before anything is written.
"""

import hashlib
import json
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

import torch
import torch.distributed
from torch.nn.utils import parameters_to_vector

from cluster.errors import PeerLostError, UserError

_c10d: Any = torch.distributed  # which exports none of its classes to type checkers

_TIMEOUT = timedelta(minutes=5)
"""Longest wait for another learner: the slowest reads its data, or the first writes a checkpoint."""
_LOOK_SECONDS = 1.0
"""How often learners on GPUs look whether another has failed."""
_FAILED = "failed"
"""Key in the store that a learner sets which leaves before its end."""
FINISHED = -1
"""Step of a finished training."""


class Group:
    """The place of one learner among ``size`` that train together.

    The first waits for the others at ``address`` from the moment it is made; all of them then call ``join``. A group
    serves one training.
    """

    def __init__(self, host: str, size: int, rank: int = 0, address: str = "", timeout: timedelta = _TIMEOUT) -> None:
        """Open only, for the first learner, its port.

        Args:
            host: this machine's IP address, as the other learners reach it; nothing listens on another.
            rank: 0 for the first.
            address: ``host:port`` of the first; its own is drawn.
            timeout: how long to wait for the others, at any time.
        """
        self.rank, self.size = rank, size
        self._host, self._timeout = host, timeout
        self.address = address
        self._device = torch.device("cpu")
        self._store: Any = None
        self._connected: Any = None
        self._left, self._lost = threading.Event(), False
        if self.first:
            listening = socket.create_server((host, 0))
            port = listening.getsockname()[1]
            self.address = f"{host}:{port}"
            self._store = _c10d.TCPStore(
                host, port, None, True, timeout, wait_for_workers=False, master_listen_fd=listening.detach()
            )

    @property
    def first(self) -> bool:
        """Whether this is the learner that reads and writes checkpoints."""
        return self.rank == 0

    def join(self, device: torch.device) -> None:
        """Connect with the others, whose tensors are on devices of the same kind. ``PeerLostError`` if one is
        missing."""
        self._device = device
        connect = self._connect_gpus if self._on_gpus else self._connect_cpus
        self._connected = self._asking_peers(lambda: connect(self._meet()))
        if self._on_gpus:
            look = self._asking_peers(self._client)  # of its own: a client serves one call at a time
            threading.Thread(target=self._watch, args=(look, self._connected), daemon=True).start()

    def end(self) -> None:
        """Take the group apart, behind the last step: NCCL wants all to be there, and none with work under way. The
        first, whose store it is, waits for the others. Nothing on CPUs."""
        if self._connected is None or not self._on_gpus:
            return
        torch.cuda.synchronize(self._device)
        self.check()
        self._left.set()
        if self.first:
            self._asking_peers(lambda: self._store.wait([f"ended {rank}" for rank in range(1, self.size)]))
        else:
            self._asking_peers(lambda: self._store.set(f"ended {self.rank}", ""))
        self._connected.shutdown()
        self._connected = None

    def leave(self) -> None:
        """Close the connections; others that still need this learner get an error, on CPUs at once, on GPUs within
        seconds."""
        self._left.set()
        if self._connected is not None and self._on_gpus:
            with suppress(RuntimeError):  # the first may have gone, and the store with it
                self._store.set(_FAILED, "")
            self._connected.abort()
        self._connected = self._store = None

    def check(self) -> None:
        """``PeerLostError`` where another learner has failed: since then sums on GPUs are nothing."""
        if self._lost:
            raise PeerLostError(f"learner {self.rank} of {self.size} has lost another, which failed")

    def part(self, rows: int) -> slice:
        """This learner's rows of a batch; may be empty with fewer rows than learners."""
        return slice(rows * self.rank // self.size, rows * (self.rank + 1) // self.size)

    @torch.no_grad()
    def add_up(self, tensors: Sequence[torch.Tensor]) -> None:
        """Give every learner the sum of all learners' tensors (float32), in their place."""
        flat = parameters_to_vector(tensors)
        self._asking_peers(lambda: self._connected.allreduce([flat]).wait())
        _spread(flat, tensors)

    @torch.no_grad()
    def take_from_first(self, tensors: Sequence[torch.Tensor]) -> None:
        """Give every learner the first one's tensors (float32), in their place."""
        flat = parameters_to_vector(tensors)
        self._asking_peers(lambda: self._connected.broadcast([flat], _c10d.BroadcastOptions()).wait())
        _spread(flat, tensors)

    def agree(self, step: int, settings: Mapping[str, Any]) -> int:
        """The step that the first learner stands at. ``UserError`` where another has other settings or data."""
        digest = hashlib.blake2b(json.dumps(dict(settings), sort_keys=True).encode(), digest_size=7).digest()
        mine = torch.tensor([step, int.from_bytes(digest)], device=self._device)
        said = mine.clone()
        self._asking_peers(lambda: self._connected.broadcast([said], _c10d.BroadcastOptions()).wait())
        if said[0] != FINISHED and said[1] != mine[1]:
            raise UserError(
                f"learner {self.rank} of {self.size}: its shards, first weights, code or precision are not the first "
                "learner's; all machines must read the same files and, with learner.precision=auto, be of one kind"
            )
        return int(said[0])

    @property
    def _on_gpus(self) -> bool:
        return self._device.type == "cuda"

    def _meet(self) -> Any:
        if self._store is None:
            self._store = self._client()
        return self._store

    def _client(self) -> Any:
        host, _, port = self.address.rpartition(":")
        return _c10d.TCPStore(host, int(port), None, False, self._timeout, wait_for_workers=False)

    def _watch(self, store: Any, connected: Any) -> None:
        """Abort this learner's part of NCCL once another has failed, or the first has gone with its store."""
        while not self._left.wait(_LOOK_SECONDS):
            try:
                failed = store.check([_FAILED])
            except RuntimeError:
                failed = True
            if failed and not self._left.is_set():
                self._lost = True
                connected.abort()
                return

    def _connect_cpus(self, store: Any) -> Any:
        """gloo, on this host's address alone: ``init_process_group`` would look one up by the machine's name."""
        kind = _c10d.ProcessGroupGloo
        options = kind._Options()
        options._timeout, options._devices = self._timeout, [kind.create_device(hostname=self._host)]
        return kind(store, self.rank, self.size, options)

    def _connect_gpus(self, store: Any) -> Any:
        nccl = getattr(_c10d, "ProcessGroupNCCL", None)
        if nccl is None:
            raise UserError("cluster.learners: this torch has no NCCL; install one that does, or use one learner")
        return nccl(store, self.rank, self.size, self._timeout)

    def _asking_peers(self, ask: Callable[[], Any]) -> Any:
        """``ask()``; a plain ``RuntimeError`` of torch or gloo means that another learner has gone or is silent."""
        self.check()
        try:
            return ask()
        except RuntimeError as error:
            raise PeerLostError(f"learner {self.rank} of {self.size} has lost another: {error}") from error


def _spread(flat: torch.Tensor, tensors: Sequence[torch.Tensor]) -> None:
    """Fill ``tensors`` from the vector they were put together in."""
    parts = flat.split([tensor.numel() for tensor in tensors])
    values = [part.view_as(tensor) for part, tensor in zip(parts, tensors, strict=True)]
    torch._foreach_copy_([tensor.detach() for tensor in tensors], values)  # one call for the many small tensors
