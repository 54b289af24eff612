"""The text of a memory: how it is stored, whether it is worth storing, how long it will hold."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from vestig.arguments import check_unicode
from vestig.config.schema import HygieneSettings
from vestig.language.names import quotations, starts_sentence
from vestig.language.text_forms import normal_form, trimmed, unusable_reason, word_list
from vestig.language.time.expressions import PRESENT_CUE, TemporalExpression, lowered
from vestig.language.words import APOSTROPHES, STOPWORDS, expanded
from vestig.lazy_pattern import lazy_pattern
from vestig.times import DAY_US
from vestig.types import Stability

# Texts that say nothing by themselves.
_FILLERS: Final = frozenset(
    ("ok", "okay", "thanks", "thx", "lol", "haha", "yeah", "yep", "nope", "k")
)
_SHOWN_CHARS: Final = 50
# The text as it was given may be so many times longer than its normal form may be.
_WHITE_SPACE_FACTOR: Final = 4
# A text about a time this near its reference may be about a passing state.
_NEAR_DAYS: Final = 2


class TextForms(NamedTuple):
    """`normal`: the form that hashes, words and vectors are made of. `given`: the text that a
    caller gets back, as it was given but for white space at its ends."""

    normal: str
    given: str


def check_text(text: object) -> str:
    """Return a caller's text.

    Raises:
        TypeError: not a string.
    """
    if not isinstance(text, str):
        hint = "pass the text itself"
        if isinstance(text, (list, tuple)):
            hint = "commit_many stores several; of the blocks of a message those of text are read"
        elif isinstance(text, Mapping):
            hint = "commit_many([message]) stores a message, with its role and author"
        raise TypeError(f"content: expected str, got {type(text).__name__}; {hint}")
    return text


def normalise(text: object, settings: HygieneSettings) -> str:
    """The normal form of a text: trimmed, in NFC, without characters that are not seen, and by
    default with single spaces but for the indentation of lines. Lengths, hashes, words and vectors
    are made of it.

    Case and punctuation stay.

    Args:
        text: what the caller committed.
        settings: the configuration section `hygiene`.

    Raises:
        TypeError: not a string.
        ValidationError: a lone surrogate.

    Example:
        >>> normalise("  two\\t words\\n", HygieneSettings())
        'two words'
    """
    text = check_text(text)
    check_unicode("content", text)
    return normal_form(text, single_spaces=settings.normalize_whitespace)


def text_forms(text: object, settings: HygieneSettings) -> TextForms:
    """Both forms of a text.

    Args:
        text: what the caller committed.
        settings: the configuration section `hygiene`.

    Raises:
        TypeError: not a string.
        ValidationError: a lone surrogate.

    Example:
        >>> text_forms("\\tif so:\\n\\t\\tstop\\n", HygieneSettings())
        TextForms(normal='if so:\\n\\t\\tstop', given='if so:\\n\\t\\tstop')
    """
    normal = normalise(text, settings)
    assert isinstance(text, str), "checked by normalise"
    return TextForms(normal, trimmed(text))


def content_hash(normalised: str) -> str:
    """Lower-case hex SHA-256 of the UTF-8 bytes of a normalised text.

    Example:
        >>> content_hash("Vestig keeps the ledger as its single source of truth.")[:16]
        'a4edb32bfc9bafa8'
    """
    return hashlib.sha256(normalised.encode("utf-8")).hexdigest()


def refusal_reason(
    text: str,
    settings: HygieneSettings,
    *,
    turn: bool = False,
    keyed: bool = False,
    given_chars: int = 0,
) -> str | None:
    """Why a normalised text is refused, or None when it may pass.

    Lengths are code points; both bounds are inclusive. The first failing check decides.

    Args:
        text: a text that went through `normalise`.
        settings: the configuration section `hygiene`.
        turn: whether it is a turn of a conversation: what answers another text may be short.
        keyed: whether it is the value of a key: what the key asks for may be short, or a word that
            says nothing by itself.
        given_chars: length of the text as it was given, white space included.

    Example:
        >>> refusal_reason("ok", HygieneSettings())
        'Content too short: 2 chars (minimum: 12, or two words that say something)'
        >>> refusal_reason("yes", HygieneSettings(), turn=True) is None
        True
    """
    unusable = unusable_reason(text)
    if unusable is not None:
        return unusable
    length = len(text)
    if not turn and not keyed and is_too_short(text, settings.min_chars):
        least = f"minimum: {settings.min_chars}, or two words that say something"
        return f"Content too short: {length} chars ({least})"
    if length > settings.max_chars:
        return (
            f"Content too long: {length} chars (maximum: {settings.max_chars})."
            " Split it into several memories, commit a summary, or add it as a document,"
            " which is cut into passages."
        )
    given_max = _WHITE_SPACE_FACTOR * settings.max_chars
    if given_chars > given_max:
        return f"Content too long: {given_chars} chars with white space (maximum: {given_max})"
    if not keyed and _is_filler(text):
        return f"Content rejected: appears to be non-substantive ('{text[:_SHOWN_CHARS]}')"
    return None


def says_nothing(text: str, settings: HygieneSettings) -> bool:
    """Return whether a normalised text is too short or too empty to be a memory by itself.

    Example:
        >>> says_nothing("ok, thanks", HygieneSettings()), says_nothing("", HygieneSettings())
        (True, False)
        >>> says_nothing("The crane lifts nine tons.", HygieneSettings())
        False
    """
    return bool(text) and (is_too_short(text, settings.min_chars) or _is_filler(text))


def _is_filler(text: str) -> bool:
    return text.lower() in _FILLERS or is_bare(text)


def is_bare(text: str) -> bool:
    """Return whether a text has no letter, digit or symbol.

    Example:
        >>> is_bare("---"), is_bare(""), is_bare("+1")
        (True, True, False)
    """
    return not any(unicodedata.category(char)[0] in "LNS" for char in text)


def derive_stability(
    text: str,
    expressions: Sequence[TemporalExpression],
    t_ref_us: int,
    *,
    given: Stability | None = None,
) -> Stability:
    """How long the text will hold true: the caller's value; else `ephemeral` when its only time is
    within two days of its reference and it speaks of the present or the future; else `unknown`. A
    time that lies on either side of the reference makes no text ephemeral.

    Args:
        text: the memory's text.
        expressions: its windows, as `find_windows` gave them for the same reference.
        t_ref_us: the reference, microseconds since the epoch.
        given: the caller's value, None = none.

    Example:
        >>> from vestig.language.time.expressions import find_windows
        >>> derive_stability("I am tired today", find_windows("I am tired today", 0), 0).value
        'ephemeral'
        >>> derive_stability("I am from Oslo", [], 0).value
        'unknown'
    """
    if given is not None:
        return given
    windows = [item for item in expressions if item.resolved]
    if len(windows) != 1:
        return Stability.UNKNOWN
    start, end = windows[0].window_start_us, windows[0].window_end_us
    if start is None or end is None:
        return Stability.UNKNOWN
    # Whole days: a window of the second day from the reference's own day still counts.
    if start <= t_ref_us - (_NEAR_DAYS + 1) * DAY_US or end >= t_ref_us + (_NEAR_DAYS + 1) * DAY_US:
        return Stability.UNKNOWN
    # imported here: most texts name no time
    from vestig.language.time.cues import Direction, has_cue

    lower = lowered(text).replace("’", "'")
    speaks_of_these_days = PRESENT_CUE.search(lower) is not None or has_cue(
        text, lower, Direction.FUTURE
    )
    return Stability.EPHEMERAL if speaks_of_these_days else Stability.UNKNOWN


# --- short texts ------------------------------------------------------------------------------

# Han, Hiragana, Katakana, Hangul and Thai: such a character says about as much as three letters.
_DENSE: Final = lazy_pattern(
    "[\u0e01-\u0e3a\u0e40-\u0e5b\u1100-\u11ff\u2e80-\u2fdf\u3005\u3007\u3021-\u3029\u3038-\u303b\u3041-\u30ff\u3130-\u318f"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7fb\uf900-\ufaff\uff66-\uffdc"
    "\U00020000-\U0003ffff]"
)
_DENSE_WORTH: Final = 3
_WORDS_MIN: Final = 2
_LETTERS: Final = lazy_pattern(r"[^\W\d_]{2,}")
_WORD: Final = lazy_pattern(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_NEGATIONS: Final = frozenset(
    word_list(
        "not no never none nobody nothing neither nor without hardly stop stops stopped stopping"
        " cease ceases ceased ceasing fail fails failed failing"
        # German, Dutch
        " nicht nichts kein keine keinen keinem keiner keines nie niemals niemand ohne weder"
        " niet niets geen nooit zonder"
        # French, Spanish, Portuguese, Italian, Romanian
        " ne pas sans jamais rien aucun aucune sin nunca nada nadie ningún ninguna tampoco"
        " não sem ninguém nenhum nenhuma non senza niente nessuno nessuna fără nimic niciodată"
        # Danish, Norwegian, Swedish, Finnish, Hungarian, Turkish
        " ikke ikkje ingen intet ingenting aldri aldrig uden uten inte inget inga utan icke"
        " ei eivät ilman nem nincs nincsenek soha semmi nélkül değil yok yoktur hiç asla"
        # Polish, Czech, Slovak, Croatian
        " bez nigdy nikt nic żaden żadna není nejsem nikdy nikdo žádný žádná nič nikto nema nisam"
        " nije nikad ništa"
        # Russian, Ukrainian, Bulgarian, Greek
        " не нет ни без никогда никто ничего нельзя ні немає ніколи ніхто нічого няма никога"
        " δεν δε μη μην όχι χωρίς ποτέ τίποτα κανείς"
        # Arabic, Persian, Hebrew, Hindi, Vietnamese, Indonesian
        " لا ليس ليست لست لم لن ما غير بدون بلا أبدا نه نیست ندارم بی هیچ לא אין בלי אף"
        " नहीं मत बिना कभी không chưa chẳng đừng tidak bukan tanpa jangan belum"
    )
)
_FIRST_PERSON: Final = frozenset(
    word_list(
        "i me my mine we our us ich mich mir mein meine wir uns unser ik mij mijn wij"
        " je j'ai moi mon ma mes nous notre yo mi mis nosotros nuestro eu meu minha nós io mio mia"
        " noi nostro jeg meg mig mit mitt vi vår jag mitt ben benim biz mój moja já můj"
        " я мне меня мой моя мы нас εγώ μου أنا نحن אני אנחנו मैं मेरा मेरी मुझे हम"
        " tôi saya aku kami minä én"
    )
)
# The first person of being and having, with or without its pronoun.
_I_AM: Final = frozenset(
    word_list(
        "am was were have had bin habe sind ben heb suis ai sommes soy estoy tengo sou estou tenho"
        " sono ho er har är jestem mam jsem mám είμαι έχω olen vagyok"
    )
)
# They stand for themselves as "I am": their pronoun is left out.
_WITHOUT_PRONOUN: Final = frozenset(
    word_list("soy estoy tengo sou estou tenho jestem mam jsem mám είμαι έχω olen vagyok j'ai")
)
# What says nothing of a person or a thing: "I'm fine", "we are here", "nice job", "merci bien".
_EMPTY: Final = frozenset(
    word_list(
        "ok okay fine good great well sure sorry here there back done ready glad happy in on it so"
        " too also yes see agree think guess know mean hope understand get got did do can will"
        " nice cool true right exactly indeed perfect super wow job work thank thanks thx please"
        " welcome hi hello hey bye goodbye later morning evening night lol haha yeah yep nope"
        " danke bitte ja genau gut alles klar merci bien oui gracias sí grazie prego obrigado"
        " obrigada tak tack takk skal du dank je wel спасибо да хорошо"
    )
)
# The third person of English verbs that facts are told with.
_HE_IS: Final = frozenset(word_list("is are was were"))
# Where somebody or something is said to be by one word.
_STATES: Final = frozenset(word_list("in out on off up down away over"))
_HE_DOES: Final = frozenset(
    word_list(
        "has had owns wears drives uses runs plays reads speaks teaches studies works lives moved"
        " likes loves hates prefers avoids wants needs drinks eats smokes sings collects"
    )
)
# Characters that negate or say "I" in scripts without spaces.
_DENSE_SIGNS: Final = frozenset("不没沒无無非別别勿我私僕俺")
_DENSE_MIN: Final = 3
_CONTENT_MIN: Final = 2


def is_too_short(text: str, chars_min: int) -> bool:
    """Return whether a note is shorter than the minimum and holds nothing that makes up for it.

    A character of Han, Hiragana, Katakana, Hangul or Thai counts as three. A shorter text of at
    least two words passes when it holds two words of content, a digit, a quotation, a capitalised
    word inside a sentence, a negation, the first person and two words of content, of which being
    and having count, or says in English what another is or does.

    Args:
        text: a normalised text.
        chars_min: the least number of code points (`hygiene.min_chars`).

    Example:
        >>> [is_too_short(text, 12) for text in ("I'm 34.", "Tess swims.", "good point", "ok")]
        [False, False, True, True]
    """
    if len(text) >= chars_min:
        return False
    dense = len(_DENSE.findall(text))
    if len(text) + (_DENSE_WORTH - 1) * dense >= chars_min:
        return False
    if dense >= _DENSE_MIN and not _DENSE_SIGNS.isdisjoint(text):
        return False
    words = [word for word in text.split() if any(map(str.isalnum, word))]
    return len(words) < _WORDS_MIN or not _is_specific(text)


def speaks_of_itself(text: str) -> bool:
    """Return whether a text holds a word of the first person.

    Example:
        >>> speaks_of_itself("I'm in Porto"), speaks_of_itself("Maria is in Porto")
        (True, False)
    """
    return not (_FIRST_PERSON | _WITHOUT_PRONOUN).isdisjoint(_words_of(text))


def _words_of(text: str) -> list[str]:
    """The words of a text, in lower case, contractions in full."""
    found = _WORD.findall(text.lower().translate(APOSTROPHES))
    return [part for word in found for part in expanded(word, "")]


def _is_specific(text: str) -> bool:
    return (
        any(map(str.isdigit, text))
        or bool(quotations(text))
        or any(
            match[0][0].isupper() and not starts_sentence(text, match.start())
            for match in _LETTERS.finditer(text)
        )
        or sum(map(_is_content, _words_of(text))) >= _CONTENT_MIN
        or _says_it_of_somebody(text)
        or _says_it_of_another(text)
    )


def _is_content(word: str) -> bool:
    return word not in STOPWORDS and word not in _EMPTY and word not in _FIRST_PERSON


def _says_it_of_somebody(text: str) -> bool:
    """Return whether it holds a negation, or the first person and what is said of it."""
    words = _words_of(text)
    if not _NEGATIONS.isdisjoint(words):
        return True
    if _FIRST_PERSON.isdisjoint(words) and _WITHOUT_PRONOUN.isdisjoint(words):
        return False
    says = [word for word in words if word not in _FIRST_PERSON and word not in _EMPTY]
    content = [word for word in says if word in _I_AM or word not in STOPWORDS]
    return len(content) >= _CONTENT_MIN and not _I_AM.issuperset(content)


def _says_it_of_another(text: str) -> bool:
    """Return whether it says in English what somebody or something is ("Bob is ill"), or what he
    does ("likes jazz"): such a verb, content behind it, and before one of being a subject that is
    content too, behind which a word such as "out" is content."""
    words = _words_of(text)
    content = [_is_content(word) for word in words]
    return any(
        (any(content[place + 1 :]) and (word in _HE_DOES or any(content[:place])))
        or (
            word in _HE_IS
            and any(content[:place])
            and not _STATES.isdisjoint(words[place + 1 : place + 2])
        )
        for place, word in enumerate(words)
        if word in _HE_IS or word in _HE_DOES
    )
