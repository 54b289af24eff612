"""Configuration: layers, files, environment, validation, explanation.

The only place that reads the environment of the process.
"""

from vestig.config.explain import Explanation, ShownEntry, explain, explanations, show
from vestig.config.folders import state_directory
from vestig.config.load import Config, built_in, load
from vestig.config.merge import Entry
from vestig.config.problems import InvalidConfigError, Problem
from vestig.config.schema import KEYS, Settings
from vestig.config.secrets import read_secret
from vestig.config.trust import TrustedFile, trust, trusted_files, untrust

__all__ = [
    "KEYS",
    "Config",
    "Entry",
    "Explanation",
    "InvalidConfigError",
    "Problem",
    "Settings",
    "ShownEntry",
    "TrustedFile",
    "built_in",
    "explain",
    "explanations",
    "load",
    "read_secret",
    "show",
    "state_directory",
    "trust",
    "trusted_files",
    "untrust",
]
