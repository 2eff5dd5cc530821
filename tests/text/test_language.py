"""Languages: stop words, base forms, words without spaces; boilerplate."""

import pytest

from cladify.errors import InvalidInput
from cladify.text._clean import own_words, without_addresses
from cladify.text._language import find_language
from cladify.text._terms import count_terms

GERMAN = ["Der Hund ist nicht in dem Haus und die Katze auch nicht", "Die Hunde sind auf der Straße und nicht im Haus"]
FRENCH = [
    "le chien est dans la maison et les chats sont sur le toit",
    "les chiens ne sont pas dans la rue",
]
RUSSIAN = ["собака не в доме, и кошка тоже не в доме", "собаки были на улице, но не в доме и не в саду"]


@pytest.mark.parametrize(
    ("texts", "code", "shown", "hidden"),
    [
        (GERMAN, "de", {"Haus"}, {"nicht", "der", "und"}),
        (FRENCH, "fr", {"maison"}, {"les", "dans", "est"}),
        (RUSSIAN, "ru", {"кошка"}, {"не", "в", "на"}),
    ],
)
def test_stop_words_are_no_terms(texts, code, shown, hidden):
    terms = count_terms(texts * 3, min_texts=1)
    assert terms.language == code and not hidden & {text.lower() for text in terms.shown}
    assert shown <= set(count_terms(texts * 3, min_texts=1, language=code).shown)


def test_forms_of_a_word_are_one_term():
    terms = count_terms(["zwei Dateien öffnen", "eine Datei löschen", "Dateien"], min_texts=1, language="German")
    assert "Dateien" in terms.shown and "Datei" not in terms.shown


def test_words_of_scripts_without_spaces():
    chinese = count_terms(["无法打开文件", "打开文件失败", "检查网络连接", "网络连接失败"], min_texts=1)
    assert chinese.language == "zh" and {"打开", "网络"} <= set(chinese.shown)
    japanese = count_terms(["ファイルを開く", "ファイルの設定を確認する", "設定を保存する"], min_texts=1)
    assert japanese.language == "ja" and {"ファイル", "設定"} <= set(japanese.shown)
    assert all(len(text) > 1 for terms in (chinese, japanese) for text in terms.shown)


def test_words_without_spaces_among_others_are_whole():
    """A few Japanese and Chinese lines among English ones gave pieces of words."""
    texts = [
        "the oak is an old tree",
        "an elm and the ash",
        "日本語のテキスト",
        "古いテキスト",
        "无法打开文件",
        "打开文件失败",
    ]
    shown = set(count_terms(texts * 2, min_texts=1, language="en").shown)
    assert {"テキスト", "打开", "oak"} <= shown and not {"テキ", "キス", "スト", "开文"} & shown


def test_users_choose():
    texts = ["red oak", "red elm"] * 3
    assert "red" not in count_terms(texts, stop_words=["red"]).shown
    assert "ed o" in count_terms(texts, tokenizer=lambda text: [text[1:5]]).shown
    with pytest.raises(InvalidInput, match="tokenizer must be"):
        count_terms(texts, tokenizer=lambda text: text)
    with pytest.raises(InvalidInput, match="language"):
        find_language(texts, "Klingonisch")


def test_ids_addresses_and_placeholders_are_no_terms():
    texts = ["write to joe@example.org at host.example.org about 3fa85f64 and 829106 and %ld oaks and python3"] * 3
    shown = set(" ".join(count_terms(texts).shown).split())
    assert {"oaks", "python3"} <= shown
    assert not shown & {"joe", "example", "org", "3fa85f64", "829106", "ld", "host"}
    assert without_addresses("100 % of oaks") == "100 % of oaks"


def test_capitals_only_where_nearly_all_are():
    assert count_terms(["FRANKLIN", "FRANKLIN", "Franklin"]).shown == ["Franklin"]
    assert count_terms(["NASA"] * 9 + ["nasa"]).shown == ["NASA"]


def test_quotes_and_lines_of_many_texts_do_not_count():
    signature = "Sent from my old telephone"
    texts = [f"> quoted {i}\nOaks grow slowly and get old, number {i}\n{signature}" for i in range(4)]
    assert own_words(texts) == [f"Oaks grow slowly and get old, number {i}" for i in range(4)]
    assert own_words(texts[:1], texts[1:]) == own_words(texts)[:1]


@pytest.mark.parametrize(("code", "word"), [("fr", "veuillez"), ("ja", "場合"), ("zh", "没有"), ("zh", "已经")])
def test_stop_words_that_the_lists_have_not(code, word):
    assert word in find_language([""], code).stop_words
