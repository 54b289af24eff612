"""The layers merged into one validated `Config`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from vestig.config.environment import user_folder
from vestig.config.files import (
    PATH_KEYS,
    FileNotPermittedError,
    Item,
    Problems,
    content_of,
    environment_settings,
    find_project_file,
    flatten,
    found_items,
    is_path,
    missing_file_text,
    names_weights_file,
    read_file,
    with_paths,
    with_weights,
    without_tilde,
    working_folder,
)
from vestig.config.merge import (
    PROFILE_KEYS,
    PROFILE_PREFIXES,
    PROFILES,
    Entry,
    Layer,
    check_layers,
    collapsed,
    merge_layers,
    merge_profiles,
    profiles_entry,
    unknown_key_text,
)
from vestig.config.schema import (
    MAPPINGS,
    Settings,
    default_values,
    entry_specs,
    mapping_of,
    settings_from,
    spec_of,
)
from vestig.config.service_sections import ONTOLOGY_VALUES, PROMPT_VALUES, prompt_faults
from vestig.errors import ConfigError, ConfigNotFoundError, ValidationError

_CALL_SECTIONS: Final = ", ".join(prefix[:-1] for prefix in PROFILE_PREFIXES)


class Config:
    """An immutable effective configuration.

    Example:
        >>> config = load(environ={}, overrides={"hygiene.min_chars": 3})
        >>> config.settings.hygiene.min_chars, config.origin("hygiene.min_chars")
        (3, 'call')
    """

    __slots__ = ("_data_folder", "_entries", "_folder", "_layers", "_profiles", "_settings")

    def __init__(self, layers: tuple[Layer, ...], folder: Path, data_folder: Path) -> None:
        self._layers = layers
        self._folder = folder
        self._data_folder = data_folder
        problems = Problems()
        check_layers(layers, problems)
        self._profiles = merge_profiles(layers)
        self._entries = merge_layers(layers, self._profiles, problems)
        self._entries[PROFILE_KEYS] = profiles_entry(layers, self._profiles)
        for key in PATH_KEYS:
            _place(self._entries, key, folder, data_folder)
        self._settings = _settings(self._entries, problems)

    @property
    def settings(self) -> Settings:
        """The values, nested by section."""
        return self._settings

    @property
    def passed_over(self) -> str | None:
        """Why the user's own file counts for nothing, though one may be there."""
        return next((one.passed_over for one in self._layers if one.passed_over), None)

    @property
    def profile(self) -> str:
        """Name of the recall profile in effect."""
        return self._settings.recall.profile

    @property
    def profile_names(self) -> tuple[str, ...]:
        """Names that `recall.profile` may take."""
        return tuple(sorted({*PROFILES, *self._profiles}))

    def effective(self) -> dict[str, Entry]:
        """Every key with its value and origin, in the order of the schema."""
        return {key: self.entry(key) for key in default_values()}

    def every_value(self) -> dict[str, Entry]:
        """Like `effective`, with each entry of the mappings, weights that are learned among
        them."""
        found: dict[str, Entry] = {}
        for key in default_values():
            names = [name for name in entry_specs() if mapping_of(name) == key] or [key]
            found.update({name: self.entry(name) for name in names})
        return found

    def entry(self, key: str) -> Entry:
        """Value and origin of a key, or of an entry of a mapping.

        Raises:
            ConfigError: unknown key.
        """
        if key in MAPPINGS:
            return collapsed(self._entries, key)
        spec = spec_of(key)
        if spec is None:
            raise ConfigError(unknown_key_text(key))
        return self._entries.get(key) or Entry(value=spec.default, layer="built-in")

    def origin(self, key: str) -> str:
        """Layer of a key's value, with the file, variable or profile that set it.

        Raises:
            ConfigError: unknown key.
        """
        entry = self.entry(key)
        return entry.layer if entry.file is None else f"{entry.layer} {entry.file}"

    def with_overrides(
        self, overrides: Mapping[str, Any] | None = None, profile: str | None = None
    ) -> Config:
        """This configuration for one call: keys of the sections
        that a profile may set.

        A profile named here replaces any other and stands above files; keys of the same call
        win over it.

        Raises:
            ConfigError: unknown key, a key that one call cannot set, wrong value, unknown profile.

        Example:
            >>> load(environ={}).with_overrides(profile="baseline").settings.ranking.base
            'cosine'
        """
        problems = Problems()
        items = _call_items(overrides, problems)
        for item in items:
            if spec_of(item.key) is not None and (
                not item.key.startswith(PROFILE_PREFIXES) or item.key == PROFILE_KEYS
            ):
                problems.add(
                    "call",
                    item.key,
                    f"one call sets only keys of {_CALL_SECTIONS};"
                    " set this one when the store is opened",
                )
        problems.raise_if_any()
        layer = _call_layer(items, profile)
        return Config((*self._layers, layer), self._folder, self._data_folder)

    def with_keys(self, values: Mapping[str, Any]) -> Config:
        """This configuration for a store that is opened anew, with any keys above all layers.

        Raises:
            ConfigError: unknown key, wrong value.

        Example:
            >>> load(environ={}).with_keys({"namespace": "work"}).settings.namespace
            'work'
        """
        problems = Problems()
        items = _call_items(values, problems)
        problems.raise_if_any()
        layer = _call_layer(items, None)
        return Config((*self._layers, layer), self._folder, self._data_folder)


