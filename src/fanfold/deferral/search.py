"""Search for tools by what they do, without a model: BM25 over names, descriptions and parameters.

Names are split into words, English words are cut to their stems, and Japanese runs into pairs of letters. Everyday
words that mean the same ("ticket" and "issue", "remove" and "delete") find each other, with less weight.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from math import log
from typing import Any

from fanfold.dialects.tools import Function

_WORDS = re.compile(
    r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[\u30a1-\u30ff\uff66-\uff9f]+|[\u3041-\u309f\u3400-\u9fff\uf900-\ufaff々]+"
)
_CAMELS = re.compile(r"\b[A-Za-z]+[a-z][A-Z][A-Za-z]*\b")
"""Words that are written together, such as JavaScript: they are found whole, too."""
_ENDINGS = ("ing", "ion", "ed", "er")
_SATURATION, _LENGTH = 1.2, 0.2
"""BM25's k1 and b: how soon a repeated word stops counting, and how much long descriptions lose."""
_NAME, _FIRST, _ABOUT, _TAKES = 3.0, 2.0, 0.5, 0.25
"""What a word counts in a name, in the first sentence of the description, in the rest of it, and in a parameter."""
_KIN = 0.9
"""What a word of the same meaning counts."""
_WHOLE = 1.0
"""What it counts that all words of a name were asked for: `create_issue` before `create_issue_comment`."""
_HARMLESS = 0.02
"""Where nothing else decides, a tool that only looks comes first."""
_EVERYWHERE = (
    "a all an and any are as at be by can do every for from given has have how i if in into is it its me my need of "
    "on one or our out please so some that the their them then there these this to tool tools up use used "
    "using want we who will with you your の を に は が で と する した して "
)
_STOPWORDS = frozenset(_EVERYWHERE.split())
_KINDRED = (
    "create add new make open insert register save book schedule compose set-up file-a 作成 作る 作り 追加 登録 新規",
    "delete remove drop erase discard destroy trash clear wipe rm get-rid 削除 消去 消す 除去",
    "list show enumerate browse what which ls overview 一覧 表示",
    "get fetch read retrieve view load look obtain see show display find-out check cat 取得 閲覧 読む 読み 見る 確認",
    "search find query lookup locate seek grep look-up 検索 探す 調べ 探し",
    "update edit change modify alter set adjust reschedule replace 更新 編集 変更 変え 直す",
    "send post mail deliver submit publish write share 送信 投稿 送る 送り",
    "run execute start launch trigger invoke perform begin carry-out turn-on activate enable 実行 開始 始め 起動",
    "stop cancel abort terminate end kill halt pause call-off turn-off deactivate disable 停止 中止 止め 解約 取消",
    "close resolve finish complete done 完了 終了",
    "move rename relocate transfer mv 移動 改名",
    "copy duplicate clone replicate cp 複製 コピー",
    "join merge combine unite 結合 マージ",
    "approve accept confirm allow sign-off 承認 許可",
    "decline reject refuse deny 却下 拒否",
    "restore undo revert rollback recover reset 復元 戻す",
    "assign delegate hand-over allocate 割り当て 担当",
    "invite add bring 招待",
    "issue ticket bug task problem defect イシュー 課題 チケット 不具合",
    "pull pr プルリクエスト",
    "request pr リクエスト",
    "repository repo project リポジトリ",
    "file document doc attachment ファイル 文書 書類 ドキュメント",
    "content inside body text 中身 内容 本文",
    "folder directory dir path mkdir subfolder フォルダ フォルダー ディレクトリ",
    "create mkdir touch",
    "message chat dm text メッセージ",
    "mail email inbox letter メール",
    "draft 下書 ドラフト",
    "comment reply note remark annotation answer コメント 返信",
    "user person member people account assignee somebody someone anybody colleague attendee everybody "
    "ユーザー メンバー 担当者 全員 社員",
    "customer client buyer 顧客 お客",
    "channel room conversation チャンネル",
    "page site url web website ページ 画面",
    "picture image photo screenshot 画像 写真 スクリーンショット",
    "table sheet spreadsheet grid 表 シート テーブル",
    "row record entry item 行 レコード",
    "event meeting appointment calendar schedule 予定 会議 カレンダー",
    "schedule later tomorrow tonight morning evening weekly daily remind 予約 明日",
    "time hour when slot date 時間 日時",
    "free available vacant 空き",
    "click press tap push hit クリック",
    "type fill enter key input 入力",
    "database db sql データベース",
    "branch fork ブランチ",
    "label tag category ラベル タグ",
    "attach upload add 添付 アップロード",
    "write save store put 保存 書く 書き",
    "download save export ダウンロード 保存 出力",
    "history log past previous commit latest recent newest last earlier old 履歴 ログ 最近 最新",
    "version revision edition 版 バージョン",
    "permission access right share allowed 権限 共有",
    "weather forecast temperature 天気 温度",
    "navigate go visit open browse load 移動",
    "evaluate run execute eval",
    "info information detail metadata property size status 情報 詳細 状態",
    "plan explain analyze why slow",
    "summary total sum report count aggregate statistics amount how-many how-much 集計 合計 数え",
    "payment charge pay money bill invoice cost price 支払 決済 料金 請求",
    "refund reimburse payback 返金",
    "balance 残高",
    "place location address position spot 住所 場所",
    "route direction way 経路 道順",
    "device machine appliance hardware デバイス 機器",
    "music song track 音楽",
    "translate translation language 翻訳",
    "setting configuration config preference option 設定",
    "error exception failure fault crash エラー 障害",
    "test check verify validate テスト 検証",
    "network http connection api 通信",
    "review feedback レビュー",
    "name rename title 名前 名を",
    "work attendance 勤怠 出勤 退勤",
)
"""Words that mean the same. Two with a hyphen are a phrase; Japanese ones without katakana have two letters."""
_PHRASES = tuple(word for group in _KINDRED for word in group.split() if "-" in word)


