"""The language label: tag, script, signs, detector, in this order, and never a value outside the closed list."""

from __future__ import annotations

import functools
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tokenwire_server import detector, language
from tokenwire_server.detector import Detector, EldcAndPycld2
from tokenwire_server.errors import ConfigError

from tests.languages.samples import locale_language, messages, windows

GERMAN = "Die Katze sitzt am Fenster und schaut den Vögeln zu, die im Garten nach Futter suchen."


class Recorder:
    """A detector that writes down what it is asked and knows one answer."""

    name = "recorder"

    def __init__(self, answer: str | None = "de") -> None:
        self.asked: list[tuple[str, str]] = []
        self._answer = answer

    def detect(self, text: str, script: str) -> str | None:
        self.asked.append((text, script))
        return self._answer


@functools.cache
def real() -> Detector:
    """The detector of the extra, which the tests install."""
    return EldcAndPycld2()


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        ("en", "en"),
        ("pt-BR", "pt"),
        ("PT_br", "pt"),
        ("zh-Hant-TW", "zh"),
        ("iw", "he"),
        ("nn-NO", "nb"),
        ("fil", "fil"),
    ],
)
def test_a_declared_tag_counts_as_its_primary_language(tag: str, expected: str) -> None:
    """A tag on the list is normalised to its primary language, whatever the text's script."""
    assert language.label(tag, "ελληνικά".encode()) == (expected, language.DECLARED)


@pytest.mark.parametrize(
    "tag", ["xx", "english", "und", "-", "e", "en-", "en-€", "en-" * 50 + "en", "i-klingon"]
)
def test_any_other_tag_counts_as_undetermined(tag: str) -> None:
    """A tag that is unknown or no tag makes no label of its own."""
    assert language.label(tag, "ελληνικά".encode()) == ("und", language.NONE)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("한국어 문장입니다", "ko"),
        ("これは日本語の文です", "ja"),
        ("カタカナ", "ja"),
        ("人工智能正在改变世界", "zh"),
        ("สวัสดีชาวโลก", "th"),
        ("Ελληνικά", "el"),
        ("שלום עולם", "he"),
        ("வணக்கம்", "ta"),
        ("নমস্কার", "bn"),
        ("გამარჯობა", "ka"),
        ("Բարեւ", "hy"),
        ("漢字" * 20 + "は", "ja"),
        ("あいう漢字文カabc", "ja"),
        ("Ελληνικά, 2024! GPT", "el"),
    ],
)
def test_a_script_of_one_language_decides(text: str, expected: str) -> None:
    """Where 70% of the letters share a script of one language, that is the label; digits and marks do not vote."""
    assert language.label("", text.encode()) == (expected, language.SCRIPT)


@pytest.mark.parametrize("text", ["", "123 !?", "hello", "привет", "مرحبا", "नमस्ते", "👍", "\x00", "ህዝብ"])
def test_all_else_is_undetermined(text: str) -> None:
    """Scripts of many languages, unlisted ones and texts without letters stay `und` where there is no detector."""
    assert language.label("", text.encode()) == ("und", language.NONE)


@pytest.mark.parametrize(
    "text",
    ["abc אבג", "人工智能 and", "한국어 слово", "нет yes δεν", "中文 한국어 中文 한국어"],
)
def test_several_scripts_are_multiple_languages(text: str) -> None:
    """Where no script has 70% of the letters the label is `mul`, and no detector is asked."""
    recorder = Recorder()
    assert language.label("", text.encode(), recorder) == ("mul", language.SCRIPT)
    assert recorder.asked == []


def test_the_share_is_at_least_70_percent() -> None:
    """Seven letters of ten decide, and 69 of a hundred do not."""
    assert language.label("", ("α" * 7 + "a" * 3).encode())[0] == "el"
    assert language.label("", ("α" * 69 + "a" * 31).encode())[0] == "mul"


def test_only_the_first_256_characters_are_looked_at() -> None:
    """What stands behind the sample does not change the label."""
    assert language.label("", ("α" * 256 + "a" * 10_000).encode())[0] == "el"


