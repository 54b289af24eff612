"""Tools of others on the texts, questions and vectors that Vestig is measured with.

A module a tool: `MODES` names the ways in which it searches, `Tool` stores texts in a folder and
searches them. `ask.py` runs one in an environment that holds its package alone;
`benches/measure_peers.py` makes the environments and the figures.
"""
