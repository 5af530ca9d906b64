"""Draws the picture of the dashboard in the docs: `python -m tests.system.draw_views`, some three minutes.

The numbers are those of a run: a service under a load in many languages, in which somebody indexes a Japanese archive
for a while and later a caller asks for a tokenizer that is not there; a Prometheus; and the dashboard's own queries.
"""

from __future__ import annotations

import contextlib
import statistics
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import matplotlib
import tokenwire
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator

from tests.service import ROOT, running_service
from tests.system.dashboard import QUERIES, offered, substituted
from tests.system.mixed_load import MESSAGES, TOKENIZERS, mixed_load
from tests.system.prometheus_process import Prometheus, once_there, prometheus

FILE = ROOT / "docs" / "dashboard.png"
# fmt: off
LANGUAGES = MappingProxyType({
    "ar": "Arabic", "bn": "Bengali", "de": "German", "el": "Greek", "en": "English", "es": "Spanish",
    "fr": "French", "he": "Hebrew", "hi": "Hindi", "ja": "Japanese", "ko": "Korean", "pl": "Polish",
    "ru": "Russian", "ta": "Tamil", "th": "Thai", "tr": "Turkish", "vi": "Vietnamese", "zh": "Chinese",
})
# fmt: on
RATE_INTERVAL, RATE_INTERVAL_S = "10s", 10.0
RUN_S = 160.0
ARCHIVE_S, WRONG_NAME_S = (45.0, 85.0), (105.0, 135.0)
"""When the two events begin and end, in seconds of the run."""
N_NAMED = 8
QUANTILES = MappingProxyType({"P50": "Duration A", "P95": "Duration B", "P99": "Duration C"})
"""The queries of one panel."""

INK, QUIET, GRID = "#222222", "#767676", "#e6e6e6"
ACCENT, BASE = "#c2541b", "#1f5c99"
QUANTILE_COLOURS = ("#88b0d6", BASE, ACCENT)
SHADES = ("#dddddd", "#d3e2f0", "#b5d0e8", "#94bbdd", "#72a4cf", "#5089bd", "#3470a8", "#1f578c", ACCENT)
STYLE: dict[Any, object] = {
    "font.size": 9,
    "text.color": INK,
    "axes.edgecolor": "#bbbbbb",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "ytick.labelcolor": INK,
    "axes.axisbelow": True,
    "figure.constrained_layout.w_pad": 0.12,
    "figure.constrained_layout.h_pad": 0.14,
}

Series = dict[str, list[tuple[float, float]]]
"""By the value of one label: seconds of the run, and a value."""


@dataclass(frozen=True, slots=True)
class Run:
    """What the dashboard's queries gave after a run."""

    tokens: Series
    durations: Series
    errors: Series
    costs: dict[tuple[str, str], float]
    """Tokens per character relative to English, by language and tokenizer."""


def japanese_archive(client: tokenwire.Client) -> None:
    """Some longer documents."""
    client.count(TOKENIZERS[0], [MESSAGES["ja"] * 8] * 3, language="ja")


def wrong_name(client: tokenwire.Client) -> None:
    """A request for a tokenizer that nobody has."""
    with contextlib.suppress(tokenwire.TokenwireError):
        client.count("my-own-tokenizer", MESSAGES["en"])