def load(
    path: str | os.PathLike[str] | None = None,
    *,
    overrides: Mapping[str, Any] | None = None,
    profile: str | None = None,
    environ: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
) -> Config:
    """Reads and merges every layer. All faults are reported together.

    Args:
        path: the project file; default `VESTIG_CONFIG`, else the nearest `vestig.yaml` upward.
        overrides: keys of the call, nested or dotted; null resets a key to its default.
        profile: recall profile of the call, above files.
        environ: default the environment of the process.
        cwd: default the working directory.

    Raises:
        ConfigNotFoundError: a named file is missing.
        ConfigError: anything else that cannot be used.

    Example:
        >>> load(environ={"VESTIG_NAMESPACE": "work"}).settings.namespace
        'work'
    """
    variables = os.environ if environ is None else environ
    folder = working_folder() if cwd is None else Path(cwd).absolute()
    problems = Problems()
    named = variables.get("VESTIG_CONFIG") if path is None else os.fspath(path)
    if named is None:
        project = find_project_file(folder)
    elif named == "":
        raise ConfigError("VESTIG_CONFIG: expected a file name, got an empty text; unset it")
    else:
        project = folder / without_tilde(named, "the configuration file")
    layers = _file_layers(project, variables, problems, named=named is not None)
    set_by_variables = [
        item
        for key, value, variable in environment_settings(variables, problems)
        for item in flatten({key: value}, problems, file=variable)
    ]
    items = with_weights(set_by_variables, folder, problems)
    layers.append(Layer(name="environment", items=tuple(items)))
    layers.append(_call_layer(_call_items(overrides, problems), profile))
    try:
        config = Config(tuple(layers), folder, user_folder("data", variables).parent)
    except ConfigError as error:
        for problem in getattr(error, "problems", ()):
            problems.add(problem.place, problem.key, problem.message, problem.allowed)
        problems.raise_if_any()
        raise
    problems.raise_if_any()
    return config


def _file_layers(
    project: Path | None, variables: Mapping[str, str], problems: Problems, *, named: bool
) -> list[Layer]:
    """The user's own file and the project file. A project file that was found and says what only a
    named one may ends all work before anything else is read."""
    layers = []
    if project is not None:
        path = Path(os.path.realpath(project))
        raw = None if named and os.path.isdir(path) else content_of(path)
        if raw is None:
            raise ConfigNotFoundError(missing_file_text(path))
        items = read_file(path, raw, problems)
        if not named:
            items = found_items(path, items)
        items = with_paths(items, path.parent, problems)
        layers.append(Layer(name="project", items=tuple(items)))
    own = user_folder("config", variables) / "config.yaml"
    user = Path(os.path.realpath(own))
    try:
        raw = content_of(own)
        if raw is not None:
            items = with_paths(read_file(user, raw, problems), user.parent, problems)
            layers.insert(0, Layer(name="user", items=tuple(items)))
    except FileNotPermittedError as error:
        # the home may be that of somebody else; who named a file has said which one is meant
        if not named:
            raise ConfigError(
                f"{error}; set XDG_CONFIG_HOME to a folder that you may read, or name a"
                " configuration file (`config=`, `--config` or VESTIG_CONFIG)"
            ) from None
        layers.insert(0, Layer(name="user", passed_over=str(error)))
    return layers


def built_in(values: Mapping[str, Any]) -> Config:
    """The built-in values with these keys over them: no file, no environment, no user.

    Raises:
        ConfigError: unknown key, wrong value.

    Example:
        >>> built_in({"walk.start.limit": 7}).settings.walk.start.limit
        7
    """
    problems = Problems()
    items = _call_items(values, problems)
    problems.raise_if_any()
    return Config((_call_layer(items, None),), Path(), Path())


