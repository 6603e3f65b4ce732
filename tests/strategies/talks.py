"""Talks without tools, made up at random: people state rules, limits, facts, goals and wishes among small talk.

Every table of phrasings has two halves. What `strategies/handover/talk.py` looks for was written with the first half in
sight; the second half was held out, and only counted.
"""

from __future__ import annotations

import random
from typing import NamedTuple

STATED: dict[str, dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "en": {
        "rule": (
            (
                "Never send anything to the {} list.",
                "Do not delete the {} folder, ever.",
                "You must ask me before you touch {}.",
                "Under no circumstances share the {} key.",
            ),
            (
                "Whatever happens, don't write to {}.",
                "It is forbidden to open {} while people are at work.",
                "Please never mention {} to the press.",
                "Nobody may see the {} report before the board does.",
            ),
        ),
        "limit": (
            (
                "The budget for {} is at most 4,200 euros.",
                "Keep the {} text under 300 words.",
                "The deadline for {} is the 14th.",
                "We can spend no more than two hours on {}.",
            ),
            (
                "{} has to be finished before Friday.",
                "There is room for only 12 people in {}.",
                "The {} page should not be longer than one screen.",
                "Everything about {} has to fit in 90 seconds.",
            ),
        ),
        "fact": (
            (
                "I live in {} with two children.",
                "Our server is called {}.",
                "My sister works at {}.",
                "We use {} for the bookkeeping.",
            ),
            (
                "The office moved to {} last spring.",
                "My doctor says I am allergic to {}.",
                "By the way, the wifi password is {}.",
                "The team in {} takes care of the invoices.",
            ),
        ),
        "goal": (
            (
                "My goal is to publish {} this year.",
                "I want to learn {} by the summer.",
                "We plan to open a shop in {}.",
                "What I am aiming for is a prize for {}.",
            ),
            (
                "In the end it is all about getting {} approved.",
                "I would love to see {} finished one day.",
                "The point of all this is to sell {}.",
                "I'm hoping to run the {} marathon.",
            ),
        ),
        "wish": (
            (
                "I prefer {} to anything else.",
                "I like my reports in {} style.",
                "Call me {}, please.",
                "My favourite place is {}.",
            ),
            (
                "I'd rather go to {} than anywhere else.",
                "I can't stand {} at all.",
                "For me {} works best in the morning.",
                "I'm more of a {} person.",
            ),
        ),
    },
    "ja": {
        "rule": (
            ("{}には絶対に書き込まないでください。", "{}のフォルダーは決して削除しないこと。"),
            ("何があっても{}の鍵を共有しないで。", "{}の話を記者にしてはいけません。"),
        ),
        "limit": (
            ("{}の予算は最大4200ユーロです。", "{}の締切は14日です。"),
            ("{}は金曜日までに終わらせること。", "{}の文章は300字以内にしてください。"),
        ),
        "fact": (
            ("私は{}に住んでいます。", "うちのサーバーの名前は{}です。"),
            ("事務所は去年{}に移りました。", "姉は{}で働いています。"),
        ),
        "goal": (
            ("今年の目標は{}を出版することです。", "夏までに{}を覚えたいです。"),
            ("いつか{}で店を開くのが夢です。", "最終的には{}を売りたいと思っています。"),
        ),
        "wish": (
            ("{}が一番好きです。", "報告は{}風にしてほしいです。"),
            ("朝は{}のほうがいいです。", "{}はどうも苦手です。"),
        ),
    },
}
"""What people state, by language and kind; the name that has to survive stands in the place of the braces."""
CHANGED: dict[str, tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]]] = {
    "en": (
        (
            ("The meeting about {0} is in room {1}.", "The meeting about {0} has moved to room {1}."),
            ("My address for {0} is {1}.", "Actually, my address for {0} is now {1}."),
            ("Use the {1} account for {0}.", "Use the {1} account for {0} instead."),
        ),
        (
            ("We ship {0} with {1}.", "Correction: we ship {0} with {1}."),
            ("The contact for {0} is {1}.", "The contact for {0} changed, it is {1} from today."),
            ("Paint {0} in {1}.", "I changed my mind, paint {0} in {1}."),
        ),
    ),
    "ja": (
        (("{0}の会議は{1}室です。", "{0}の会議は{1}室に変更になりました。"),),
        (("{0}の担当は{1}です。", "訂正します。{0}の担当は{1}です。"),),
    ),
}
"""A value, and how it is changed later: what it is about, and the value."""
SMALL: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "en": (
        (
            "Thanks, great!",
            "Haha, good one.",
            "How was your weekend?",
            "It is raining again here.",
            "Sounds good to me!",
            "What a day, I need a coffee.",
            "I saw a funny film yesterday, it made me laugh a lot.",
            "Do you like music?",
        ),
        (
            "Wow, that was quick.",
            "The sun is finally out.",
            "Anyway, where were we?",
            "My cat is asleep on the sofa again.",
            "Time flies, doesn't it?",
            "You are very kind.",
            "I just had lunch, it was nice.",
            "Did you sleep well?",
        ),
    ),
    "ja": (
        (
            "ありがとうございます！",
            "今日は雨ですね。",
            "週末はどうでしたか？",
            "なるほど、おもしろいですね。",
        ),
        (
            "やっと晴れましたね。",
            "さて、どこまで話しましたっけ？",
            "お昼ごはんがおいしかったです。",
            "もうこんな時間ですか。",
        ),
    ),
}
_ANSWER = {
    "en": "That is good to hear, and thank you for telling me about it. Let us go on a little, if you like. ",
    "ja": "それはよかったです。教えてくださってありがとうございます。もう少しお話ししましょうか。",
}
_FIRST = {"en": "Let us talk about my plans for a while.", "ja": "しばらく私の計画について話しましょう。"}
_SYLLABLES = (
    "ka",
    "lo",
    "mi",
    "ru",
    "ten",
    "sha",
    "vo",
    "del",
    "nor",
    "pi",
    "gra",
    "zu",
    "bel",
    "qui",
    "tas",
    "ye",
)