def between(
    address: str, from_s: float, to_s: float, send: Callable[[tokenwire.Client], None]
) -> threading.Thread:
    """A caller of its own that sends 15 times a second between two times of the run, which begins now."""
    started_s = time.monotonic()

    def run() -> None:
        pause = threading.Event()
        pause.wait(from_s)
        with tokenwire.Client(address) as client:
            while time.monotonic() < started_s + to_s:
                send(client)
                pause.wait(1 / 15)

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def measure() -> Run:
    """Run the service and its load, and ask Prometheus."""
    with (
        running_service() as service,
        mixed_load(service.address, pause_s=0.05),
        prometheus(service.http_address) as server,
    ):
        once_there(lambda: server.query("sum(rate(tokenwire_tokens_total[5s])) > 0"))
        threading.Event().wait(RATE_INTERVAL_S)  # Until the rates have their whole interval behind them.
        start_s = time.time()
        callers = [
            between(service.address, *ARCHIVE_S, japanese_archive),
            between(service.address, *WRONG_NAME_S, wrong_name),
        ]
        threading.Event().wait(RUN_S)
        for caller in callers:
            caller.join()
        costs = server.query(filled(server, "Tokens per character, relative to English A"))
        quantiles = {name: over_time(server, query, "", start_s) for name, query in QUANTILES.items()}
        return Run(
            over_time(server, "Tokens by language A", "language", start_s),
            {name: points for name, found in quantiles.items() for points in found.values()},
            over_time(server, "Errors per request, by reason A", "reason", start_s),
            {
                (entry["metric"]["language"], entry["metric"]["tokenizer"]): float(entry["value"][1])
                for entry in costs
            },
        )


def filled(server: Prometheus, name: str) -> str:
    """A query of the dashboard with all values of its variables."""
    return substituted(QUERIES[name], offered(server), RATE_INTERVAL, span=f"{RUN_S:.0f}s")


def over_time(server: Prometheus, name: str, label: str, start_s: float) -> Series:
    """A query of the dashboard over the run."""
    answer = server.ask(
        "query_range",
        query=filled(server, name),
        start=f"{start_s:.3f}",
        end=f"{start_s + RUN_S:.3f}",
        step="1",
    )
    return {
        series["metric"].get(label, ""): [
            (float(at_s) - start_s, float(value)) for at_s, value in series["values"]
        ]
        for series in answer["result"]
    }


def write(run: Run) -> None:
    """The picture of the four panels."""
    matplotlib.rcParams.update(STYLE)
    figure = Figure(figsize=(11, 8), dpi=100, layout="constrained")
    (tokens, costs), (durations, errors) = figure.subplots(2, 2, width_ratios=(1.12, 1))
    draw_tokens(tokens, run.tokens)
    draw_costs(costs, run.costs)
    draw_durations(durations, run.durations)
    draw_errors(errors, run.errors)
    figure.savefig(FILE, metadata={"Software": None}, pil_kwargs={"optimize": True})


def titled(axes: Axes, title: str, unit: str) -> None:
    axes.set_title(title, loc="left", fontsize=11.5, fontweight="bold", pad=20)
    axes.text(0, 1.025, unit, transform=axes.transAxes, fontsize=9, color=QUIET)


def timed(axes: Axes) -> None:
    """The axis of time, in minutes and seconds."""
    axes.set_xlim(0, RUN_S)
    axes.xaxis.set_major_locator(FixedLocator(range(0, int(RUN_S) + 1, 30)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda at_s, _: f"{int(at_s) // 60}:{int(at_s) % 60:02}"))
    axes.set_xlabel("time, min:s", fontsize=9, color=QUIET)
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=(1, 2, 5, 10)))
    axes.grid(axis="y", color=GRID, linewidth=0.8)


def draw_tokens(axes: Axes, tokens: Series) -> None:
    """Tokens by language, one upon the other: the smaller ones together, then the steadiest, so waves lie on top."""
    titled(axes, "Tokens by language", "thousands of tokens per second, stacked")
    times = sorted({at_s for points in tokens.values() for at_s, _ in points})
    found = {language: dict(points) for language, points in tokens.items()}
    heights = {
        language: [values.get(at_s, 0.0) / 1e3 for at_s in times] for language, values in found.items()
    }
    ranked = sorted(heights, key=lambda language: sum(heights[language]), reverse=True)
    named = sorted(
        ranked[:N_NAMED], key=lambda language: max(heights[language]) - statistics.median(heights[language])
    )
    others = [sum(values) for values in zip(*(heights[name] for name in ranked[N_NAMED:]), strict=True)]
    layers = [others, *(heights[name] for name in named)]
    axes.stackplot(times, layers, colors=SHADES, edgecolor="white", linewidth=0.5)
    timed(axes)
    labels = [f"{len(ranked) - N_NAMED} others", *(LANGUAGES.get(name, name) for name in named)]
    beside(axes, labels, [layer[-1] for layer in layers])