NO_PROSE = (
    "for (size_t i = 0; i < n; i++) { sum += values[i]; }",
    "squares = [x ** 2 for x in range(10) if x % 2 == 0]",
    "SELECT u.id, u.name FROM users AS u WHERE u.created_at > '2024-01-01' LIMIT 10;",
    '{"name": "Anna", "city": "Oslo", "tags": ["new", "paid"], "age": 41}',
    '<div class="row"><a href="/about">About us</a></div>',
    "2024-03-01T12:00:00Z ERROR [main] com.example.Cache - key=user:42 evicted after 300ms",
    '10.0.0.7 - - [01/Mar/2024:12:00:00 +0000] "GET /index.html HTTP/1.1" 200 5123',
    "https://www.example.com/the/path/to/the/page?and=the&of=that#top",
    "VGhlIHF1aWNrIGJyb3duIGZveCBqdW1wcyBvdmVyIHRoZSBsYXp5IGRvZy4=",
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "id;name;price\n1;apple;0.50\n2;pear;0.75\n3;plum;0.20",
    '"Москва": {"код": 495, "часовой_пояс": "+3"}, "Пермь": {"код": 342}',
)


@pytest.mark.parametrize("text", NO_PROSE)
def test_code_and_data_are_in_no_language(text: str) -> None:
    """Code, queries, markup, logs, addresses and encoded bytes are `zxx`, and no detector is asked."""
    recorder = Recorder()
    assert language.label("", text.encode(), recorder) == ("zxx", language.SIGNS)
    assert recorder.asked == []


@pytest.mark.parametrize("text", [*NO_PROSE, "def area(self) -> float:\n    return self.width * self.height"])
def test_parts_of_code_and_data_are_in_no_language_that_people_speak(text: str) -> None:
    """However such a text is cut, it is `zxx` or `und`."""
    cuts = {text[start : start + n] for n in (20, 40) for start in range(0, len(text), 7)}
    labels = {language.label("", cut.encode(), real())[0] for cut in cuts}
    assert labels <= {"zxx", "und"}


@pytest.mark.parametrize(
    ("text", "script"),
    [
        (GERMAN, "Latn"),
        ("Кошка сидит у окна", "Cyrl"),
        ("القطة تجلس قرب النافذة", "Arab"),
        ("बिल्ली खिड़की के पास", "Deva"),
    ],
)
def test_the_detector_is_asked_about_prose_in_a_shared_script(text: str, script: str) -> None:
    """For Latin, Cyrillic, Arabic and Devanagari the detector's answer is the label."""
    recorder = Recorder()
    assert language.label("", text.encode(), recorder) == ("de", language.DETECTOR)
    assert recorder.asked == [(text, script)]


@pytest.mark.parametrize(
    ("tag", "text"),
    [("fr", GERMAN), ("xx", GERMAN), ("", "Ελληνικά"), ("", "ህዝብ"), ("", ""), ("", "12 34 !?")],
)
def test_the_detector_is_not_asked_where_something_else_decides(tag: str, text: str) -> None:
    """A tag, a script of one language, one that no detector knows and a text without letters are not its business."""
    recorder = Recorder()
    language.label(tag, text.encode(), recorder)
    assert recorder.asked == []


def test_the_detector_sees_the_first_256_characters() -> None:
    """What stands behind them is not even decoded, and ill-formed bytes reach it as replacement characters."""
    recorder = Recorder()
    language.label("", b"\xff" + ("ж" * 300).encode(), recorder)
    assert recorder.asked == [("\ufffd" + "ж" * 255, "Cyrl")]


@pytest.mark.parametrize("answer", [None, "ku", "und", "xx"])
def test_an_answer_that_is_not_listed_is_none(answer: str | None) -> None:
    """A detector makes no label of its own."""
    recorder = Recorder(answer)
    expected = ("und", language.NONE)
    assert language.label("", GERMAN.encode(), recorder) == expected
    assert recorder.asked


