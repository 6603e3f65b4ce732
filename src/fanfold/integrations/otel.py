"""Spans and metrics for OpenTelemetry (extra `fanfold[otel]`).

    from fanfold.integrations.otel import instrument

    instrument()        # after the SDK is set up; every session, loop and gateway of this process is watched

The names of attributes follow the conventions for generative AI, which are still in development. Contents of
conversations are told only with `instrument(contents=True)`.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from fanfold.config.telemetry import ERROR, FIGURES, Attributes, WatchedSpan, watch
from fanfold.integrations.requirement import require

require("opentelemetry-api", "1.30", "otel")

from opentelemetry import metrics, trace  # noqa: E402 the right version is there

_TOKENS = [4.0**power for power in range(14)]
_SECONDS = [0.01 * 2**power for power in range(14)]
"""Limits of buckets, as the conventions recommend them."""


def instrument(
    *,
    tracer_provider: trace.TracerProvider | None = None,
    meter_provider: metrics.MeterProvider | None = None,
    contents: bool = False,
) -> None:
    """Tell OpenTelemetry what fanfold does in this process; by default through the global providers.

    With `contents`, spans carry what was said and what tools answered.
    """
    import fanfold  # late: the version is asked of the installed package

    here = str(fanfold.__version__)
    tracer = trace.get_tracer("fanfold", here, tracer_provider)
    watch(Telemetry(tracer, metrics.get_meter("fanfold", here, meter_provider), contents=contents))


def uninstrument() -> None:
    """Tell nobody any more."""
    watch(None)


class Telemetry:
    """What fanfold tells, as OpenTelemetry takes it."""

    def __init__(self, tracer: trace.Tracer, meter: metrics.Meter, *, contents: bool = False) -> None:
        self.contents = contents
        self._tracer = tracer
        self._figures = {
            name: meter.create_histogram(
                name, unit, sentence, explicit_bucket_boundaries_advisory=_SECONDS if unit == "s" else _TOKENS
            )
            for name, (unit, sentence) in FIGURES.items()
        }

    def start(self, name: str, attributes: Attributes, *, client: bool = False) -> OtelSpan:
        """A span begins, inside the current one."""
        kind = trace.SpanKind.CLIENT if client else trace.SpanKind.INTERNAL
        return OtelSpan(self._tracer.start_span(name, kind=kind, attributes=attributes))

    def inside(self, span: WatchedSpan) -> AbstractContextManager[object]:
        """Make a span the current one. It says itself what went wrong: an error's text may quote contents."""
        assert isinstance(span, OtelSpan)
        return trace.use_span(span.span, record_exception=False, set_status_on_exception=False)

    def measure(self, name: str, amount: float, attributes: Attributes) -> None:
        """Take in a figure."""
        self._figures[name].record(amount, attributes)


class OtelSpan:
    """A span of OpenTelemetry's."""

    def __init__(self, span: trace.Span) -> None:
        self.span = span

    def rename(self, name: str) -> None:
        """Call it something else."""
        self.span.update_name(name)

    def set(self, attributes: Attributes) -> None:
        """Say more about it; with `error.type`, its status is an error."""
        self.span.set_attributes(attributes)
        if ERROR in attributes:
            self.span.set_status(trace.StatusCode.ERROR)

    def end(self) -> None:
        """It is over."""
        self.span.end()
