"""Plain talk as people write it, for judging: nothing here was changed after a result was seen.

What matters stands in the middle of chatter, often without a word that says so ("… stops breathing if there is sesame
around"), and chatter has names and numbers too. Values are changed in passing, some of them twice.

There are two sets of phrasings. What `strategies/handover/talk.py` looks for was chosen with what was lost of the first
set in sight; of the second one only totals were looked at.
"""

from __future__ import annotations

import random
from typing import NamedTuple

SAFETY, CONSTRAINTS, FACTS, GOALS, PREFERENCES = range(5)
TURNS, EACH = 64, 5

STATED = {
    "en": (
        (
            "{n}'s boy stops breathing if there is sesame around.",
            "The gas main behind {n} House is live, so nobody digs there.",
            "Whatever happens, the spare key to {n} stays out of the chat log.",
            "My aunt {n} is on blood thinners, aspirin would be dangerous for her.",
            "Please don't give the door code to anyone but {n}.",
            "The balcony at {n} Court can't carry more than two people.",
            "{n} is deaf in one ear and won't hear the fire alarm.",
            "If {n} calls, do not tell him where the children are.",
            "Bleach and the {n} cleaner make a toxic gas together, keep them apart.",
            "The brakes on the {n} van are gone, it must stay parked.",
        ),
        (
            "We have {d} dollars for the whole thing, not a cent more.",
            "It has to be over by {d} minutes past nine, the hall closes then.",
            "The venue holds {d} people, that's the fire limit.",
            "{n} can only do weekday mornings.",
            "No flights, {n} gets panic attacks on planes.",
            "I can't spend more than {d} hours on this all told.",
            "Everything needs to fit in a {d} litre suitcase.",
            "The text may have {d} words at most, the editor {n} counts them.",
            "We're not allowed to hang anything on the {n} walls.",
            "It needs to work without internet, there is none at {n} Farm.",
        ),
        (
            "Our landlord is called {n}, an old sailor.",
            "The boiler is a {n} from 1998.",
            "I was born in {n}, if that matters for the form.",
            "We moved house {d} weeks ago.",
            "The dog is {n}, a whippet.",
            "My account number ends in {d}.",
            "Grandma lives at {d} Orchard Lane.",
            "The car does about {d} miles on a tank.",
            "{n} runs the bakery next door and opens at five.",
            "I work with {n} in the lab on the third floor.",
        ),
        (
            "What I really want out of this is a proper reunion with {n}.",
            "In the end the whole village should know who {n} was.",
            "I'm trying to get {n} into the art school by autumn.",
            "The point of it all: sell the {n} cottage without an agent.",
            "I'd love to run the {n} half marathon next year.",
            "My dream is a garden that feeds {d} families.",
            "We want to raise {d} pounds for the lifeboat.",
            "I hope to finish the book about {n} before I turn sixty.",
            "This should end with {n} and me speaking again.",
            "I am learning Welsh so that I can talk to {n}.",
        ),
        (
            "I like my mail from {n} style: short, dry, no exclamation marks.",
            "Honestly, {n} tea over coffee any day.",
            "I'm happier with window seats, row {d} or so.",
            "Call me {n}, nobody uses my full name.",
            "I can't stand the {n} typeface.",
            "For music, anything by {n} makes me smile.",
            "We'd rather have the {n} paint, the matt one.",
            "I'm more of a list person; give me things in groups of {d}.",
            "{n} cheese is my favourite, by a mile.",
            "I'd sooner walk {d} miles than take that bus.",
        ),
    ),
    "ja": (
        (
            "{n}ちゃんはそばを食べると息ができなくなります。",
            "{n}邸の裏のガス管は生きているので、誰も掘りません。",
            "{n}の合鍵の場所は、何があっても書き残さないでくださいね。",
            "叔母の{n}は血液サラサラの薬を飲んでいるので、アスピリンは危険です。",
            "玄関の暗証番号は{n}さん以外には教えないで。",
            "{n}荘のベランダは二人以上乗ると危ないです。",
            "{n}さんは片耳が聞こえないので、火災報知器に気づけません。",
            "{n}から電話が来ても、子どもの居場所は言わないでほしい。",
            "漂白剤と{n}洗剤は混ぜると毒ガスが出ます。",
            "{n}号のトラックはブレーキが壊れているので動かせません。",
        ),
        (
            "予算は全部で{d}円、それ以上は出せません。",
            "九時{d}分には会場が閉まるので、それまでに終わらせたいです。",
            "会場に入れるのは{d}人です。消防の決まりなので。",
            "{n}さんが来られるのは平日の朝だけです。",
            "{n}さんは飛行機でパニックになるので、空路はなしで。",
            "この件に使える時間は合計{d}時間です。",
            "荷物は{d}リットルのスーツケース一つに収めます。",
            "原稿は{d}字まで。編集の{n}さんが数えます。",
            "{n}館の壁には何も掛けられません。",
            "{n}牧場には電波がないので、ネットなしで動く必要があります。",
        ),
        (
            "大家さんは{n}さんといって、元は船乗りです。",
            "給湯器は{n}社の1998年製です。",
            "書類に要るなら、私の生まれは{n}です。",
            "引っ越したのは{d}週間前です。",
            "うちの犬は{n}、ウィペットです。",
            "口座番号の下四桁は{d}です。",
            "祖母の家は果樹園通り{d}番地です。",
            "車は満タンで{d}キロほど走ります。",
            "隣のパン屋は{n}さんがやっていて、五時に開きます。",
            "三階の研究室で{n}さんと働いています。",
        ),
        (
            "本当の望みは、{n}とちゃんと再会することなんです。",
            "最後には村中の人に{n}が誰だったか知ってもらいたい。",
            "秋までに{n}を美術学校に入れてあげたいんです。",
            "要するに、{n}の別荘を業者なしで売りたいのです。",
            "来年は{n}ハーフマラソンを走りたいな。",
            "{d}家族が食べていける畑を作るのが夢です。",
            "救命艇のために{d}円集めたいと思っています。",
            "六十になる前に{n}についての本を書き上げたいです。",
            "また{n}と話せるようになって終わりたい。",
            "{n}と話すためにウェールズ語を習っています。",
        ),
        (
            "手紙は{n}風に、短くて乾いた感じが好みです。",
            "正直、コーヒーより{n}茶のほうがいいです。",
            "窓側の席、{d}列目あたりが落ち着きます。",
            "{n}と呼んでください、本名は誰も使わないので。",
            "{n}という書体はどうも苦手です。",
            "音楽なら{n}の曲を聴くと元気が出ます。",
            "塗料は{n}のつや消しのほうがうれしいです。",
            "箇条書き派なので、{d}個ずつにまとめてもらえると助かります。",
            "チーズは断然{n}が好きです。",
            "あのバスに乗るくらいなら{d}キロ歩きます。",
        ),
    ),
}
"""By language the five kinds: `{n}` is a name and `{d}` a number that stand nowhere else in a talk."""