@given(
    st.text(max_size=20),
    st.one_of(
        st.text(max_size=300).map(lambda text: text.encode("utf-8", "replace")), st.binary(max_size=600)
    ),
)
@example("", b"\x00" * 70 + GERMAN.encode())
@example("", GERMAN.encode() + "\U0001fffe\uffff\x7f\x85 ".encode() * 3)
@example("", b"\xff\xc0\xed\xa0\x80" + GERMAN.encode())
def test_every_label_is_on_the_closed_list(tag: str, utf8: bytes) -> None:
    """Whatever is declared and whatever is sent, well-formed or not, no new label appears and nothing is raised."""
    for found in (None, real()):
        label, source = language.label(tag, utf8, found)
        assert label in language.LANGUAGES
        assert source in language.SOURCES
        assert (label == "und") == (source == language.NONE)


def test_what_the_detector_may_answer_is_listed() -> None:
    """Each of its languages is on the closed list of labels."""
    assert detector.LANGUAGES.issubset(language.LANGUAGES - {"und", "mul", "zxx"})


def test_control_characters_do_not_change_the_answer() -> None:
    """Text with NUL, tabs and noncharacters between its words is what it is without."""
    for separator in ("\x00", "\t", "\x85", "\ufdd0", "\U0010ffff"):
        text = GERMAN.replace(" ", separator)
        assert real().detect(text, "Latn") == "de"


FLOORS = {
    "Latn": "az ca cs cy da de en es et eu fi fr ga hu id is it lt lv nb nl pl pt pt_BR ro sk sl sq sv sw tr uz vi",
    "Cyrl": "be bg kk ky mn ru sr tg uk",
    "Arab": "ar fa ur",
    "Deva": "hi mr ne",
}
MISTAKEN = {"mk": 0.05, "ms": 0.07, "udm": 0.2, "ia": 0.04}
"""Languages that no library or only one knows, and how much of their text may be taken for a neighbour."""


@pytest.mark.parametrize(
    ("script", "locale"), [(s, name) for s, names in FLOORS.items() for name in names.split()]
)
def test_the_detector_knows_its_languages(script: str, locale: str) -> None:
    """Of 200 characters of Django's messages at least three in four are told right, and at most 1.5% wrong."""
    expected = locale_language(locale)
    found = Counter(real().detect(text, script) for text in windows(messages()[locale], 200))
    n_wrong = found.total() - found[expected] - found[None]
    assert found[expected] >= 0.75 * found.total()
    assert n_wrong <= 0.015 * found.total()


def test_other_languages_are_not_mistaken_for_known_ones() -> None:
    """In 200 characters of any other of Django's languages the label is wrong in at most 1.5%, or what is stated."""
    for locale in sorted(set(messages()) - {name for names in FLOORS.values() for name in names.split()}):
        expected = {locale_language(locale), "und", "mul", "zxx"}
        labels = [language.label("", text.encode(), real())[0] for text in windows(messages()[locale], 200)]
        n_wrong = sum(label not in expected for label in labels)
        assert n_wrong <= MISTAKEN.get(locale, 0.015) * len(labels), locale


def test_threads_get_the_answers_of_one() -> None:
    """Asked from eight threads at once, the detector says what it says to one."""
    texts = [text for name in ("de", "es", "hi", "ky") for text in windows(messages()[name], 200)]

    def labels() -> list[tuple[str, str]]:
        return [language.label("", text.encode(), real()) for text in texts]

    expected = labels()
    with ThreadPoolExecutor(8) as pool:
        assert all(found.result() == expected for found in [pool.submit(labels) for _ in range(16)])


def test_the_setting_decides_whether_there_is_a_detector(monkeypatch: pytest.MonkeyPatch) -> None:
    """Off is off; on and auto name what decides; without the extra auto says so, and on is refused."""
    versions = detector.load("on")[1]
    assert versions.startswith("eldc ")
    assert detector.load("off") == (None, "off")
    assert detector.load("auto")[1] == versions
    monkeypatch.setattr(detector, "LIBRARIES", ("eldc", "no_such_library"))
    found, state = detector.load("auto")
    assert found is None
    assert state.startswith("not installed (No module named 'no_such_library')")
    assert "extra `languages`" in state
    with pytest.raises(ConfigError, match="no_such_library"):
        detector.load("on")
