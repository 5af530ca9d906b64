"""The committed dashboard equals a fresh build of its script."""

from __future__ import annotations

import json

from deploy.grafana import build


def test_the_dashboard_is_current() -> None:
    """Whoever changes a panel runs `python -m deploy.grafana.build`."""
    assert build.FILE.read_text() == build.build()


def test_every_panel_says_what_it_answers() -> None:
    """Each panel has a title of its own and a description, and lies on the grid beside the others, not upon them."""
    panels = json.loads(build.FILE.read_text())["panels"]
    titles = [panel["title"] for panel in panels]
    assert len(set(titles)) == len(titles) == len({panel["id"] for panel in panels})
    places: set[tuple[int, int]] = set()
    for panel in panels:
        assert panel["type"] == "row" or panel["description"].endswith(".")
        at = panel["gridPos"]
        taken = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert max(x for x, _ in taken) < 24
        assert places.isdisjoint(taken)
        places |= taken