def split_words(text: str) -> list[str]:
    """The words of a text or a name, as they are compared."""
    found = [phrase for phrase in _PHRASES if _spoken(phrase) in text.lower()]
    for word in (*_WORDS.findall(text), *_CAMELS.findall(text)):
        if word.isascii():
            found.append(stem(word.lower()))
        elif len(word) == 1 or "\u30a1" <= word[0] <= "\u30ff":
            found.append(word)
        if not word.isascii():
            found += [word[i : i + 2] for i in range(len(word) - 1)]
    return [word for word in found if word not in _STOPWORDS]


def _spoken(phrase: str) -> str:
    return phrase.replace("-", " ") + " "


@lru_cache(maxsize=4096)
def stem(word: str) -> str:
    """An English word without its ending, crudely: `queries` and `query`, `created` and `creation` are the same."""
    if word in _STOPWORDS or len(word) < 4:
        return word
    if word.endswith("ies"):
        word = word[:-3] + "y"
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= (4 if ending == "ion" else 3):
            word = word.removesuffix(ending)
            if word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]
            break
    return word.removesuffix("e")


def _kin() -> Mapping[str, tuple[str, ...]]:
    """The meanings that a word has, by its stem."""
    found: dict[str, tuple[str, ...]] = {}
    for group in _KINDRED:
        first, *_ = group.split()
        for word in group.split():
            key = stem(word) if word.isascii() and "-" not in word else word
            found[key] = (*found.get(key, ()), f"={first}")
    return found


_MEANINGS = _kin()
_READING = frozenset(map(stem, ("list", "get", "search", "read", "find", "fetch", "show")))
_VERBS = 18
"""So many of the groups are verbs."""


def is_verb(word: str) -> bool:
    """Whether a word says what is done, and not with what."""
    return any(f"={group.split()[0]}" in _MEANINGS.get(stem(word), ()) for group in _KINDRED[:_VERBS])


class ToolSearch:
    """The tools of a frame, ready to be searched."""

    def __init__(self, tools: Sequence[Function]) -> None:
        self._names = [tool.name for tool in tools]
        self._words = [list(dict.fromkeys(split_words(tool.name))) for tool in tools]
        self._counts = [_count(tool) for tool in tools]
        self._sizes = [sum(counts.values()) for counts in self._counts]
        self._usual = sum(self._sizes) / len(tools) if tools else 1.0
        self._rarity = Counter(word for counts in self._counts for word in counts)

    def find(self, query: str) -> list[tuple[str, float]]:
        """The tools that have to do with a query, the best first, each with its score."""
        asked = list(dict.fromkeys(split_words(query)))
        scored = [(self._score(at, asked), -at) for at in range(len(self._names))]
        return [(self._names[-at], score) for score, at in sorted(scored, reverse=True) if score > 0]

    def _score(self, at: int, asked: Sequence[str]) -> float:
        worth = [
            max([self._worth(at, word), *(_KIN * self._worth(at, kin) for kin in _MEANINGS.get(word, ()))])
            for word in asked
        ]
        # Who has something of every word that was asked for comes before who has much of one.
        met = sum(1 for one in worth if one) / (len(asked) or 1)
        score = sum(worth) * met
        named, kin = self._words[at], {one for word in asked for one in _MEANINGS.get(word, ())}
        alike = [not kin.isdisjoint(_MEANINGS.get(word, ())) for word in named]
        covered = sum(1.0 if word in asked else _KIN * near for word, near in zip(named, alike, strict=True))
        harmless = _HARMLESS if not _READING.isdisjoint(named) else 0.0
        return score * (1 + harmless + (_WHOLE * covered / len(named) if named else 0.0))

    def _worth(self, at: int, word: str) -> float:
        """What one word of a query says for one tool, by BM25."""
        count = self._counts[at].get(word)
        if not count:
            return 0.0
        rare = log(1 + (len(self._names) - self._rarity[word] + 0.5) / (self._rarity[word] + 0.5))
        length = 1 - _LENGTH + _LENGTH * self._sizes[at] / self._usual
        return rare * count * (_SATURATION + 1) / (count + _SATURATION * length)


def _count(tool: Function) -> dict[str, float]:
    """How much each word says about a tool."""
    found: Counter[str] = Counter()
    first, _, rest = (tool.description or "").replace("。", ". ").partition(". ")
    texts = ((_NAME, tool.name), (_FIRST, first), (_ABOUT, rest), *_parameters(tool.schema))
    for weight, text in texts:
        for word in split_words(text):
            found[word] += weight  # type: ignore[assignment]
    for word, weight in list(found.items()):
        for meaning in _MEANINGS.get(word, ()):
            found[meaning] = max(found[meaning], weight)
    return dict(found)


def _parameters(schema: Any) -> Iterator[tuple[float, str]]:
    """The names and descriptions of what a tool takes."""
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    for name, one in properties.items() if isinstance(properties, Mapping) else ():
        about = one.get("description") if isinstance(one, Mapping) else None
        yield _TAKES, f"{name} {about if isinstance(about, str) else ''}"