CHANGES = {
    "en": (
        ("The meeting is in the {a} room.", "Change of plan, we meet in the {b} room."),
        ("{a} will bring the projector.", "It's {b} who brings the projector now, the other one is ill."),
        ("We'll be {c} at the table.", "Make that {e} at the table, some cancelled."),
        ("The train leaves from platform {c}.", "They moved the train, it leaves from platform {e}."),
        ("My new phone number ends in {c}.", "Scratch that, my phone number ends in {e}."),
        ("Let's go with the {a} wallpaper.", "On second thought, the {b} wallpaper."),
        ("The caterer is {a}.", "We switched caterers, it's {b} now."),
        ("The rent is {c} a month.", "The rent went up, it is {e} a month."),
    ),
    "ja": (
        ("打ち合わせは{a}の間です。", "予定変更で、打ち合わせは{b}の間になりました。"),
        ("プロジェクターは{a}さんが持ってきます。", "プロジェクターは{b}さんが持ってくることになりました。"),
        ("食事会は{c}人です。", "やっぱり食事会は{e}人にしてください。"),
        ("電車は{c}番線から出ます。", "電車の乗り場が変わって、{e}番線から出ます。"),
        ("新しい電話番号の末尾は{c}です。", "訂正します、電話番号の末尾は{e}でした。"),
        ("壁紙は{a}にしましょう。", "考え直して、壁紙は{b}にします。"),
        ("仕出しは{a}に頼みます。", "仕出しは{b}に変えました。"),
        ("家賃は月{c}円です。", "家賃が上がって、月{e}円になりました。"),
    ),
}
"""What is said first, and what is said later in its place."""

