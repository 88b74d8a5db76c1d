"""The same in other words: back-translation and its stand-ins, behind one interface.

A `Paraphraser` takes texts and gives texts back: `again = paraphraser(texts, temperature=0.7, seed=0)`.

| paraphraser | how | needs |
|---|---|---|
| `Toyshop` | exchanges words and clauses of the toyshop's grammar for others that mean the same | nothing |
| `BackTranslation` | to German and back with two MarianMT models, by sampling | their folders, or the hub |
| `Apertium` | to Spanish or Catalan and back, by dictionaries and rules | the program (30 MB) |
| `FromFile` | looks paraphrases up in a file | the file |

`reworded` puts paraphrases beside each text, for `CSSL`; `augmented` adds them as further training rows (SCL 4.2).
"""

from contrast_kit.paraphrase.apertium import Apertium
from contrast_kit.paraphrase.base import Paraphraser, augmented, reworded
from contrast_kit.paraphrase.from_file import FromFile, write_pairs
from contrast_kit.paraphrase.marian import BackTranslation
from contrast_kit.paraphrase.toyshop import Toyshop, same_meaning

__all__ = [
    "Apertium",
    "BackTranslation",
    "Paraphraser",
    "FromFile",
    "Toyshop",
    "augmented",
    "reworded",
    "same_meaning",
    "write_pairs",
]
