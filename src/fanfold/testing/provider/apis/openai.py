"""What OpenAI's two APIs have in common: errors, sizes, automatic caching."""

from collections.abc import Sequence

from fanfold.testing.provider.cache import Bill, PromptCache, bill_prefix
from fanfold.testing.provider.rejection import Limits, Rejection
from fanfold.testing.provider.request import Received
from fanfold.testing.provider.tokens import PricedBlock
from fanfold.testing.provider.wire import Wire, canonical

TYPES = {401: "invalid_request_error", 429: "tokens", 500: "server_error", 503: "server_error"}
CODES = {401: "invalid_api_key", 429: "rate_limit_exceeded"}
STEP = 128


def charge(cache: PromptCache, blocks: Sequence[PricedBlock], request: Received, minimum: int) -> Bill:
    """The longest remembered prefix in steps of 128 tokens, per model and `prompt_cache_key`."""
    seed = canonical([request.api, request.model, request.body.get("prompt_cache_key")])
    return bill_prefix(cache, blocks, seed, minimum, STEP)


def refuse_large(size: int, limits: Limits) -> Rejection | None:
    if size <= limits.openai_bytes:
        return None
    return Rejection(f"Request body is too large: {size} bytes > {limits.openai_bytes} bytes.", status=413)


def unreadable(problem: str) -> Rejection:
    text = (
        "We could not parse the JSON body of your request. The OpenAI API expects a JSON payload, but what "
    )
    return Rejection(f"{text}was sent was not valid JSON: {problem}")


def error(rejection: Rejection, name: str) -> Wire:
    kind = TYPES.get(rejection.status, "invalid_request_error")
    code = rejection.code or CODES.get(rejection.status)
    return {"error": {"message": rejection.message, "type": kind, "param": rejection.param, "code": code}}
