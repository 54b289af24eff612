"""Rules that tell whether a short text is worth a memory."""

from __future__ import annotations

from typing import Final

from vestig.language.names import quotations, starts_sentence
from vestig.language.text_forms import word_list
from vestig.language.words import APOSTROPHES, STOPWORDS, expanded
from vestig.lazy_pattern import lazy_pattern

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
# What says nothing of a person: "I'm fine", "I see", "we are here".
_EMPTY: Final = frozenset(
    word_list(
        "ok okay fine good great well sure sorry here there back done ready glad happy in on it so"
        " too also yes see agree think guess know mean hope understand get got did do can will"
    )
)
# Characters that negate or say "I" in scripts without spaces.
_DENSE_SIGNS: Final = frozenset("不没沒无無非別别勿我私僕俺")
_DENSE_MIN: Final = 3
_CONTENT_MIN: Final = 2


def is_too_short(text: str, chars_min: int) -> bool:
    """Return whether a note is shorter than the minimum and holds nothing that makes up for it.

    A character of Han, Hiragana, Katakana, Hangul or Thai counts as three. A shorter text of at
    least two words passes when it holds a digit, a quotation, a capitalised word inside a sentence,
    a negation, or the first person and two words of content, of which being and having count.

    Args:
        text: a normalised text.
        chars_min: the least number of code points (`hygiene.min_chars`).

    Example:
        >>> [is_too_short(text, 12) for text in ("I'm 34.", "no nuts", "good point", "ok")]
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


def _is_specific(text: str) -> bool:
    return (
        any(map(str.isdigit, text))
        or bool(quotations(text))
        or any(
            match[0][0].isupper() and not starts_sentence(text, match.start())
            for match in _LETTERS.finditer(text)
        )
        or _says_it_of_somebody(text)
    )


def _says_it_of_somebody(text: str) -> bool:
    """Return whether it holds a negation, or the first person and what is said of it."""
    found = _WORD.findall(text.lower().translate(APOSTROPHES))
    words = [part for word in found for part in expanded(word, "")]
    if not _NEGATIONS.isdisjoint(words):
        return True
    if _FIRST_PERSON.isdisjoint(words) and _WITHOUT_PRONOUN.isdisjoint(words):
        return False
    says = [word for word in words if word not in _FIRST_PERSON and word not in _EMPTY]
    content = [word for word in says if word in _I_AM or word not in STOPWORDS]
    return len(content) >= _CONTENT_MIN and not _I_AM.issuperset(content)
