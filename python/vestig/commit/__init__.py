"""How a memory enters the store; only the store writes. `pipeline` names the stages."""

import sys

from vestig.other_words import NamedAsCall

sys.modules[__name__].__class__ = NamedAsCall
