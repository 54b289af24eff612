"""Agentic retrieval: facts, messages and a confidence for the end of a conversation."""

import sys

from vestig.other_words import NamedAsCall

sys.modules[__name__].__class__ = NamedAsCall
