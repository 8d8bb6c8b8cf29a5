"""Names of the mail folders for trash and spam, in the languages of the large programs."""

from __future__ import annotations

import re
import unicodedata

_NAMES = """
trash, bin, deleted, deleted items, deleted messages, papierkorb, gelöschte elemente,
gelöschte objekte, gelöschte nachrichten, gelöscht, corbeille, éléments supprimés,
messages supprimés, papelera, papelera de reciclaje, elementos eliminados, mensajes eliminados,
eliminados, cestino, posta eliminata, messaggi eliminati, elementi eliminati, lixeira, lixo,
itens excluídos, itens eliminados, mensagens apagadas, prullenbak, verwijderde items,
verwijderde berichten, papperskorgen, borttagna objekt, borttaget, papirkurv, papirkurven,
slettet post, slettede elementer, slettede beskeder, roskakori, poistetut, poistetut viestit, kosz,
elementy usunięte, usunięte, koš, odstraněná pošta, kôš, odstránená pošta, kuka, törölt elemek,
coș de gunoi, coş de gunoi, elemente șterse, çöp kutusu, çöp, silinmiş öğeler, κάδος απορριμμάτων,
διαγραμμένα, корзина, удаленные, удалённые, кошик, видалені, кошче, изтрити, smeće, otpad,
smetnjak, šiukšliadėžė, šiukšlinė, miskaste, atkritne, prügikast, אשפה, פריטים שנמחקו, المهملات,
سلة المهملات, العناصر المحذوفة, زباله‌دان, سطل زباله, ट्रैश, बिन, ถังขยะ, thùng rác, sampah,
tong sampah, paperera, zakarrontzia, papeleira, ゴミ箱, 削除済みアイテム, 휴지통, 지운 편지함,
已删除邮件, 已删除, 垃圾箱, 废纸篓, 回收站, 垃圾桶, 刪除的郵件, spam, junk, junk mail, junk e-mail,
junk email, bulk mail, unerwünscht, spamverdacht, courrier indésirable, indésirables, pourriel,
correo no deseado, no deseado, posta indesiderata, indesiderata, lixo eletrônico, lixo eletrónico,
ongewenst, ongewenste e-mail, skräppost, uønsket post, uønsket mail, uønsket e-mail, søppelpost,
roskaposti, wiadomości-śmieci, niechciane, nevyžádaná pošta, nevyžádaná, nevyžiadaná pošta,
levélszemét, mesaje nedorite, gereksiz, istenmeyen e-posta, ανεπιθύμητα,
ανεπιθύμητη αλληλογραφία, спам, нежелательная почта, нежелательные, небажана пошта,
нежелана поща, ספאם, דואר זבל, بريد عشوائي, الرسائل غير المرغوب فيها, غير مرغوب فيه, هرزنامه,
स्पैम, สแปม, จดหมายขยะ, อีเมลขยะ, thư rác, 迷惑メール, 스팸함, 스팸, 정크 메일, 垃圾邮件, 垃圾郵件
"""


def _plain(name: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


_UNWANTED = frozenset(map(_plain, _NAMES.split(",")))


def is_unwanted(folder: str) -> bool:
    r"""Whether a folder or label is for trash or spam, by its special use or its name.

    >>> [is_unwanted(folder) for folder in ("\\Trash", "[Gmail]/Papierkorb", "INBOX.Spam", "Binz")]
    [True, True, True, False]
    """
    return _plain(re.split(r"[/.\\]", folder.strip().strip('"'))[-1]) in _UNWANTED
