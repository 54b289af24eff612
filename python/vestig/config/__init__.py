"""Configuration: layers, files, environment, validation, explanation.

The only place that reads the environment of the process. What explains (`explain`) and what trusts
files (`trust`) is imported from its module by those that need it: an open store does not.
"""

from vestig.config.folders import state_directory
from vestig.config.load import Config, built_in, load
from vestig.config.merge import Entry
from vestig.config.problems import InvalidConfigError, Problem
from vestig.config.schema import Settings
from vestig.config.secrets import read_secret

__all__ = [
    "Config",
    "Entry",
    "InvalidConfigError",
    "Problem",
    "Settings",
    "built_in",
    "load",
    "read_secret",
    "state_directory",
]
