"""The few kinds of panel that the dashboard has, each with one look."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_uppercase

from grafana_foundation_sdk.builders import bargauge, common, dashboard, prometheus, stat, table, timeseries
from grafana_foundation_sdk.models import common as looks
from grafana_foundation_sdk.models import dashboard as models
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

DATASOURCE = models.DataSourceRef(type_val="prometheus", uid="${datasource}")
Panel = bargauge.Panel | stat.Panel | table.Panel | timeseries.Panel
Query = tuple[str, str]
"""An expression, and the legend of its series."""
_GOOD, _POOR, _BAD = "green", "yellow", "red"


def target(query: Query, ref_id: str = "A") -> prometheus.Dataquery:
    """One query of a panel; `ref_id` is a letter of its own."""
    expression, legend = query
    return prometheus.Dataquery().datasource(DATASOURCE).expr(expression).legend_format(legend).ref_id(ref_id)


def lines(
    title: str,
    description: str,
    queries: Sequence[Query],
    unit: str,
    *,
    stacked: bool = False,
    width: int = 12,
) -> timeseries.Panel:
    """Series over time, one upon the other where they are parts of a whole."""
    legend = (
        common.VizLegendOptions()
        .display_mode(looks.LegendDisplayMode.TABLE if width > 8 else looks.LegendDisplayMode.LIST)
        .placement(looks.LegendPlacement.RIGHT if width > 8 else looks.LegendPlacement.BOTTOM)
        .show_legend(True)
        .calcs(["mean"] if width > 8 else [])
    )
    panel = (
        timeseries.Panel()
        .title(title)
        .description(description)
        .datasource(DATASOURCE)
        .unit(unit)
        .min(0)
        .span(width)
        .height(8)
        .fill_opacity(60 if stacked else 0)
        .line_width(0 if stacked else 2)
        .show_points(looks.VisibilityMode.NEVER)
        .legend(legend)
        .tooltip(
            common.VizTooltipOptions()
            .mode(looks.TooltipDisplayMode.MULTI)
            .sort(looks.SortOrder.DESCENDING)
            .hide_zeros(True)
        )
    )
    if stacked:
        panel.stacking(common.StackingConfig().mode(looks.StackingMode.NORMAL))
    for letter, query in zip(ascii_uppercase, queries, strict=False):
        panel.with_target(target(query, letter).range())
    return panel


def number(
    title: str, description: str, expression: str, unit: str, bounds: Sequence[float] = ()
) -> stat.Panel:
    """One number of now; with `bounds` it turns yellow and red, with one of them red."""
    colours = [_POOR, _BAD][-len(bounds) :] if bounds else []
    steps = [models.Threshold(value=None, color=_GOOD if bounds else "text")]
    steps += [
        models.Threshold(value=bound, color=colour) for bound, colour in zip(bounds, colours, strict=True)
    ]
    return (
        stat.Panel()
        .title(title)
        .description(description)
        .datasource(DATASOURCE)
        .unit(unit)
        .span(4)
        .height(4)
        .graph_mode(looks.BigValueGraphMode.NONE)
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
        .color_scheme(dashboard.FieldColor().mode(models.FieldColorModeId.THRESHOLDS))
        .thresholds(dashboard.ThresholdsConfig().mode(models.ThresholdsMode.ABSOLUTE).steps(steps))
        .with_target(target((expression, "")).instant())
    )


def bars(title: str, description: str, query: Query, unit: str, *, width: int = 12) -> bargauge.Panel:
    """A bar for each series, the longest first, over the range shown."""
    expression, legend = query
    return (
        bargauge.Panel()
        .title(title)
        .description(description)
        .datasource(DATASOURCE)
        .unit(unit)
        .decimals(2)
        .min(0)
        .span(width)
        .height(12)
        .display_mode(looks.BarGaugeDisplayMode.BASIC)
        .orientation(looks.VizOrientation.HORIZONTAL)
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
        .color_scheme(dashboard.FieldColor().mode(models.FieldColorModeId.FIXED).fixed_color("blue"))
        .with_target(target((f"sort_desc({expression})", legend)).instant())
    )


def rows(title: str, description: str, columns: Sequence[Query], *, width: int = 12) -> table.Panel:
    """A table of the label sets that the queries share: their labels, and a column for each query by its name."""
    panel = table.Panel().title(title).description(description).datasource(DATASOURCE).span(width).height(12)
    names = {}
    for letter, query in zip(ascii_uppercase, columns, strict=False):
        panel.with_target(target(query, letter).instant().format(PromQueryFormat.TABLE))
        names["Value" if len(columns) == 1 else f"Value #{letter}"] = query[1]
    panel.with_transformation(models.DataTransformerConfig(id_val="merge", options={}))
    panel.with_transformation(
        models.DataTransformerConfig(
            id_val="organize", options={"excludeByName": {"Time": True}, "renameByName": names}
        )
    )
    if len(columns) > 1:
        most = common.TableSortByFieldState().display_name(columns[0][1]).desc(True)
        panel.decimals(2).unit("short").sort_by([most])
    return panel
