"""Two texts and a question, word by word: by which codes, numbers and words a text is called, and
which of two texts a question is about.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache
from itertools import islice, pairwise, takewhile
from typing import Final

from vestig.language.languages import ENGLISH, is_foreign_function_word, language_of
from vestig.language.time.expressions import MONTHS, WEEKDAYS
from vestig.language.words import COUNTED, STOPWORDS, content_terms
from vestig.lazy_pattern import lazy_pattern

# Words of texts that are compared word by word; longer ones say more than one thing.
_ALIGNED_MAX: Final = 80
# Words that tell of opposite ends of one thing: what one of them tells is no newer version of what
# the other one does.
_OPPOSITES: Final = (
    ("opens opening", "closes closing shuts"),
    ("starts begins starting", "ends finishes ending"),
    ("arrives arrival", "departs departure leaves"),
    ("buys buying", "sells selling"),
    ("minimum lowest", "maximum highest"),
    ("entry entrance", "exit"),
    ("upload uploads", "download downloads"),
    ("checkin", "checkout"),
    ("gross", "net"),
)
# Function words that tell of opposite places, times or conditions.
_CONTRASTS: Final = frozenset(
    """above across after against along before behind below beneath beside beyond down inside near
    off outside over under up with within without""".split()  # noqa: SIM905
)
# Each tells of an opposite where the other stands in its place; of the second pair, alone.
_PAIRED: Final = {"am": "pm", "pm": "am", "even": "odd", "odd": "even"}
_SWITCHED: Final = {"on": ["off"], "off": ["on"]}
# What is said with one of these of somebody or something may hold of several things at once.
_OF_SEVERAL: Final = frozenset(
    """access allergic allergies allergy brother cat certified child children colleague collects
    daughter dislike dislikes dog enjoy enjoys fluent friend hate hates hobby interested intolerant
    kid know knows like likes love loves member own owns permission pet play plays rights sibling
    sister skill son speak speaks subscribe subscribed subscribes supplies tagged take
    takes visited with allergisch kennt kind kinder liebt mag mitglied nimmt sohn spielt
    spricht tochter aime allergique connaît enfant fille fils joue parle alérgica alérgico conoce
    gusta habla hija hijo toca alergia allergica allergico conosce figlia figlio parla piace suona
    fala gosta houdt speelt spreekt""".split()  # noqa: SIM905
)
DENIALS: Final = frozenset(
    "not cannot never isn aren wasn weren doesn don didn won hasn haven".split()  # noqa: SIM905
)
# Beside them a denial tells that something ended, or has yet to be.
_ENDS: Final = frozenset(("longer", "more", "anymore", "yet"))
# Verbs between what a statement is about and what it states of that.
_VERBS: Final = frozenset(
    """is are was were has have had costs cost holds contains takes needs lasts starts begins ends
    opens closes ist sind hat haben kostet est sont ont coûte es son está están tiene tienen
    cuesta è sono ha hanno costa é são tem têm custa heeft kost jest są ma är har kostar""".split()  # noqa: SIM905
)
# What begins so states one of several.
_ONE_OF: Final = lazy_pattern(
    r"\W*(?:an?|one|some|part|several|another|each|any|ein|eine|einer|une?|una|uno|um|uma|een)\b"
)
# Their subject is several things.
_OF_MANY: Final = frozenset("are were have sind sont son están são sono zijn są är".split())  # noqa: SIM905
# They stand between something and whose it is.
_OF_WHOM: Final = frozenset("s of for von für de du del della di van".split())  # noqa: SIM905
# Before a noun they tell of another time, not of another thing.
_NEWNESS: Final = frozenset(
    """new newer newest latest current present updated revised corrected correct actual final now
    currently nowadays only just since today already still again neue
    neuer neuen neues aktuelle aktueller nouveau nouvelle nuevo nueva nuovo nuova novo nova nieuwe
    nowy nowa nowe ny nya nytt""".split()  # noqa: SIM905
)
# Before a noun they tell how it is measured or counted.
_MEASURES: Final = frozenset(
    """annual annually average daily full hourly maximum minimum monthly net overall total usual
    weekly whole yearly""".split()  # noqa: SIM905
)
# Words that tell something, before what two members of one set differ in.
_NAMED_MIN: Final = 2
# Words of a name for a narrower thing.
_MODIFIERS_MAX: Final = 2
_YES_OR_NO: Final = lazy_pattern(
    r"(?i)^\W*(?:is|are|was|were|am|do|does|did|has|have|had|can|could|will|would|shall|should|may"
    r"|must)\b"
)
WORD: Final = lazy_pattern(r"\w+")
# Words, signs of comparison, and numbers with their sign, which a hyphen in a code is none.
PART: Final = lazy_pattern(r"[<>≤≥]|(?<![\w.])[-+−±]?\d+(?:[.,/:–-]\d+)*\w*|\w+")
_DIGIT: Final = lazy_pattern(r"\d")
_FRACTION: Final = lazy_pattern(r"\d[.,:]\d")
_DIGITS: Final = lazy_pattern(r"\d+")
# A code: letters with digits behind them, parts that hyphens and the like join, or many digits; or
# capitals to which one is joined ("LOT-B").
_JOINED: Final = lazy_pattern(r"\w+(?:[-_./#]\w+)*")
_CODE: Final = lazy_pattern(r"(?=.*\d)(?:[^\W\d_].*|\d+[-_/#].*[^\W\d_].*|\d+\.[^\W\d_]|\d{5,})")
_LETTERED: Final = lazy_pattern(r"[^\W\d_]{2,}(?:[-_./#][^\W\d_]+)*[-_./#][^\W\d_]")
# What counts in a code beside its digits: one letter behind them, or joined at the end.
_LAST_LETTER: Final = lazy_pattern(r"(?<![^\W\d_])[^\W\d_]$")
_CALENDAR: Final = frozenset((*MONTHS, *WEEKDAYS))
# A word with a digit behind another word, which is no share, sum or part of a number or code.
_ORDINAL: Final = lazy_pattern(
    r"\b([^\W\d_]{2,})\s+#?(\w*\d\w*)(?!\w|[.,:/–-]\w|\s?[%€$£°])(?=(?:\s+([^\W\d_]+))?)"
)
# Two words are forms of one name where they begin alike and so few letters follow in either.
_STEM_MIN: Final = 3
_ENDING_MAX: Final = 3


def numbered(text: str) -> set[tuple[str, str]]:
    """Words with a digit in a text, each with the word before it if that has none. What a question
    calls by such a number is not what has another number behind the word.

    Example:
        >>> sorted(numbered("Is PR #7 in build 1.2, row 3?"))
        [('build', '1'), ('pr', '7'), ('row', '3')]
    """
    words = WORD.findall(text.casefold())
    return {
        (before, word)
        for before, word in pairwise(words)
        if _DIGIT.search(word) and not _DIGIT.search(before)
    }


def codes(text: str) -> set[tuple[str, ...]]:
    """Codes in a text, which are no dates, each as its words: what a question calls by one is
    nothing that lacks it.

    Example:
        >>> sorted(codes("WAY-1041 blocks BX-300-04471 since 2026-03-01, 14:30, for 500 euros"))
        [('bx', '300', '04471'), ('way', '1041')]
        >>> sorted(codes("LOT-B and 0098.C came on 30-Apr-2026 in the 8-hour shift"))
        [('0098', 'c'), ('lot', 'b')]
    """
    found = {
        (*WORD.findall(word.casefold()),)
        for word in _JOINED.findall(text)
        if (_CODE.fullmatch(word) and (word.isupper() or not COUNTED.fullmatch(word)))
        or (word.isupper() and _LETTERED.fullmatch(word))
    }
    return {code for code in found if _CALENDAR.isdisjoint(code)}


def holds_code(words: Sequence[str], code: tuple[str, ...]) -> bool:
    """Return whether the words of a code follow each other in a text.

    Args:
        words: of the text, in lower case.

    Example:
        >>> holds_code(["see", "feature", "way", "1042"], ("way", "1042"))
        True
    """
    if code[0] not in words:
        return False
    return any((*words[at : at + len(code)],) == code for at in range(len(words)))


def is_about_another(query: str, older: str, newer: str) -> bool:
    """Return whether the question calls what it asks about by a word of the older text in whose
    place, between the same words, the newer one has another; by a form of a word in whose place
    the newer one has an opposite; or by a form of a name in whose place it has another name; or
    by what only the older one has of two texts that say most in the same words (`Aligned`).

    Example:
        >>> is_about_another("How heavy is Rex?", "Rex weighs 34 kg", "Luna weighs 4 kg")
        True
        >>> is_about_another("When does it open?", "It opens at 6", "It closes at 22")
        True
        >>> is_about_another("Ellens Dosis?", "Ellen nimmt 5 mg", "Oskar nimmt 10 mg")
        True
        >>> is_about_another("Is Rex or Luna heavier?", "Rex weighs 34 kg", "Luna: 4 kg, a cat")
        False
        >>> is_about_another("Who is heavier, Rex or Luna?", "Rex weighs 34 kg", "Luna: 4 kg")
        True
        >>> is_about_another("The NAS password?", "The NAS password is a", "The NAS password is b")
        False
    """
    # a verb, which may be told by another one, mostly has another form in the question
    asked = {*WORD.findall(query.casefold())} - STOPWORDS
    forms = _terms(query)
    first, second = _with_neighbours(older), _with_neighbours(newer)
    others = {word for _, word, _ in second}
    held = {word for _, word, _ in first}
    places = {(before, behind): word for before, word, behind in second if word not in held}
    names = _capitalised(older), _capitalised(newer)
    return any(
        word in asked
        or (not forms.isdisjoint(_terms(word)) and _are_opposites(word, other))
        or (word in names[0] and other in names[1] and _has_form(asked, word, other))
        for before, word, behind in first
        if word not in others and (other := places.get((before, behind)))
    ) or (_names_both(query, older, newer) or Aligned(older, newer).tells_apart(query))


def _names_both(query: str, older: str, newer: str) -> bool:
    """Return whether an English question that is not answered by yes or no holds a name that only
    the one text has, and one that only the other has: it asks about two things."""
    if _YES_OR_NO.search(query) or language_of(query) not in (None, ENGLISH):
        return False
    named = {
        found[0].casefold()
        for found in _JOINED.finditer(query)
        if (found.start() and found[0][0].isupper()) or "-" in found[0]
    }
    first, second = ({*_JOINED.findall(of.casefold())} for of in (older, newer))
    named -= STOPWORDS | _CALENDAR
    return not named.isdisjoint(first - second) and not named.isdisjoint(second - first)


class Parts:
    """The words, numbers and signs of comparison of a text in order.

    Example:
        >>> Parts("Below -5 °C").folded, Parts("Below 5 °C").may_align(Parts("5 °C above it"))
        (['below', '-5', 'c'], True)
    """

    def __init__(self, text: str) -> None:
        self.written_text, self.text = text, text.casefold()
        self.written: list[str] = PART.findall(text)
        self.folded = [part.casefold() for part in self.written]
        self.set = frozenset(self.folded)

    def may_align(self, other: Parts) -> bool:
        """Return whether both may share half of the parts of the longer one in order."""
        lengths = len(self.folded), len(other.folded)
        repeated = min(lengths[0] - len(self.set), lengths[1] - len(other.set))
        longer = max(lengths)
        return longer <= _ALIGNED_MAX and 2 * (len(self.set & other.set) + repeated) >= longer


class Aligned:
    """Two texts word by word, where they share at least half of the words of the longer one, in
    order: then they say the same of two things or at two times, and what they do not share tells
    them apart.

    Example:
        >>> upper = "This sample has an upper yield strength of 318 MPa."
        >>> lower = "This sample has a lower yield strength of 306 MPa."
        >>> pair = Aligned(upper, lower)
        >>> pair.is_alike, pair.calls_first("What is the upper yield strength of it?")
        (True, True)
        >>> pair.calls_first("What is the yield strength of it?")
        False
    """

    def __init__(self, first: str | Parts, second: str | Parts) -> None:
        # imported here: most recalls compare no texts
        from difflib import SequenceMatcher

        one, two = (of if isinstance(of, Parts) else Parts(of) for of in (first, second))
        self._first, self._second = one, two
        self._folded = one.folded, two.folded
        longer = max(len(one.folded), len(two.folded), 1)
        matcher = SequenceMatcher(None, one.folded, two.folded, autojunk=False)
        blocks = matcher.get_opcodes() if one.may_align(two) else []
        shared = sum(end - begin for tag, begin, end, _, _ in blocks if tag == "equal")
        self.is_alike = 2 * shared >= longer
        self._blocks = blocks if self.is_alike else []

    def tells_apart(self, query: str) -> bool:
        """Return whether the texts state something of two things, or the second one of a narrower
        thing than the one asked about; or a question that is not answered by yes or no calls what
        it asks about as the first text alone does, or one of both denies what the other states of
        something else."""
        if not self._blocks:
            return False
        if self.are_of_two() or self.narrows(query):
            return True
        if _YES_OR_NO.search(query):
            # of one thing, a yes or a no hangs on the newer value
            return self.states_another_of_several() and self.calls_first(query)
        return self.calls_first(query) or self.denies_of_another()

    def means_first(self, query: str) -> bool:
        """Return whether a question that is not answered by yes or no means the first text: it
        calls that, or denies as only that does, or states as only that does."""
        if not self._blocks or _YES_OR_NO.search(query):
            return False
        if self.calls_first(query):
            return True
        denies = _denied([part.casefold() for part in PART.findall(query)]) is not None
        return self.denies_of_another() and denies == (_denied(self._folded[0]) is not None)

    def calls_first(self, query: str) -> bool:
        """Return whether a question holds a word in whose place the second text has none, or
        others, none of which the question holds; or the same word in another case."""
        asked = {*PART.findall(query)}
        folded = {part.casefold() for part in asked}
        one, two = self._folded
        first = second = False
        for tag, begin, end, at, to in self._blocks:
            if tag != "equal":
                mine, other = one[begin:end], two[at:to]
                first |= any(_tells(word, folded, two, other) for word in mine)
                second |= any(_tells(word, folded, one, mine) for word in other)
            else:
                # the first word of a text has a capital anyway
                pairs = zip(
                    self._first.written[begin:end], self._second.written[at:to], strict=True
                )
                for word, same in islice(pairs, int(not (begin and at)), None):
                    first |= word != same and word in asked and same not in asked
                    second |= word != same and same in asked and word not in asked
        return first and not second

    def are_of_two(self) -> bool:
        """Return whether one text has other words that tell something in the place of those of the
        other both before a verb and behind it: what they are about differs, not only what they
        state of it."""
        one, two = self._folded
        about = verb = False
        for tag, begin, end, at, to in self._blocks:
            if tag == "equal":
                verb |= about and not _VERBS.isdisjoint(one[begin:end])
            elif tag == "replace" and _any_tells(one[begin:end]) and _any_tells(two[at:to]):
                if verb:
                    return True
                about |= _any_names(one[begin:end]) and _any_names(two[at:to])
        return False

    def extends(self) -> bool:
        """Return whether the first text has one or two more words than the second, and else differs
        from it in what it ends with alone: that tells the same of what is called by less.

        Example:
            >>> Aligned("The monthly fee is 20 euros.", "The fee is 25 euros.").extends()
            True
        """
        changed = [block for block in self._blocks if block[0] != "equal"]
        if changed and changed[-1][0] == "replace":
            changed = changed[:-1]
        more = sum(end - begin for _, begin, end, _, _ in changed)
        return 0 < more <= _MODIFIERS_MAX and all(block[0] == "delete" for block in changed)

    def differ_in_numbers(self) -> bool:
        """Return whether all in which the texts differ is words with digits in the place of others,
        at one place behind which no verb stands: the same is stated with another number, time,
        version or code."""
        place = self._another_value()
        return place is not None and all(map(_DIGIT.search, self._replaced(place)))

    def state_another(self) -> bool:
        """Return whether the texts differ in words in the place of others alone, at one place that
        is not the first and behind which no verb stands: another value of the same is stated, and
        not one of several that may hold at once ("likes", "allergic to")."""
        place = self._another_value()
        return place is not None and place[1] > 0 and not self.states_another_of_several()

    def state_anew(self, query: str) -> bool:
        """Return whether the texts state another value of the same (`state_another`), a name or a
        number in the place of one, of something that one has ("Acme's plan is", "the capital of");
        and the question has all that tells what they are about: it asks for that value.

        Example:
            >>> plan = Aligned("Acme's plan is Starter.", "Acme's plan is Business.")
            >>> plan.state_anew("What plan is Acme on?"), plan.state_anew("Who is Acme?")
            (True, False)
            >>> Aligned("Ann's car is red.", "Ann's car is a Seat.").state_anew("Ann's car?")
            False
        """
        place = self._another_value()
        if place is None or not self.state_another():
            return False
        _, begin, end, at, to = place
        before = self._first.written[:begin]
        verb = max((at for at, word in enumerate(before) if word in _VERBS), default=0)
        about = before[:verb]
        values = _kinds(self._first.written[begin:end]), _kinds(self._second.written[at:to])
        return (
            not _OF_WHOM.isdisjoint(about)
            and _OF_MANY.isdisjoint(before[verb:])
            and values[0] == values[1] != frozenset()
            and _terms(" ".join(word for word in about if word != "s")) <= _terms(query)
        )

    def _another_value(self) -> tuple[str, int, int, int, int] | None:
        """The one block in which words stand in the place of others, without a verb behind it; None
        where the texts differ in more."""
        changed = [block for block in self._blocks if block[0] != "equal"]
        if len(changed) != 1 or changed[0][0] != "replace":
            return None
        return changed[0] if _VERBS.isdisjoint(self._folded[0][changed[0][2] :]) else None

    def _replaced(self, block: tuple[str, int, int, int, int]) -> list[str]:
        """The words of both texts in a block."""
        one, two = self._folded
        _, begin, end, at, to = block
        return [*one[begin:end], *two[at:to]]

    def states_another_of_several(self) -> bool:
        """Return whether both texts say in the same words something that may hold of several things
        at once ("likes", "allergic to"), each of another one."""
        one, two = self._folded
        if _ONE_OF.match(self._first.text) or _ONE_OF.match(self._second.text):
            return True
        shared = {
            word
            for tag, begin, end, *_ in self._blocks
            if tag == "equal"
            for word in one[begin:end]
        }
        return not _OF_SEVERAL.isdisjoint(shared) and any(
            tag == "replace" and _any_called(one[begin:end]) and _any_called(two[at:to])
            for tag, begin, end, at, to in self._blocks
        )

    def are_of_one_set(self) -> bool:
        """Return whether both texts begin in the same words, two of which tell something, and each
        states there another one of several.

        Example:
            >>> Aligned("Kofi plays the cello.", "Kofi plays go.").are_of_one_set()
            True
        """
        if not self._blocks or self._blocks[0][0] != "equal":
            return False
        alike = self._folded[0][: self._blocks[0][2]]
        named = sum(1 for word in alike if _any_tells([word]))
        return named >= _NAMED_MIN and self.states_another_of_several()

    def narrows(self, query: str) -> bool:
        """Return whether the second text has words before one of the question that name a narrower
        thing, which the question does not name."""
        two, asked = self._folded[1], {part.casefold() for part in PART.findall(query)}
        return any(
            tag == "insert"
            and to < len(two)
            and to - at <= _MODIFIERS_MAX
            and two[to] in asked
            and _any_tells([two[to]])
            # joined by a sign, it is a part of a path or a code
            and f"{two[to - 1]} {two[to]}" in self._second.text
            and all(_narrows(word) and word not in asked for word in two[at:to])
            for tag, _, _, at, to in self._blocks
        )

    def denies_of_another(self) -> bool:
        """Return whether one text denies what the other states of something else: before the word
        that denies, one has other words that tell something in the place of those of the other, and
        what it denies is in both."""
        one, two = self._folded
        first, second = _denied(one), _denied(two)
        if (first is None) == (second is None) or not _ENDS.isdisjoint((*one, *two)):
            return False
        other = denied = False
        for tag, begin, end, at, to in self._blocks:
            before = (second is None or at < second) and (first is None or begin < first)
            if tag == "replace" and before:
                other |= _any_tells(one[begin:end]) and _any_tells(two[at:to])
            elif tag == "equal" and not before:
                denied |= _any_tells(one[begin:end])
        return other and denied


def _denied(words: Sequence[str]) -> int | None:
    """Where the first word stands that denies; None without one."""
    return next((at for at, word in enumerate(words) if word in DENIALS), None)


def _tells(word: str, asked: Collection[str], other: Collection[str], place: Sequence[str]) -> bool:
    """Return whether a word of the question tells two texts apart.

    Args:
        other: words of the text that has to lack it; `place`: those that it has instead.
    """
    if word not in asked or word in other or word in _NEWNESS:
        return False
    if _PAIRED.get(word) in place or _SWITCHED.get(word) == place:
        return True
    if word in _CONTRASTS:
        return not _CONTRASTS.isdisjoint(place)
    return _any_tells([word])


def _any_names(words: Sequence[str]) -> bool:
    """Return whether one of the words tells something and is no number with a fraction."""
    return any(not _FRACTION.search(word) and _any_tells([word]) for word in words)


def _kinds(words: Sequence[str]) -> frozenset[str]:
    """Return which of names and numbers are among the words."""
    kinds = ("number" if _DIGIT.search(word) else "name" for word in words if not word.islower())
    return frozenset(kinds)


def _any_called(words: Sequence[str]) -> bool:
    """Return whether one of the words tells something and has no digit."""
    return any(not _DIGIT.search(word) and _any_tells([word]) for word in words)


def _narrows(word: str) -> bool:
    """Return whether a word before a noun names a narrower thing."""
    return word.isalpha() and word not in _NEWNESS | _MEASURES and _any_tells([word])


def telling_words(query: str) -> frozenset[str]:
    """The words of a question that may tell two texts apart, as they stand there and in lower case.

    Example:
        >>> sorted(telling_words("What is the load below 5 mN?"))
        ['5', 'What', 'below', 'load', 'mN', 'mn']
    """
    asked = {*PART.findall(query)}
    asked |= {part.casefold() for part in asked}
    return frozenset(
        word
        for word in asked
        if word in _CONTRASTS or word in _PAIRED or word in _SWITCHED or _any_tells([word])
    )


def _any_tells(words: Sequence[str]) -> bool:
    """Return whether one of the words is no function word and denies nothing."""
    return any(
        word not in STOPWORDS and word not in DENIALS and not is_foreign_function_word(word)
        for word in words
    )


def _capitalised(text: str) -> set[str]:
    """Words that are written with a capital, in lower case."""
    return {word.casefold() for word in WORD.findall(text) if word[0].isupper()}


def _has_form(asked: Collection[str], name: str, other: str) -> bool:
    """Return whether one of the words is a form of a name, and none one of another name."""
    return any(_is_form(word, name) for word in asked) and not any(
        _is_form(word, other) for word in asked
    )


def _is_form(word: str, name: str) -> bool:
    """Return whether two words begin alike and few letters follow in either."""
    alike = takewhile(lambda pair: pair[0] == pair[1], zip(word, name, strict=False))
    shared = sum(1 for _ in alike)
    return shared >= _STEM_MIN and max(len(word), len(name)) - shared <= min(
        _ENDING_MAX, shared - 1
    )


def _terms(text: str) -> set[str]:
    return {one.term for one in content_terms(text, ())}


def _are_opposites(word: str, other: str) -> bool:
    """Return whether two words are of the two sides of a pair of opposites."""
    first, second = _terms(word), _terms(other)
    return any(
        not (first.isdisjoint(one) or second.isdisjoint(two))
        for pair in _opposites()
        for one, two in (pair, pair[::-1])
    )


@cache
def _opposites() -> list[tuple[set[str], set[str]]]:
    """The terms of both sides of each pair."""
    return [(_terms(one), _terms(two)) for one, two in _OPPOSITES]


def _with_neighbours(text: str) -> list[tuple[str, str, str]]:
    """Each word of a text but the last, in lower case, with the one before it and the one behind
    it; a number behind it is as good as another."""
    words = ["", *WORD.findall(text.casefold())]
    return [
        (before, word, "0" if behind.isdigit() else behind)
        for before, word, behind in zip(words, words[1:], words[2:], strict=False)
    ]


def ordinals(text: str) -> dict[tuple[str, str], str]:
    """Words with a digit in a text, each with the word before it, which is of no date; and the word
    behind it, or "".

    Example:
        >>> ordinals("On May 5 in ward 5 they pay 20 %, in ward 6A 1,500 euros")
        {('ward', '5'): 'they', ('ward', '6a'): ''}
    """
    return {
        (before, word): behind
        for before, word, behind in _ORDINAL.findall(text.casefold())
        if before not in _CALENDAR
    }


def forms(code: tuple[str, ...]) -> frozenset[tuple[str, ...]]:
    """The forms of a code: two codes with a form in common differ in what counts in a code alone,
    their digits, or the letter at their end; in both only where they begin with letters.

    Example:
        >>> def alike(one: str, other: str) -> bool:
        ...     return not forms((*one.split("-"),)).isdisjoint(forms((*other.split("-"),)))
        >>> alike("hx-4471", "hx-4714"), alike("9-b", "9-c")
        (True, True)
        >>> alike("way-1", "bay-1"), alike("12-h", "24-w")
        (False, False)
    """
    ends = (*code[:-1], _LAST_LETTER.sub("?", code[-1]))
    if code[0][0].isalpha():
        return frozenset([("in both", *_without_digits(ends))])
    return frozenset([("in digits", *_without_digits(code)), ("in the letter", *ends)])


def _without_digits(code: Sequence[str]) -> list[str]:
    """A code with 0 for each run of digits."""
    return [_DIGITS.sub("0", part) for part in code]
