"""What a request refers to at its provider: behind one key all tenants are one customer, so it may be anybody's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from fanfold.dialects.http.request import HttpRequest
from fanfold.gateway.course import refers_to_item
from fanfold.gateway.safety import Refused
from fanfold.gateway.work import WORK

if TYPE_CHECKING:
    from fanfold.gateway.app import Gateway
    from fanfold.gateway.exchange import Exchange

CARRYING = ("reply", "count", "compact")
"""Requests that carry a history."""
_STORED = frozenset(
    {
        "file_id", "file_ids", "vector_store_ids", "container", "container_id", "cachedContent", "cached_content",
        "fileSearchStoreNames", "file_search_store_names",
    }
)  # fmt: skip
"""Fields that name something a provider keeps for its customer."""
_ADDRESSES = ("fileUri", "file_uri")
"""Fields with an address, perhaps of a file that Gemini keeps."""
_FILE = re.compile(r"(?:^|/v1[a-z0-9]*/)files/")
_FREE = frozenset(
    {
        "args",
        "arguments",
        "response",
        "parameters",
        "parametersJsonSchema",
        "input_schema",
        "metadata",
        "schema",
    }
)
"""Fields with words of clients and models, where such a name means nothing."""
_TWO_WAYS = "The body cannot be read here, or in more than one way, so it is not known what it refers to."


def check_shared(exchange: Exchange, asked: HttpRequest | None) -> None:
    """Refuse a request that names files, containers or caches, where other tenants have the same provider's key."""
    route = exchange.to.route
    if exchange.to.provider not in exchange.holder.shared or route is None or route.purpose not in CARRYING:
        return
    if asked is None:
        raise Refused(400, _TWO_WAYS)
    new = exchange.step.new if exchange.step is not None else ()
    named = next(_stored([asked.body, *new]), None)
    if named is not None:
        raise Refused(
            404,
            f"The request names something that the provider keeps ({named}), and behind this key it may be another "
            "tenant's. Send the content itself.",
        )


def _stored(values: Iterable[Any]) -> Iterator[str]:
    """The fields that name something stored."""
    left = list(values)
    while left:
        value = left.pop()
        if isinstance(value, list):
            left += value
        elif isinstance(value, dict):
            yield from (key for key, inner in value.items() if _names_stored(key, inner))
            left += [inner for key, inner in value.items() if not _is_free(key, inner)]


def _names_stored(key: str, value: Any) -> bool:
    if key in _ADDRESSES:
        return isinstance(value, str) and _FILE.search(value) is not None
    if key not in _STORED or not value:
        return False
    if isinstance(value, dict):
        return isinstance(value.get("id"), str)
    return isinstance(value, str) or (isinstance(value, list) and isinstance(value[0], str))


def _is_free(key: str, value: Any) -> bool:
    """Whether this is what a model gave a tool, or a schema; the input of Responses is a list."""
    return key in _FREE or (key == "input" and isinstance(value, dict))


async def check_stored(gateway: Gateway, exchange: Exchange, asked: HttpRequest | None) -> None:
    """Refuse what another tenant has stored at the provider: behind virtual keys all tenants are one customer."""
    conversations, holder, route = gateway.conversations, exchange.holder, exchange.to.route
    if not holder.own_keys or route is None or route.dialect != "openai.responses":
        return
    if asked is None and route.purpose in CARRYING:  # read in another way, it may name anything
        raise Refused(400, _TWO_WAYS)
    body = asked.body if asked is not None else {}
    named = [id for id in (route.id, body.get("previous_response_id")) if isinstance(id, str)]
    known = not named or conversations is not None
    if conversations is not None:
        known = all([await WORK.run(conversations.knows, holder.tenant, id) for id in named])
    items = body.get("input")
    refers = any(isinstance(item, dict) and refers_to_item(item) for item in items or ())
    if not known or refers or body.get("conversation") is not None:
        raise Refused(404, "This response is not known here. Send the whole conversation as `input`.")