class Talk(NamedTuple):
    """A talk: its messages, what must survive of it, and values that changed, the old one and the new one."""

    messages: list[dict[str, str]]
    planted: dict[str, str]
    """The kind of each name that was planted."""
    changed: list[tuple[str, str]]


def talk(seed: int, language: str, half: int, *, turns: int = 120) -> Talk:
    """A talk of so many turns in which everything is stated once, and some values change later."""
    rng = random.Random(f"{seed} {language} {half}")
    said: dict[int, list[str]] = {}
    planted = dict[str, str]()
    for kind, halves in STATED[language].items():
        for phrase in halves[half]:
            name = _name(rng)
            planted[name] = kind
            said.setdefault(rng.randrange(1, turns - 8), []).append(phrase.format(name))
    changed = []
    for before, after in CHANGED[language][half]:
        about, old, new = _name(rng), _name(rng), _name(rng)
        at = rng.randrange(1, turns // 2)
        said.setdefault(at, []).append(before.format(about, old))
        said.setdefault(rng.randrange(at + 10, turns - 8), []).append(after.format(about, new))
        changed.append((old, new))
    messages = []
    for turn in range(turns):
        words = said.get(turn, []) if turn else [_FIRST[language]]
        words = [*words, rng.choice(SMALL[language][half])] if not words or rng.random() < 0.5 else words
        messages.append({"role": "user", "content": " ".join(words)})
        messages.append({"role": "assistant", "content": _ANSWER[language] * rng.randrange(2, 6)})
    return Talk(messages, planted, changed)


def _name(rng: random.Random) -> str:
    return "".join(rng.choices(_SYLLABLES, k=3)).capitalize() + rng.choice("aeio")