CHATTER = {
    "en": (
        "Saw {n} on telly last night, what a mess that was.",
        "It rained for {d} hours here, the cat is sulking.",
        "Ha, that reminds me of a joke about a bishop and {d} geese.",
        "Thanks, that's a lovely way to put it.",
        "Give me a second, the kettle is on.",
        "My neighbour {n} is hoovering again, unbelievable.",
        "Do you ever get tired of people like me?",
        "I slept badly, {d} o'clock and still awake.",
        "Anyway, where were we?",
        "The match ended {d} all, can you believe it?",
        "Somebody called {n} left a scarf in the hall.",
        "Oh, and the milk was off. Typical Monday.",
        "Good morning! Sunny at last.",
        "I only popped in to say hello, really.",
        "You always say that, don't you.",
    ),
    "ja": (
        "昨日テレビで{n}を見ましたが、ひどかったです。",
        "こっちは{d}時間も雨で、猫がすねています。",
        "そういえば司教と{d}羽のガチョウの冗談を思い出しました。",
        "ありがとうございます、いい言い方ですね。",
        "ちょっと待って、お湯が沸きました。",
        "お隣の{n}さんがまた掃除機をかけていて、信じられません。",
        "私みたいな人に疲れませんか。",
        "よく眠れなくて、{d}時まで起きていました。",
        "さて、どこまで話しましたっけ。",
        "試合は{d}対{d}の引き分けでした。",
        "{n}という人が玄関にマフラーを忘れていきました。",
        "牛乳が傷んでいました。月曜らしいですね。",
        "おはようございます。やっと晴れました。",
        "ちょっと顔を出しただけなんです。",
        "いつもそう言いますよね。",
    ),
}

REPLIES = {
    "en": (
        "That makes sense.",
        "There are several ways to look at it, and each has its merits.",
        "One could begin with the simplest part and see how it feels.",
        "It often helps to sleep on such things for a night.",
        "Many people in your place would do the same.",
        "I can write a short draft, and you tell me what sounds wrong.",
        "Let us take it step by step, there is no hurry at all.",
        "Another thought is to ask somebody who has done it before.",
        "If you like, we can come back to this point later on.",
        "The weather, the season and the mood of the guests all play a part.",
        "In short, the choice is yours, and none of them is a mistake.",
        "I would write the names on cards and move them around on the table.",
    ),
    "ja": (
        "なるほど、よくわかります。",
        "見方はいくつかあり、それぞれに良さがあります。",
        "まずは簡単なところから始めて、様子を見るのも手です。",
        "一晩寝かせてから考えると、うまくいくことも多いです。",
        "同じ立場なら、多くの人がそうすると思います。",
        "短い下書きを書きますので、違和感があれば教えてください。",
        "急ぐ必要はありませんから、一つずつ進めましょう。",
        "経験のある人に聞いてみるという考え方もあります。",
        "よろしければ、この点にはまた後で戻りましょう。",
        "天気や季節、お客様の気分も関わってきます。",
        "要するにどれを選んでも間違いではありません。",
        "名前をカードに書いて、机の上で並べ替えてみるとよいでしょう。",
    ),
}

