"""`make bench`: ours against the peers on the same texts in the same run."""
