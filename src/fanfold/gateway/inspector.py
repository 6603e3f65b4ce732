"""The inspector at `/`: which requests are for it, who gets a link to it, and how the gateway is doing.

Whoever starts the gateway on its own machine gets a link that names all tenants. Behind virtual keys, the holder of a
key gets one that names the key's tenant: `POST /inspector/link`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from fanfold.gateway.client import Client
from fanfold.gateway.headers import get
from fanfold.gateway.safety import Refused, check_request
from fanfold.gateway.settings import PROVIDERS, ServeSettings
from fanfold.gateway.work import WORK
from fanfold.inspector.safety import PREFIX, Access, Grant

if TYPE_CHECKING:
    from fanfold.gateway.app import Gateway
    from fanfold.inspector.answer import NextLink
    from fanfold.inspector.app import Inspector

LINK = f"{PREFIX}link"


class Inspection:
    """The inspector of a gateway. It is made when somebody first looks, for the store may be far away."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._access = Access({}, gateway.settings.allowed_hosts)
        self._inspector: Inspector | None = None

    def token(self) -> str:
        """A token for whoever runs the gateway."""
        return self._access.add(Grant(tenants_of(self._gateway.settings), health=True))

    def close(self) -> None:
        """No link and no cookie opens anything any more, and nothing is tried any longer."""
        self._access.close()
        if self._inspector is not None:
            self._inspector.trials.close()

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Answer what is for the inspector."""
        if scope["path"] == LINK and scope["method"] == "POST":
            await self._link(scope, Client(send, receive))
            return
        if self._inspector is None:
            self._inspector = await WORK.run(self._make)
        await self._inspector(scope, receive, send)

    def _make(self) -> Inspector:
        from fanfold.inspector.app import Inspector  # late: the gateway starts without it, and few look

        gateway = self._gateway
        assert gateway.conversations is not None  # nothing is inspected where nothing is managed
        return Inspector(
            gateway.conversations.pool.store,
            self._access,
            write=gateway.settings.inspector == "write",
            title="gateway",
            renewal=_renewal(gateway),
            health=partial(health, gateway),
            is_stopping=lambda: gateway.is_stopping(),
        )

    async def _link(self, scope: dict[str, Any], client: Client) -> None:
        """A link for the holder of a key: it shows the key's tenant, and nobody else's."""
        headers, keys, settings = scope["headers"], self._gateway.keys, self._gateway.settings
        try:
            check_request(scope["method"], LINK, headers, settings.allowed_hosts)
            if not keys.needed:
                raise Refused(
                    403, "There are no keys here. The link is printed where the gateway was started."
                )
            holder = keys.find(headers, "")
        except Refused as refused:
            await client.tell_json(refused.status, {"error": str(refused)})
            return
        token = self._access.add(Grant((holder.tenant,)))
        await client.tell_json(200, {"link": f"/?token={token}", "tenant": holder.tenant})


def _renewal(gateway: Gateway) -> NextLink:
    """How to get another link: with a key, or where the gateway is started."""
    from fanfold.inspector.answer import NextLink

    if not gateway.keys.needed:
        return NextLink(
            "End the gateway (Ctrl-C), and start it as before. It prints a new link:", "fanfold serve"
        )
    command = f'curl -X POST -H "Authorization: Bearer $KEY" {gateway.settings.url}{LINK}'
    return NextLink("Ask the gateway for a new link, with your key:", command)


def is_for_inspector(scope: dict[str, Any]) -> bool:
    """Whether a browser asks for the page, or the page for something; old clients ask `HEAD /` or `GET /`, too."""
    if scope["path"] == "/":
        return scope["method"] == "GET" and "text/html" in (get(scope["headers"], b"accept") or "")
    return bool(scope["path"].startswith(PREFIX))


def tenants_of(settings: ServeSettings) -> tuple[str, ...]:
    """All tenants of a gateway; without keys there is one."""
    return tuple(dict.fromkeys(key.tenant for key in settings.keys.values())) or ("default",)


def health(gateway: Gateway) -> dict[str, Any]:
    """How the gateway is doing: what `/metrics` counts, the upstreams, and the sessions that are live."""
    counts = gateway.metrics.counts()
    pool = gateway.conversations.pool.counters if gateway.conversations is not None else None
    return {
        "since": gateway.metrics.since,
        "active": gateway.active,
        "upstreams": [_upstream(gateway, provider, counts) for provider in PROVIDERS],
        "counts": [
            {"name": name, "labels": labels, "count": amount, "says": gateway.metrics.help(name)}
            for name, labels, amount in counts
        ],
        "pool": asdict(pool) if pool is not None else None,
    }


def _upstream(
    gateway: Gateway, provider: str, counts: Iterable[tuple[str, dict[str, str], int]]
) -> dict[str, Any]:
    """A provider: where it is, and how its requests ended."""
    answers: dict[str, int] = {}
    failures = 0
    for name, labels, amount in counts:
        if name == "requests" and labels["dialect"].partition(".")[0] == provider:
            answers[labels["status"]] = answers.get(labels["status"], 0) + amount
        elif name == "upstream_failures" and labels.get("provider") == provider:
            failures += amount
    address = gateway.settings.address(provider)
    return {"provider": provider, "address": address, "answers": answers, "failures": failures}