AWAY = {
    "en": (
        (
            "Our tester {n} has a pacemaker, so no magnets near the bench.",
            "The {n} reactor line is under pressure, stay behind the yellow tape.",
            "What {n} told us about the merger is not for other ears.",
            "Insulin is in the blue bag, {n} faints without it.",
            "The rope at {n} Rock has a cut in it, it would snap.",
            "Only {n} signs off payments, whatever an email claims.",
        ),
        (
            "Lunch breaks are {d} minutes here, union rules.",
            "The lift takes {d} kilos and then it stops.",
            "Legal wants it done before the {n} hearing.",
            "My visa runs out after {d} days.",
            "The client pays {d} an hour and no overtime.",
            "The printer at {n} only does black and white.",
        ),
        (
            "The previous contractor was {n}, they left in spring.",
            "Our warehouse has {d} shelves.",
            "{n} speaks Portuguese and a bit of Greek.",
            "There's a ferry from {n} every other hour.",
            "I'm left-handed, and so is {n}.",
            "The office is on floor {d}, past the canteen.",
        ),
        (
            "By Christmas I intend to have the {n} licence.",
            "Success would be {n} renewing the contract.",
            "We are saving up for a boat, {d} so far.",
            "Eventually I'd move the whole team to {n}.",
            "If all goes well, {n} becomes our second branch.",
            "The plan is to walk from here to {n}.",
        ),
        (
            "Keep it informal, the way {n} writes.",
            "Mornings suit me, ideally around {d} past six.",
            "No spreadsheets please, I think in {n} diagrams.",
            "{n} over email, always, I answer faster there.",
            "Hotels are fine but a room at {n} would be heaven.",
            "I enjoy numbers, so give me all {d} of them.",
        ),
    ),
    "ja": (
        (
            "検査の{n}さんはペースメーカーを入れているから、磁石は近づけちゃだめ。",
            "{n}の配管は圧がかかってるんで、黄色い線の内側には入らない。",
            "合併の話は{n}から聞いたけど、外には漏らせない。",
            "青い鞄にインスリンが入ってる。ないと{n}は倒れる。",
            "{n}岩のロープには切れ目があって、体重をかけたら切れる。",
            "支払いを承認するのは{n}だけ。どんなメールが来ても同じ。",
        ),
        (
            "昼休みは{d}分と組合で決まってる。",
            "エレベーターは{d}キロで止まる。",
            "法務としては{n}の審理より前に片付けたいらしい。",
            "ビザは{d}日で切れる。",
            "客先の支払いは一時間{d}円で、残業代は出ない。",
            "{n}のプリンターは白黒しか出ない。",
        ),
        (
            "前の業者は{n}で、春に撤退した。",
            "倉庫には棚が{d}本ある。",
            "{n}はポルトガル語ができる。",
            "{n}からは二時間おきにフェリーが出てる。",
            "自分は左利きで、{n}もそう。",
            "事務所は{d}階で、食堂の先にある。",
        ),
        (
            "年末までに{n}免許を取るつもり。",
            "{n}が契約を更新してくれたら成功と言える。",
            "船を買うために貯金中で、今{d}円。",
            "ゆくゆくはチームごと{n}に移す考えだ。",
            "うまくいけば{n}が二つ目の支店になる。",
            "ここから{n}まで歩き通す計画だ。",
        ),
        (
            "{n}みたいにくだけた感じで書いて。",
            "朝型なので、六時{d}分ごろがちょうどいい。",
            "表計算は勘弁、{n}図で考えるほうなんで。",
            "連絡はメールより{n}で。返事が早いから。",
            "ホテルでもいいけど、{n}の部屋なら最高。",
            "数字は楽しいから{d}件ぜんぶ見せて。",
        ),
    ),
}
"""The same, written after `STATED`, by which what is looked for was chosen: these were only counted."""

AWAY_CHANGES = {
    "en": (
        ("Standup is at {c} hundred hours.", "Standup got postponed to {e} hundred hours."),
        ("Deliver the crates to {a} Street.", "Wait, not there: deliver the crates to {b} Street."),
        ("{a} is our contact at the bank.", "Our contact at the bank has left, ask for {b}."),
        ("The invoice was {c} euros.", "I had the invoice wrong, it was {e} euros."),
        ("We fly with {a} Air.", "We fly with {b} Air after all."),
        ("The password hint is {a}.", "I reset it, the password hint is {b}."),
        ("Order {c} chairs.", "Order {e} chairs, that should do."),
    ),
    "ja": (
        ("朝会は{c}番の部屋でやる。", "朝会は{e}番の部屋に移った。"),
        ("木箱は{a}通りに届けて。", "違った、木箱は{b}通りに届けて。"),
        ("銀行の担当は{a}。", "銀行の担当が替わって{b}になった。"),
        ("請求書は{c}ユーロだった。", "請求書の額を見間違えてた、{e}ユーロだった。"),
        ("{a}航空で飛ぶ。", "結局、{b}航空で飛ぶことにした。"),
        ("合言葉のヒントは{a}。", "設定し直したので、合言葉のヒントは{b}。"),
        ("椅子を{c}脚注文して。", "椅子は{e}脚注文して、それで足りる。"),
    ),
}

