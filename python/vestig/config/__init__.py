"""Configuration: layers, files, environment, validation, explanation.

The only place that reads the environment of the process.
"""

from vestig.config.explain import Explanation, ShownEntry, explain, explanations, show
from vestig.config.load import Config, built_in, load, state_directory
from vestig.config.merge import Entry
from vestig.config.problems import InvalidConfigError, Problem
from vestig.config.schema import KEYS, Settings
from vestig.config.secrets import read_secret

__all__ = [
    "KEYS",
    "Config",
    "Entry",
    "Explanation",
    "InvalidConfigError",
    "Problem",
    "Settings",
    "ShownEntry",
    "built_in",
    "explain",
    "explanations",
    "load",
    "read_secret",
    "show",
    "state_directory",
]
