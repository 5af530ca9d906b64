"""A short text of our own in each of 20 languages, by its tag as a client may declare it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

TEXTS: Mapping[str, str] = MappingProxyType(
    {
        "en": "The train leaves at half past seven. Please bring your ticket, and something warm to wear!",
        "de-AT": "Der Zug fährt um halb acht. Bitte bring die Fahrkarte mit, und etwas Warmes zum Anziehen!",
        "fr": "Le train part à sept heures et demie. Apportez votre billet, s'il vous plaît ! Il fera froid là-haut.",
        "es-MX": "El tren sale a las siete y media. ¿Traes tu boleto? Mañana hará frío en la montaña.",
        "pt-BR": "O trem sai às sete e meia. Traga a sua passagem, por favor. Amanhã não vai chover.",
        "pl": "Pociąg odjeżdża o wpół do ósmej. Weź ze sobą bilet i coś ciepłego. Jutro będzie śnieg.",
        "tr": "Tren yedi buçukta kalkıyor. Lütfen biletini getir. Yarın hava çok soğuk olacak, İstanbul'da bile.",
        "vi": "Tàu chạy lúc bảy giờ rưỡi. Xin hãy mang theo vé của bạn. Ngày mai trời sẽ lạnh.",
        "ru": "Поезд отходит в половине восьмого. Не забудьте билет! Завтра в горах будет холодно.",
        "uk": "Потяг відходить о пів на восьму. Не забудьте квиток! Завтра в горах буде холодно, їдьмо раніше.",
        "el": "Το τρένο φεύγει στις εφτάμισι. Φέρε το εισιτήριό σου, παρακαλώ. Αύριο θα κάνει κρύο.",
        "iw": "הרכבת יוצאת בשבע וחצי. אנא הביאו את הכרטיס שלכם. מחר יהיה קר בהרים.",
        "ar": "يغادر القطار في السابعة والنصف. من فضلك أحضر تذكرتك. سيكون الجو باردًا غدًا.",
        "hi": "रेलगाड़ी साढ़े सात बजे छूटती है। कृपया अपना टिकट साथ लाएँ। कल पहाड़ों में ठंड होगी।",
        "bn": "ট্রেন সাড়ে সাতটায় ছাড়ে। অনুগ্রহ করে আপনার টিকিট সঙ্গে আনুন। কাল ঠান্ডা পড়বে।",
        "ta": "ரயில் ஏழரை மணிக்குப் புறப்படும். உங்கள் சீட்டை எடுத்து வாருங்கள். நாளை குளிராக இருக்கும்.",
        "th": "รถไฟออกเวลาเจ็ดโมงครึ่ง กรุณานำตั๋วมาด้วย พรุ่งนี้บนภูเขาจะหนาว",
        "ko": "기차는 일곱 시 반에 출발합니다. 표를 꼭 가져오세요. 내일은 산이 춥겠습니다.",
        "ja-JP": "電車は七時半に出ます。切符を持ってきてください。明日は山が寒いでしょう。",
        "zh-Hant-TW": "火車七點半出發。請帶著你的車票。明天山上會很冷，還可能下雪。",
    }
)

LABELS: Mapping[str, str] = MappingProxyType({tag: tag.partition("-")[0] for tag in TEXTS} | {"iw": "he"})
"""The label under which each is counted."""
