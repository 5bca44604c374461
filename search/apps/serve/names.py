"""The names by which a server may be asked. Pages of other sites, which a browser lets ask this one too, get no
answer."""

import re
from collections.abc import Collection

LOOPBACK = ("127.0.0.1", "localhost", "::1")
_PLACE = r"(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::([0-9]{1,5}))?"
_ORIGIN = re.compile(rf"(https?)://({_PLACE})", re.ASCII)
_DEFAULT = {"http": "80", "https": "443"}
"""Ports that are left out."""


def place_of(text: str, scheme: str = "http") -> tuple[str, str] | None:
    """Name and port of ``NAME:PORT`` or ``[ADDRESS]:PORT``, the port empty where it is the scheme's; None for anything
    else."""
    found = re.fullmatch(_PLACE, text.lower(), re.ASCII)
    if found is None or int(found[3] or 1) not in range(1, 65536):
        return None
    return found[1] or found[2], "" if found[3] in (None, _DEFAULT[scheme]) else found[3]


def refused(listens: str, names: Collection[str], host: str, origin: str | None) -> str:
    """Why a request is refused; empty if it is not.

    Args:
        listens: address that the server listens on.
        names: what else it is called, as behind a proxy, which may speak TLS.
        host: the request's header.
        origin: the request's header; None without one.
    """
    asked, known = place_of(host), {place_of(name, scheme) for name in names for scheme in _DEFAULT}
    by_name = asked is not None and asked[0] in (*LOOPBACK, *(name for name, _ in filter(None, known)))
    if asked is None or (listens in LOOPBACK and not by_name):
        return "this server answers at its own address alone"
    if origin is None:
        return ""
    found = _ORIGIN.fullmatch(origin.lower())
    site = place_of(found[2], found[1]) if found else None
    if found is None or site is None or not ((found[1] == "http" and site == asked) or site in known):
        return "another site may not ask this one"
    return ""