def beside(axes: Axes, labels: list[str], heights: list[float]) -> None:
    """The names of stacked layers at their right ends, moved apart where those are thin."""
    least = axes.get_ylim()[1] * 0.052
    below, last = 0.0, -least
    for label, height, shade in zip(labels, heights, SHADES, strict=True):
        place = max(below + height / 2, last + least)
        axes.plot([RUN_S * 1.012] * 2, [place - least * 0.3, place + least * 0.3], color=shade, linewidth=6,
                  clip_on=False, solid_capstyle="butt")  # fmt: skip
        axes.text(RUN_S * 1.03, place, label, fontsize=9, va="center", color=INK)
        below, last = below + height, place


def draw_costs(axes: Axes, costs: dict[tuple[str, str], float]) -> None:
    """What a character costs against English: a dot for each tokenizer, joined for each language."""
    titled(axes, "Tokens per character, relative to English", "English text with the same tokenizer = 1")
    languages = sorted(
        {language for language, _ in costs} - {"en"}, key=lambda name: costs[name, TOKENIZERS[1]]
    )
    for place, language in enumerate(languages):
        new, old = (costs[language, tokenizer] for tokenizer in TOKENIZERS)
        axes.plot([new, old], [place, place], color="#c8c8c8", linewidth=2, zorder=2)
        axes.plot(old, place, "o", color=ACCENT, markersize=6.5, zorder=3)
        axes.plot(new, place, "o", color=BASE, markersize=6.5, zorder=4)
    axes.axvline(1, color=QUIET, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    axes.set_yticks(range(len(languages)), [LANGUAGES[language] for language in languages], fontsize=9)
    axes.set_ylim(-0.7, len(languages) - 0.2)
    axes.set_xlim(left=0)
    axes.grid(axis="x", color=GRID, linewidth=0.8)
    axes.set_xlabel("times as many tokens for a character", fontsize=9, color=QUIET)
    for tokenizer, colour, height in zip(TOKENIZERS, (BASE, ACCENT), (0.16, 0.09), strict=True):
        axes.plot(0.68, height, "o", color=colour, markersize=6.5, transform=axes.transAxes)
        axes.text(0.71, height, tokenizer, fontsize=9.5, color=colour, va="center", transform=axes.transAxes)


def draw_durations(axes: Axes, durations: Series) -> None:
    """Quantiles of the duration of requests, named at their right ends."""
    titled(axes, "Duration of requests", "milliseconds from the arrival of a request to its answer")
    for points, colour in zip(durations.values(), QUANTILE_COLOURS, strict=True):
        axes.plot(
            [at_s for at_s, _ in points], [value * 1e3 for _, value in points], color=colour, linewidth=1.8
        )
    timed(axes)
    least = axes.get_ylim()[1] * 0.055
    last = -least
    for (name, points), colour in zip(durations.items(), QUANTILE_COLOURS, strict=True):
        last = max(points[-1][1] * 1e3, last + least)
        axes.text(RUN_S * 1.015, last, name, color=colour, fontsize=9.5, va="center")


def draw_errors(axes: Axes, errors: Series) -> None:
    """Errors per request, by reason."""
    titled(axes, "Errors per request, by reason", "percent of the requests that came")
    for (reason, points), colour in zip(sorted(errors.items()), (BASE, ACCENT), strict=True):
        axes.plot(
            [at_s for at_s, _ in points], [value * 100 for _, value in points], color=colour, linewidth=1.8
        )
        # Named at its peak; what there was all the time is named where the events are not.
        at_s, value = max(points, key=lambda point: point[1]) if len(points) < RUN_S * 0.9 else points[30]
        axes.annotate(
            reason,
            (at_s, value * 100),
            (0, 5),
            textcoords="offset points",
            color=colour,
            fontsize=9.5,
            ha="center",
        )
    timed(axes)
    axes.set_ylim(top=axes.get_ylim()[1] * 1.1)


if __name__ == "__main__":
    write(measure())