AWAY_CHATTER = {
    "en": (
        "{n} walked past with a parrot on his shoulder.",
        "The printer jammed {d} times before breakfast.",
        "Somebody ate my yoghurt.",
        "Right, back to it.",
        "My horoscope says {n} is in retrograde.",
        "Bit chilly in here.",
        "There was a queue of {d} people for the bus.",
        "Good grief, these emails.",
        "You're a patient listener.",
        "A pigeon is staring at me through the window.",
        "Mmm, biscuits.",
        "They played that {n} song in the shop, I hummed along.",
    ),
    "ja": (
        "{n}がオウムを肩に乗せて通り過ぎた。",
        "朝からプリンターが{d}回詰まった。",
        "誰かにヨーグルトを食べられた。",
        "よし、戻ろう。",
        "占いによると{n}が逆行中らしい。",
        "ここ、ちょっと寒いな。",
        "バス停に{d}人並んでた。",
        "いやはや、このメールの山。",
        "聞き上手だね。",
        "鳩が窓からこっちを見てる。",
        "お菓子うまい。",
        "店で{n}の歌が流れてて口ずさんだ。",
    ),
}

OPENING = {
    "en": "Hi! I'm planning something bigger for the family and would like to think aloud with you.",
    "ja": "こんにちは。家族のことで少し大きな計画があるので、相談に乗ってください。",
}

_HEADS = {
    "en": (
        "Bra",
        "Cor",
        "Dell",
        "Fen",
        "Gar",
        "Hol",
        "Kest",
        "Lun",
        "Mor",
        "Pell",
        "Quin",
        "Ros",
        "Tam",
        "Vard",
    ),
    "ja": (
        "アル",
        "ベラ",
        "ゴド",
        "デル",
        "フィナ",
        "ガラ",
        "ホル",
        "ケス",
        "ルナ",
        "モラ",
        "ペル",
        "クイ",
        "ロサ",
    ),
}
_TAILS = {
    "en": ("wick", "ara", "ington", "eldo", "umbe", "ister", "antha", "oryn"),
    "ja": ("ミネ", "トリ", "ザワ", "ニカ", "ベルグ", "シマ", "ロッタ", "ヌス"),
}


class Blunt(NamedTuple):
    """A talk, and what has to be known at its end."""

    messages: list[dict[str, str]]
    planted: list[tuple[int, str, str]]
    """Each statement: its kind, the value by which it is recognised, and the statement."""
    changed: list[tuple[str, str]]
    """Values that were given up, each with the one that holds."""


def blunt(seed: int, language: str, *, away: bool = False) -> Blunt:
    """A talk of 64 turns with 25 statements, six values that change, and chatter around them."""
    drawing = random.Random(f"{seed}{language}blunt{'away' * away}")
    pool_of, changes, idle = (AWAY, AWAY_CHANGES, AWAY_CHATTER) if away else (STATED, CHANGES, CHATTER)
    names = [head + tail for head in _HEADS[language] for tail in _TAILS[language]]
    numbers = [str(number) for number in range(211, 989) if number % 10 and number // 10 % 10]
    drawing.shuffle(names)
    drawing.shuffle(numbers)

    def filled(text: str) -> tuple[str, str]:
        value = names.pop() if "{n}" in text else numbers.pop() if "{d}" in text else ""
        return text.format(n=value, d=value if "{n}" not in text else numbers.pop()), value

    said: dict[int, list[str]] = {}
    planted = []
    kinds = [
        (kind, text) for kind, some in enumerate(pool_of[language]) for text in drawing.sample(some, EACH)
    ]
    for kind, text in kinds:
        statement, value = filled(text)
        said.setdefault(drawing.randrange(TURNS - 4), []).append(statement)
        planted.append((kind, value, statement))
    changed = []
    for first, later in drawing.sample(changes[language], 6):
        pool = names if "{a}" in first else numbers
        values = [pool.pop() for _ in range(drawing.choice((2, 2, 3)))]
        at = sorted(drawing.sample(range(TURNS - 2), len(values)))
        for number, (turn, value) in enumerate(zip(at, values, strict=True)):
            text = (first if number == 0 else later).format(a=value, b=value, c=value, e=value)
            said.setdefault(turn, []).append(text)
        changed += [(old, values[-1]) for old in values[:-1]]
    gap = " " if language == "en" else ""
    messages = []
    for turn in range(TURNS):
        chatter = [filled(text)[0] for text in drawing.sample(idle[language], drawing.randint(1, 3))]
        stated = said.get(turn, [])
        words = [*chatter[:1], *stated, *chatter[1:]]
        if turn == 0:
            words.insert(0, OPENING[language])
        messages.append({"role": "user", "content": gap.join(words)})
        reply = gap.join(drawing.sample(REPLIES[language], 10)) + gap
        messages.append({"role": "assistant", "content": (reply * 2).strip()})
    return Blunt(messages, planted, changed)
