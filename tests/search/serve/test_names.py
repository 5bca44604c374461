"""By which names a server may be asked."""

import pytest

from search.apps.serve.names import place_of, refused
from tests.search.serve.material import config

PROXY = "play.example.org"
SITE, NAME = "another site may not ask this one", "this server answers at its own address alone"


@pytest.mark.parametrize(
    ("host", "origin", "told"),
    [
        ("127.0.0.1:8600", None, ""),
        ("localhost", None, ""),
        ("LOCALHOST:9000", None, ""),  # through a tunnel
        ("[::1]", None, ""),
        ("[::1]:8600", None, ""),
        *((host, None, NAME) for host in ("", "evil.example", "127.0.0.1:evil", "127.0.0.1:", "127.0.0.1:99999")),
        *((host, None, NAME) for host in ("::1", "[::1", "[127.0.0.1]x", "127.0.0.1.", "127.0.0.1@evil.example")),
        *((host, None, NAME) for host in ("evil.example#localhost", "127.0.0.1:8600:1", "localhost:٣", "a b")),
        ("127.0.0.1:8600", "http://127.0.0.1:8600", ""),
        ("localhost", "http://localhost", ""),
        ("localhost:80", "http://localhost", ""),
        ("[::1]:8600", "http://[::1]:8600", ""),
        ("127.0.0.1:8600", "http://localhost:8600", SITE),
        ("127.0.0.1:8600", "http://127.0.0.1:8601", SITE),
        ("127.0.0.1:8600", "https://127.0.0.1:8600", SITE),
        *(
            ("127.0.0.1:8600", origin, SITE)
            for origin in ("null", "", "evil.example", "http://", "ftp://127.0.0.1:8600")
        ),
        ("127.0.0.1:8600", "http://127.0.0.1:8600/", SITE),
        ("127.0.0.1:8600", "http://127.0.0.1:8600.evil.example", SITE),
        (PROXY, f"https://{PROXY}", NAME),
        ("127.0.0.1:8600", f"https://{PROXY}", SITE),
    ],
)
def test_a_server_on_loopback_answers_its_own_pages_alone(host: str, origin: str | None, told: str) -> None:
    assert refused("127.0.0.1", [], host, origin) == told


@pytest.mark.parametrize("listens", ["127.0.0.1", "0.0.0.0"])
@pytest.mark.parametrize("host", [PROXY, f"{PROXY}:443", "127.0.0.1:8600", "Play.Example.org"])
def test_a_proxy_may_keep_the_name_or_not(listens: str, host: str) -> None:
    for origin in (f"https://{PROXY}", f"http://{PROXY}", "HTTPS://PLAY.EXAMPLE.ORG", None):
        assert refused(listens, [PROXY], host, origin) == ""
    for origin in (f"https://{PROXY}:8443", f"https://evil.{PROXY}", f"https://{PROXY}.evil", "https://evil.example"):
        assert refused(listens, [PROXY], host, origin) == SITE
    assert refused(listens, [f"{PROXY}:8443"], host, f"https://{PROXY}:8443") == ""


def test_elsewhere_than_on_loopback_any_name_does_with_its_own_pages() -> None:
    assert refused("0.0.0.0", [], "192.0.2.7:8600", "http://192.0.2.7:8600") == ""
    assert refused("0.0.0.0", [], "192.0.2.7:8600", "http://evil.example") == SITE
    assert refused("0.0.0.0", [], "192.0.2.7:evil", None) == NAME


def test_names_are_names_of_hosts() -> None:
    assert config("skat", names=[PROXY, "[2001:db8::1]:8443"]).names
    for name in (f"https://{PROXY}", f"{PROXY}/kibitz", "", "a b", f"{PROXY}:x"):
        with pytest.raises(ValueError, match="is no name of a host"):
            config("skat", names=[name])
    assert place_of("[2001:DB8::1]:8443") == ("2001:db8::1", "8443")
