"""`python -m tests.languages`: the tables of docs/languages.md, on corpora and on message catalogues."""
