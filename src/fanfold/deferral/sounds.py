"""What katakana and English words sound like: their consonants, so that パイプライン finds `pipeline`."""

from __future__ import annotations

import re
from functools import lru_cache

_ROWS = {
    "K": "カキクケコヵヶ",
    "G": "ガギグゲゴ",
    "S": "サシスセソザジズゼゾヂヅ",
    "T": "タチツテト",
    "D": "ダデド",
    "N": "ナニヌネノン",
    "F": "ハヒフヘホ",
    "B": "バビブベボヴ",
    "P": "パピプペポ",
    "M": "マミムメモ",
    "R": "ラリルレロ",
    "W": "ワ",
}
_KANA = {kana: row for row, kanas in _ROWS.items() for kana in kanas}
_SPELLED = [
    (re.compile(pattern), sound)
    for pattern, sound in (
        (r"[^a-z]", ""),
        (r"([a-z])\1", r"\1"),
        (r"^kn|^gn", "n"),
        (r"^wr", "r"),
        (r"gh|(?<=[aeiou])w(?![aeiou])|h(?![aeiouy])(?<![cstpgkw]h)", ""),
        (r"dul", "jul"),
        (r"sch", "sk"),
        (r"t?ch", "t"),
        (r"ph", "f"),
        (r"th|sh|wh(?=o)", "s"),
        (r"wh", "w"),
        (r"[ts]i(?=[aou])", "s"),
        (r"dge?|j|z", "s"),
        (r"s?c(?=[eiy])", "s"),
        (r"x", "ks"),
        (r"c?k|c|qu?", "k"),
        (r"v", "b"),
        (r"m(?=[bp])", "n"),
        (r"r(?![aeiouy])", ""),
        (r"l", "r"),
        (r"mn$", "m"),
        (r"gn(?=$|e|s)", "n"),
        (r"h", "f"),
        (r"[aeiouy]", ""),
    )
]
_ENOUGH = 3
"""With fewer consonants too many words sound alike."""


@lru_cache(maxsize=4096)
def sounds_of_katakana(word: str) -> tuple[str, ...]:
    """The consonants of a word in katakana; none where they say too little."""
    return _enough("".join(_spoken(word)))


def _spoken(word: str) -> list[str]:
    # ウェブ and ウォ begin with a w; チェ and ティ are a t like チ.
    return [
        "W" if kana == "ウ" and after in "ァィェォ" and after else _KANA.get(kana, "")
        for kana, after in zip(word, [*word[1:], ""], strict=True)
    ]


@lru_cache(maxsize=4096)
def sounds_of_english(word: str) -> tuple[str, ...]:
    """The consonants of an English word as katakana would have them: with g as in get and as in page, and without s."""
    plain, soft = word.lower(), re.sub(r"d?g(?=[eiy])", "z", word.lower())
    found = [_heard(one) for one in dict.fromkeys((plain, soft, plain.removesuffix("s")))]
    return tuple(dict.fromkeys(sound for one in found for sound in _enough(one)))


def _heard(word: str) -> str:
    for pattern, sound in _SPELLED:
        word = pattern.sub(sound, word)
    return word.upper()


def _enough(sound: str) -> tuple[str, ...]:
    sound = sound.replace("NN", "N")
    return (sound,) if len(sound) >= _ENOUGH else ()
