"""`tokenwire report`: what texts cost in tokens, before any money is spent.

`texts.py` finds the units of text, `measuring.py` counts what they are in `numbers.py`, and three files show that:
`terminal.py`, `as_json.py` and `page.py`, with its `charts.py`. `cli.py` is the command.
"""