def _call_items(overrides: Mapping[str, Any] | None, problems: Problems) -> tuple[Item, ...]:
    """The keys of a call. They are values: a call never names a file to be read, for whoever sends
    one need not be who may read the files of this machine."""
    if overrides is None:
        return ()
    if not isinstance(overrides, Mapping):
        raise ConfigError(
            f"call: expected a mapping of keys to values, got a {type(overrides).__name__}"
        )
    items = flatten(overrides, problems)
    for item in items:
        if names_weights_file(item):
            problems.add(
                item.place,
                item.key,
                "expected a mapping {kind: {term: number}}, got text; only a configuration file"
                " or a variable may name a file of weights",
            )
    return tuple(item for item in items if not names_weights_file(item))


def _call_layer(items: tuple[Item, ...], profile: str | None) -> Layer:
    """A profile counts as named in the call by argument or by the key `recall.profile`."""
    if profile is not None and not isinstance(profile, str):
        raise ValidationError("profile", profile, "the name of a recall profile")
    for item in items:
        if item.key == "recall.profile" and profile is None and isinstance(item.value, str):
            profile = item.value
    return Layer(name="call", items=items, profile=profile)


def _place(entries: dict[str, Entry], key: str, cwd: Path, data_folder: Path) -> None:
    """The path of a key becomes absolute: against the file that names it, else the working
    directory."""
    entry = entries[key]
    if not is_path(entry.value):
        return
    # files have made theirs absolute
    folder = data_folder if entry.layer == "built-in" else cwd
    path = os.path.normpath(folder / without_tilde(entry.value, key))
    entries[key] = msgspec.structs.replace(entry, value=path)


def _settings(entries: Mapping[str, Entry], problems: Problems) -> Settings:
    problems.raise_if_any()
    settings = settings_from(
        {
            key: collapsed(entries, key).value if key in MAPPINGS else entries[key].value
            for key in default_values()
        }
    )
    _check_together(settings, entries, problems)
    problems.raise_if_any()
    return settings


def _check_together(settings: Settings, entries: Mapping[str, Entry], problems: Problems) -> None:
    """Rules that concern more than one value, or that a type cannot say."""
    hygiene = settings.hygiene
    if hygiene.min_chars > hygiene.max_chars:
        problems.add(
            _source(entries["hygiene.max_chars"]),
            "hygiene.max_chars",
            f"expected at least hygiene.min_chars ({hygiene.min_chars}), got {hygiene.max_chars}",
        )
    zone = settings.time.zone
    if zone != "UTC" and not _is_zone(zone):
        problems.add(
            _source(entries["time.zone"]),
            "time.zone",
            f"expected a time zone such as UTC or Europe/Berlin, got {zone!r}",
        )
    for name, placeholder in prompt_faults(settings.prompts):
        key = f"prompts.{name}"
        known = ", ".join(f"{{{{{value}}}}}" for value in (*PROMPT_VALUES[name], *ONTOLOGY_VALUES))
        text = f"expected only {known} in a template, got {{{{{placeholder}}}}}"
        problems.add(_source(entries[key]), key, text)
    _check_entity_types(settings, entries, problems)


# The type of names whose type the rules cannot tell.
_UNTYPED: Final = "UNTYPED"


def _check_entity_types(
    settings: Settings, entries: Mapping[str, Entry], problems: Problems
) -> None:
    """Names are not blank, appear once whatever their case, and leave UNTYPED alone."""
    types = settings.entities
    own = types.ontology
    if own == "insight":
        return
    key = "entities.allowed_types" if own is None else "entities.ontology"
    names = types.allowed_types if own is None else [entry.name for entry in own]
    place = _source(entries[key])
    plain = [name.strip().upper() for name in names]
    if "" in plain:
        problems.add(place, key, "expected names of entity types, got a blank name")
    if own is not None and any(not entry.description.strip() for entry in own):
        problems.add(place, key, "expected a description for every type, got a blank one")
    if _UNTYPED in plain:
        problems.add(place, key, f"{_UNTYPED} stands for names without a type; choose another name")
    twice = sorted({name for name in plain if name and plain.count(name) > 1})
    if twice:
        problems.add(place, key, f"two entries with one name: {', '.join(twice)}; keep one")


def _source(entry: Entry) -> str:
    return entry.layer if entry.file is None else entry.file


def _is_zone(name: str) -> bool:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True
