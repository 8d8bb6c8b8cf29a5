"""Where invented homes are: time zone, country, hemisphere, and what people are called there."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Region:
    """A place that homes are in.

    Attributes:
        timezone: IANA name.
        country: ISO 3166 code, for holidays.
        hemisphere: For seasons.
        names: Given names.
        families: Family names.
    """

    timezone: str
    country: str
    hemisphere: str
    names: tuple[str, ...]
    families: tuple[str, ...]


def _region(timezone: str, country: str, hemisphere: str, names: str, families: str) -> Region:
    return Region(timezone, country, hemisphere, tuple(names.split()), tuple(families.split()))


REGIONS = (
    _region(
        "Europe/London", "GB", "north",
        "Alice Ben Claire Daniel Emma Frank Georgia Harriet Jack Nigel Olivia Tilda",
        "Brooks Clarke Foster Hughes Taylor Wright",
    ),
    _region(
        "America/Chicago", "US", "north",
        "Brian Camila Denise Diego Elijah Guillermo Jamal Josie Lupe Mateo Rachel Shanice",
        "Garcia Greene Lopez Mendoza Thompson Wilson",
    ),
    _region(
        "Europe/Berlin", "DE", "north",
        "Anders Björn Elke Florian Greta Hans Ilse Jürgen Käthe Lena Sabine Uschi",
        "Bauer Fischer Hoffmann Müller Schröder Weiß",
    ),
    _region(
        "Europe/Warsaw", "PL", "north",
        "Agnieszka Bogdan Ewa Grażyna Jacek Łukasz Maja Paweł Stanisław Wojciech Zofia Żaneta",
        "Dąbrowski Kowalska Nowak Wiśniewska Wójcik Zieliński",
    ),
    _region(
        "Asia/Kolkata", "IN", "north",
        "Aditi Arjun Deepa Kavya Krishna Neha Nikhil Padma Prakash Rohan Sunil Vijay",
        "Banerjee Das Gupta Patel Rao Sharma",
    ),
    _region(
        "Asia/Tokyo", "JP", "north",
        "Aiko Akira Hana Hiroshi Keiko Kenji Rina Sakura Yuki 健太 さくら 葵",
        "Aoki Ito Nakamura Sato Suzuki 田中",
    ),
    _region(
        "Europe/Athens", "GR", "north",
        "Γιώργος Ελένη Κατερίνα Νίκος Σοφία Δημήτρης Anna Maria Petros Yannis Despina Thea",
        "Papadopoulos Παπαδάκης Nikolaidis Vlachou",
    ),
    _region(
        "Pacific/Auckland", "NZ", "south",
        "Aroha Brigitte Connor Hēmi Isla Kahu Māia Ngaire Rāwiri Sina Tāne Wiremu",
        "Campbell Fa'asavalu Ngata Stewart Tūhoe Walsh",
    ),
    _region(
        "America/Sao_Paulo", "BR", "south",
        "Beatriz Caetano Eduardo Fernanda Inês João Luísa Nuno Otávio Raquel Tomás Vitória",
        "Barbosa Carvalho Gonçalves Oliveira Pereira Silva",
    ),
    _region(
        "Africa/Lagos", "NG", "north",
        "Adaeze Chidi Emeka Folake Ifeoma Imani Kofi Ngozi Obi Sade Temi Yusuf",
        "Abara Adeyemi Okafor Osei Usman",
    ),
)  # fmt: skip
