"""Names of people and places: plain data, with the accents, quotes and scripts that real data has."""

from __future__ import annotations

FIRST_NAMES = (
    "Amira", "Anna", "Björn", "Carmen", "Chloé", "David", "Elif", "Fatima", "George", "Hana", "Ibrahim", "Inês", "Jan",
    "Karim", "Laura", "Łukasz", "Maria", "Mehmet", "Nadia", "Nguyễn", "Olga", "Omar", "Paul", "Renée", "Sara",
    "Siobhán", "Tariq", "Ulrich", "Wei", "Yasmin", "Zoë", "李雷",
)  # fmt: skip
LAST_NAMES = (
    "Abbas", "Almeida", "Berg", "Castillo", "D'Angelo", "Demir", "Eriksson", "Farouk", "García", "Haddad", "Ivanova",
    "Jansen", "Khalil", "Kowalski", "Lefèvre", "Mansour", "Müller", "Nakamura", "O'Neil", "Özkan", "Petrov", "Quispe",
    "Rahman", "Saleh", "Tanaka", "van der Meer", "Weiß", "Yılmaz", "Zhang",
)  # fmt: skip
COMPANY_ENDINGS = ("Holding", "& Sons", "Real Estate LLC", "Invest GmbH", '"Horizon" Ltd', "Trading S.A.")
PROJECT_FIRST = (
    "Marina", "Olive", "Palm", "Cedar", "Riverside", "Al Noor", "Sunset", "Łąka", "Parc", "Königs", "Harbour", "Garden",
    "Crystal", "Jasmine", "Old Mill", "North",
)  # fmt: skip
PROJECT_LAST = ("Heights", "Gardens", "Residences", "Quarter", "Plaza", "Village", "Court", "Terraces", "花园")
BUILDING_KINDS = ("Tower", "Block", "House", "Villa row", "Maison")
