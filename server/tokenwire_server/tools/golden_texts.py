"""Golden texts: what golden vectors are made of, the same for every tokenizer and a few taken from each.

The fixed ones are ours, short, and between them touch what splits and merges: scripts, blanks, digits, case, marks,
forms of one text that look alike, emoji, characters of every width and none, long runs, code, and what is nearly a
control token. A changed text is a changed golden file of everybody, so they are added to and not edited.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tokenwire_core.spec import PipelineSpec, RankFileSpec, TokenizerSpec

from tokenwire_server.golden import Vector

MOST_SPECIAL_TOKENS = 64
"""Special tokens that get texts of their own: so many halves from the lowest and from the highest ids."""
MOST_ENTRIES = 8
MAX_JOINED_BYTES = 32768

TEXTS: tuple[str, ...] = (
    "",
    # Words, contractions, case.
    "Hello, world!",
    "The quick brown fox jumps over the lazy dog.",
    "I'LL say it isn't, we've said he'd; 'tis o'clock, y'all'd've",
    "don't DON'T Don’t dOn'T 'S 's 'Re 'm 'LL'll 'ſ 'x",
    "camelCaseWord PascalCase SCREAMING_SNAKE_CASE kebab-case-word iPhone15 eBay McDonald",
    "ALLCAPS MiXeD cAsE ǅungla ǲ ǈ",
    "antidisestablishmentarianism pneumonoultramicroscopicsilicovolcanoconiosis",
    "supercalifragilistic" * 4,
    "naïve café — “quoted” ‘single’ …",
    "e.g. i.e. U.S.A. Ph.D. Mr. O'Neill-Smith & Co., Ltd.",
    # Blanks and line ends.
    " ",
    "\n",
    "  two  blanks\n\n\tand a tab  ",
    " leading and trailing ",
    "a" + " " * 2 + "b" + " " * 3 + "c" + " " * 17 + "d",
    " " * 100,
    "\t\t\tthree tabs\t\tand two",
    "line\nline\r\nline\rline\n\n\n\nend\n",
    "\n \n  \n   \n",
    "\r\n\r\n  \r\n",
    "word \n word\n word  \n\n  word",
    "\u00a0no-break\u202fnarrow\u2003em\u3000ideographic\u2009thin",
    "line\u2028separator\u2029paragraph\u0085next\x0bvertical\x0cfeed",
    "zero\u200bwidth\u200cnon\u200djoiner\u2060word\ufeffmark",
    # Digits and numbers.
    "0 1 12 123 1234 12345 123456 1234567 12345678",
    "I have 12345678 reasons, 3.14159 of them at 99.9%",
    "2024-08-06T12:34:56.789Z +49 (0)30 1234-5678 192.168.0.1 ::1",
    "$1,234.56 €9,99 £3 ¥500 1e-10 0x7fff 1_000_000 −273",
    "١٢٣٤٥٦ १२३४ １２３４ ⅠⅡⅣ ½²⁷",
    "7" * 40,
    "v1.2.3-rc.4+build.567 3D 4th 5km 6×7",
    # Punctuation and symbols.
    "!?!? ... --- ___ *** ((([[[{{{}}}]]])))",
    "~`@#$%^&*()_+-={}|[]\\:\";'<>?,./",
    "a/b\\c//d/\\/e ://// \n///\r\n/",
    "←↑→↓ ∑∫∞≠≤ α→β ∀x∈ℝ",
    "█░▓ ┌─┐ ✓✗ • · ©®™ §¶",
    "-" * 80,
    "=" * 33 + "\n" + "#" * 9,
    "、。「」！？（）・〜",
    # Scripts.
    "Naše ulice, příliš žluťoučký kůň; Zażółć gęślą jaźń",
    "Tiếng Việt có dấu; İstanbul'da ışık; Þór ætlar",
    "Größe, STRASSE, straße, ẞ, ŉ, ﬁnal ﬃ",
    "Привет, мир! Это текст.",
    "Привіт, світе; їжак ґанок",
    "Καλημέρα κόσμε, ἄνθρωπος Σίσυφος",
    "Բարև աշխարհ; გამარჯობა",
    "שלום עולם, שָׁלוֹם ב״ה",
    "مرحبا بالعالم، مَرْحَبًا ؟ ـــ",
    "سلام دنیا، می\u200cخواهم; آپ کیسے ہیں",
    "नमस्ते दुनिया। क्षत्रिय",
    "হ্যালো বিশ্ব; ਸਤ ਸ੍ਰੀ; કેમ છો",
    "வணக்கம்; నమస్కారం; ನಮಸ್ಕಾರ; നമസ്കാരം; ආයුබෝවන්",
    "สวัสดีชาวโลก น้ำ",
    "ສະບາຍດີ; မင်္ဂလာပါ; សួស្តី",
    "བཀྲ་ཤིས་; ሰላም ዓለም።; ᎣᏏᎩ",
    "東京は晴れです。人工知能のトークンを数える。",
    "你好，世界！人工智能正在改变世界。繁體中文測試",
    "한국어 문장입니다. \u1112\u1161\u11ab\u1100\u1173\u11af ㅋㅋㅋ",
    "ﾊﾝｶｸｶﾅ ＦＵＬＬ ひらがなカタカナ漢字",
    "Mix: English русский 中文 日本語 العربية עברית",
    "pаypal (Cyrillic a), ΑВΕ (Greek), ⅼ (numeral)",
    # Marks, and texts that look alike and are not.
    "\u00e9\u00f1\u00fc\u00c5\u1e69",
    "e\u0301n\u0303u\u0308A\u030as\u0323\u0307",
    "\u212b \u2126 \u1100\u1161 \uac00 \u0958 \u0915\u093c",
    "a\u0300\u0301\u0302\u0303\u0304\u0305\u0306\u0307 Z\u0351\u036b\u0343a\u0338\u0321l\u0335g\u0334o\u0337",
    "\u0301starts with a mark, and one after a blank: \u0308",
    "x\u0328\u0301 x\u0301\u0328 \u0e01\u0e33 \u0e01\u0e4d\u0e32",
    "\u2460 \u338f \u2103 \ufdfa \U0001d400 \uff21",
    # Emoji and the characters that join them.
    "\U0001f600\U0001f601\U0001f923 \u2764\ufe0f \u2764 \u263a\ufe0e",
    "👨\u200d👩\u200d👧\u200d👦 🧑🏽\u200d🚀 👍🏾",
    "🇩🇪🇯🇵🇺 🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "1\ufe0f\u20e3 #\ufe0f\u20e3 \u00a9\ufe0f text\U0001f525text",
    "\U0001f600" * 12,
    # Rare characters: beyond the basic plane, unassigned, private, of no use, controls.
    "\U00010348\U00010330 \U0001d504\U0001d51f\U0001d520 \U0001d7d8\U0001d7d9 \U00012000",
    "\U00020000\U0002a6d6\U00030000 \u3400\u9fff\uf900",
    "\u0378\u0530\U0001fbff\U000e0fff \uabff",
    "\ue000\uf8ff\U000f0000\U0010fffd",
    "\ufffd\ufffe\uffff\U0001ffff\ufdd0",
    "\x00\x01\x02\x07\x08\x0e\x1b[31m\x7f\x80\x9f",
    "nul\x00inside\x00\x00",
    "\u202eright to left\u202c \u200f\u200e \u00adsoft\u00adhyphen",
    # Long runs: merges by rank over many equal neighbours.
    "a" * 64,
    "ab" * 50,
    "\u554a" * 32,
    "\u0430" * 48,
    "A" * 33 + "a" * 33,
    "\n" * 40,
    "\t" * 24 + "x",
    ". " * 30,
    "ha" * 20 + "!" * 20,
    # Code and markup.
    "def f(x: int) -> int:\r\n    return x ** 2  # ok\n",
    "for (int i = 0; i < n; ++i) {\n\tsum += a[i] * b[i];\n}\n",
    "    if x:\n        y()\n\n            z = {'k': [1, 2]}\n",
    "SELECT * FROM t WHERE a <> 'b' AND c >= 10;--",
    '{"key": "value", "list": [1, 2.5, null, true], "nested": {"a": "\\u00e9\\n"}}',
    "<div class=\"a b\" id='c'>text &amp; more</div><!-- note --><br/>",
    "# Title\n\n- item *one*\n- item **two**\n\n```sh\n$ echo \"$HOME\" | sed 's/a/b/g'\n```\n",
    "https://example.org/path/to/page?q=a%20b&lang=en#frag user.name+tag@example.co.uk",
    "^(?:[a-z]+|\\d{2,})\\s*$ \\\\server\\share C:\\temp\\new.txt",
    'fn main() -> Result<(), Box<dyn Error>> { println!("{:?}", x?); Ok(()) }',
    "$\\frac{a}{b} = \\sum_{i=1}^{n} x_i^2$ \\begin{align}",
    "d41d8cd98f00b204e9800998ecf8427e 3q2+7w== SGVsbG8=",
    # Nearly control tokens, and some that are one somewhere.
    "<|endoftext|>",
    "<|endoftext|",
    "|endoftext|> <|ENDOFTEXT|> < |endoftext|> <|endoftext |>",
    "<|im_start|>user\nHi<|im_end|>",
    "<s>[INST] <<SYS>> a <</SYS>> b [/INST]</s>",
    "<think>hm</think> <start_of_turn>model\n<end_of_turn>",
    "<\uff5cUser\uff5c><\uff5cend\u2581of\u2581sentence\uff5c>\u2581word",
    "<0x0A> <unk> [UNK] [CLS] [MASK] <pad> <unused7> \u0120word \u010a",
)


PAIRS = (("Hello, world!", None), ("", None), ("A model never sees text.", "It sees  ids."), ("one", ""))
"""Texts that are asked for with the template around them, and pairs."""


def questions(spec: TokenizerSpec) -> Iterator[Vector]:
    """What is asked of a tokenizer, as vectors that lack the answers: the fixed texts, then those of its own.

    Of its own: each special token within a text (or the lowest and highest ids), both as text and allowed; all
    special tokens in a row, where that is not too long; its longest tokens and its last, which are the rarest. Where
    the format has templates, some texts and pairs with theirs. Cost: O(n log n) in the vocabulary.
    """
    seen: set[str] = set()
    for text in (*TEXTS, *_entries(spec)):
        if text not in seen:
            seen.add(text)
            yield Vector(text, ())
    ordered = sorted(spec.special_tokens, key=spec.special_tokens.__getitem__)
    half = MOST_SPECIAL_TOKENS // 2
    chosen = ordered if len(ordered) <= MOST_SPECIAL_TOKENS else ordered[:half] + ordered[-half:]
    ambiguous = _ambiguous(ordered)
    for spelling in chosen:
        text = f"a{spelling} b"
        yield Vector(text, ())
        if spelling not in ambiguous:
            yield Vector(text, (), special=True)
    row = "".join(ordered)
    if len(ordered) > 1 and not ambiguous and len(row.encode()) <= MAX_JOINED_BYTES:
        yield Vector(row, (), special=True)
    if isinstance(spec, PipelineSpec):
        for text, pair in PAIRS:
            yield Vector(text, (), add_special=True, pair=pair)
        yield Vector("one ", (), pair=" two")


def _entries(spec: TokenizerSpec) -> Iterator[str]:
    """The longest tokens and those of the highest ids, as far as they are text."""
    special_ids = frozenset(spec.special_tokens.values())
    tokens = {token: id_ for id_, token in spec.tokens() if id_ not in special_ids}
    for ordered in (
        sorted(tokens, key=len, reverse=True),
        sorted(tokens, key=tokens.__getitem__, reverse=True),
    ):
        texts = (text for token in ordered if (text := _as_text(token)) is not None)
        for _, text in zip(range(MOST_ENTRIES), texts, strict=False):
            # Of other formats, the blank that a text must have for the token to come up.
            yield text if isinstance(spec, RankFileSpec) else text.replace("\u2581", " ")


def _as_text(token: bytes) -> str | None:
    try:
        return token.decode()
    except UnicodeDecodeError:
        return None


def _ambiguous(spellings: Iterable[str]) -> set[str]:
    """Spellings that another begins with, and those others: which of them tiktoken finds hangs on a hash table."""
    found: set[str] = set()
    stem = None
    for spelling in sorted(spellings):
        if stem is not None and spelling.startswith(stem):
            found |= {stem, spelling}
        else:
            stem = spelling
    return found
