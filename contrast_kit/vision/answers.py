"""Fine-tuning on pictures: answers to questions (VQA, GQA), and statements about two pictures (NLVR2).

CAPT 4.2, with the heads and losses of LXMERT, whose hyper-parameters it adopts.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from contrast_kit.checks import Count, Settings
from contrast_kit.encoder.encoder import View
from contrast_kit.objectives.base import Objective, texts_of
from contrast_kit.objectives.scl import FineTune, FineTuneConfig
from contrast_kit.vision import losses

SIDES = ("left", "right")
"""The two pictures of a statement, and the prefixes of their keys in a batch: `left/regions`."""


@dataclass(frozen=True)
class AnswerConfig(Settings):
    """What answering leaves to choose."""

    answers: Count = 2
    """A, how many answers there are to choose from: the width of `answer_scores`."""


class Answer(Objective):
    """Answer a question about a picture, where several answers may be right: VQA and GQA (CAPT 4.2).

    An MLP takes [CLS] to A scores. The loss is `vision.soft_answers`, a binary cross-entropy for each answer, summed
    over the answers. `score` is logged beside it: how right the best answer is, on average; if `answer_scores` are
    min(people / 3, 1), it is near VQA's accuracy (`tasks.vision` has the official one). One view, `"pair"`: the batch
    as it is, with `answer_scores` [B, A]. No contrast, so chunks are free.

    The head is LXMERT's, `encoder.answer_logits`, and part of the encoder: a saved folder also answers in transformers'
    `LxmertForQuestionAnswering`. The two maps of its MLP read the output of LXMERT's pooler.

    Relation to its neighbours: `FineTune` has one right class, a softmax, and a head of its own.

    Example:
        >>> import contrast_kit as ck
        >>> rows = [{"text": "what colour is the kite?", "image_id": 0, "answers": 7 * ["red"] + 3 * ["scarlet"]}]
        >>> rows += [{"text": "is there a drum?", "image_id": 1, "answers": 10 * ["no"]}]
        >>> tokenizer = ck.data.train_tokenizer([row["text"] for row in rows], vocab_size=60)
        >>> answers = ck.data.answer_list([row["answers"] for row in rows])
        >>> pairs = ck.data.Regions(rows, tokenizer, ck.data.scenes.pictures(), answers=answers)
        >>> encoder = ck.CrossModalEncoder.tiny(tokenizer, features=64, objects=14, attributes=8)
        >>> sorted(ck.vision.Answer(encoder, answers=len(answers))(pairs.batch([0, 1])))
        ['answers', 'loss', 'score']
    """

    Config = AnswerConfig
    in_tables = "answers"
    contrastive = False
    weights = {"answers": 1.0}

    def build(self):
        self.encoder.new_answer_head(self.config.answers)

    def views(self, batch, generator=None):
        return {"pair": dict(batch)}

    def term_counts(self, name, view):
        return dict.fromkeys(("answers", "score"), texts_of(view))

    def local_sums(self, name, hidden, view):
        # [B, A] each
        logits, scores = self.encoder.answer_logits(hidden), view["answer_scores"]
        loss = losses.soft_answers(logits, scores, reduction="sum")
        # Of the best answer of each, [B, 1] -> [].
        right = scores.gather(1, logits.argmax(1, keepdim=True)).sum()
        return {"answers": loss, "score": right.to(loss)}

    def logits(self, view: View) -> Tensor:
        """Scores of the answers, [B, A]; the sigmoid of each is its probability."""
        # [B, T, D] -> [B, A]
        return self.encoder.answer_logits(self.states("pair", view))


@dataclass(frozen=True)
class TwoPicturesConfig(FineTuneConfig):
    """What a statement on two pictures leaves to choose: nothing. NLVR2 has two classes; the MLP has no dropout."""


class TwoPictures(FineTune):
    """Is a statement true of two pictures? [CLS] of each pair of statement and picture, concatenated; NLVR2 (CAPT 4.2).

    "We use the representation model to encode (v1, s) and (v2, s), respectively. Then, a similar MLP takes the
    concatenation of the [CLS] representations." The loss is the cross-entropy of `FineTune` on `label`. A batch has the
    statement once, `input_ids` and so on, and the pictures as `left/regions`, `left/boxes`, `left/region_mask`,
    `right/…`.

    Relation to its neighbours: `Answer` reads one picture. As with `FineTune`, the head is not part of a saved
    folder.

    Example:
        >>> import contrast_kit as ck
        >>> rows = [{"text": "both shelves have a kite", "left": 0, "right": 1, "label": 1}]
        >>> tokenizer = ck.data.train_tokenizer([row["text"] for row in rows], vocab_size=60)
        >>> pairs = ck.data.Regions(rows, tokenizer, ck.data.scenes.pictures())
        >>> encoder = ck.CrossModalEncoder.tiny(tokenizer, features=64, objects=14, attributes=8)
        >>> sorted(ck.vision.TwoPictures(encoder)(pairs.batch([0])))
        ['accuracy', 'ce', 'loss']
    """

    Config = TwoPicturesConfig
    in_tables = "two pictures"

    def build(self):
        width = 2 * self.encoder.width
        last = nn.Linear(width, self.config.classes)
        self.head = nn.Sequential(
            nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width), last
        )
        for part in (self.head[0], last):  # as LXMERT begins
            nn.init.normal_(part.weight, std=self.encoder.model.config.initializer_range)
            nn.init.zeros_(part.bias)

    def states(self, name, view):
        """The words' states beside each of the two pictures, [B, T, D] each."""
        return [self.encoder(self.side(view, side)) for side in SIDES]

    def scores(self, hidden, view):
        # [B, 2 D]
        both = torch.cat([self.encoder.pair_vector(words) for words in hidden], dim=1)
        return self.head(both)  # [B, 2 D] -> [B, classes]

    def side(self, view: View, side: str) -> View:
        """One pair of the two: the statement and one picture."""
        statement = {key: value for key, value in view.items() if "/" not in key}
        picture = {
            key.removeprefix(f"{side}/"): x
            for key, x in view.items()
            if key.startswith(f"{side}/")
        }
        return statement | picture
