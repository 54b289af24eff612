"""Recalling: from the arguments of a call to its results with their reasons.

RecallRequest (the call) → Request (checked) → Query (analysed) → BoundQuery (entities and seed of
one seq).
"""

import sys

from vestig.other_words import NamedAsCall

sys.modules[__name__].__class__ = NamedAsCall
