"""The tools behind `tokenwire artifacts` and `tokenwire report`. The serving process imports none of them.

Begin with the commands, `cli_*.py`: add, prove, list, verify and diff; `report/` has its own. `adding.py` takes a
tokenizer into a deployment, with `detect.py` and `findings.py`; `proving.py` makes golden vectors with a
`reference_library.py`; `verifying.py` holds a deployment to its lock, and `model_config.py` a tokenizer to its model;
`diffing.py` compares two tokenizers on a `corpus.py`.
"""
