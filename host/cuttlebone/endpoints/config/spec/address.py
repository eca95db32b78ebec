"""Where an endpoint is reached: a loopback address and a port, never anything wider."""

from ipaddress import IPv4Address, IPv6Address
from typing import Final

from cuttlebone.endpoints.config.spec.refusals import InvalidConfig
from cuttlebone.endpoints.config.spec.types import InferenceSpec
from cuttlebone.text.addresses import address, in_url, is_loopback
from cuttlebone.text.json_values import shown

_HOST: Final = "127.0.0.1"
_ACCEPTED: Final = "give localhost, an address in 127.0.0.0/8 or ::1"


def bind_address(spec: InferenceSpec) -> IPv4Address | IPv6Address:
    """Give the address an endpoint is reached at; raise InvalidConfig unless it is loopback."""
    host = _HOST if spec.serve.host is None else spec.serve.host
    found = address(host)
    if found is None:
        raise InvalidConfig("serve.host", f"{shown(host)} is not an IP address; {_ACCEPTED}")
    if not is_loopback(found):
        reason = (
            f"{shown(host)} would listen beyond loopback, which needs a decision of its own "
            f"and is not offered; {_ACCEPTED}"
        )
        raise InvalidConfig("serve.host", reason)
    return found


def port(spec: InferenceSpec) -> int:
    """Give the port an endpoint is reached at; raise InvalidConfig if it is 0."""
    if spec.serve.port == 0:
        usual = spec.runtime.port
        reason = f"0 is refused: it must not be 0; give 1 to 65535, or leave it out for {usual}"
        raise InvalidConfig("serve.port", reason)
    return spec.runtime.port if spec.serve.port is None else spec.serve.port


def base_url(spec: InferenceSpec) -> str:
    """Give the URL that the API's paths are appended to; raise InvalidConfig."""
    return f"http://{in_url(bind_address(spec))}:{port(spec)}"
