"""Markup: HTML elements whose text and attributes cannot become markup themselves."""

from __future__ import annotations

import html
from collections.abc import Iterable


class Markup(str):
    """HTML to be taken as it is; any other string is text."""

    __slots__ = ()


_VOID = frozenset({"meta"})


def element(name: str, /, *children: str | Iterable[Markup], **attributes: str | float) -> Markup:
    """An element; `class_` and `aria_label` stand for `class` and `aria-label`, lengths are cut to a tenth."""
    opening = "".join(f' {_name(key)}="{html.escape(_value(value))}"' for key, value in attributes.items())
    if name in _VOID:
        return Markup(f"<{name}{opening}>")
    return Markup(f"<{name}{opening}>{''.join(map(_content, children))}</{name}>")


def _content(child: str | Iterable[Markup]) -> str:
    if isinstance(child, Markup):
        return child
    return html.escape(child) if isinstance(child, str) else "".join(child)


def _name(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


def _value(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.1f}".removesuffix(".0")
