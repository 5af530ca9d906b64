"""`make bench`: ours against tiktoken on the same texts in the same run."""
