"""Run tasks of mteb, the harness of embedding leaderboards, on an encoder (pip install 'contrast-kit[mteb]').

    python examples/mteb_tasks.py runs/cmlm/encoder STSBenchmark Banking77Classification

Similarity is the cosine. Prompts and instructions are ignored: encoders of this kit know none.
"""

import sys

import torch
from torch.nn.functional import normalize

import contrast_kit as ck


class ForMTEB:
    """An encoder as mteb's `EncoderProtocol` wants it: `mteb.evaluate(ForMTEB(encoder), tasks)`."""

    def __init__(self, encoder, name="contrast-kit/encoder", batch_size=64):
        self.encoder, self.name, self.batch_size = encoder, name, batch_size

    def encode(self, inputs, *, batch_size=None, **options):
        """Vectors [N, D] of all texts of a loader whose batches hold `"text"`, in their order."""
        # mteb's data sets hold a few empty texts, about which an encoder has nothing to say
        texts = [text if text.strip() else "." for batch in inputs for text in batch["text"]]
        vectors = self.encoder.encode(texts, batch_size=batch_size or self.batch_size)
        return torch.as_tensor(vectors).float().cpu().numpy()

    def similarity(self, a, b):
        """Cosines of all with all, [N, M]."""
        return unit(a) @ unit(b).T

    def similarity_pairwise(self, a, b):
        """The cosine of each pair, [N]."""
        return (unit(a) * unit(b)).sum(-1)

    @property
    def mteb_model_meta(self):
        """What mteb writes beside the results."""
        from mteb.models.model_meta import ModelMeta, ScoringFunction

        facts = dict(name=self.name, revision="local", framework=["PyTorch"])
        facts |= dict(similarity_fn_name=ScoringFunction.COSINE, embed_dim=self.encoder.width)
        return ModelMeta.create_empty(facts | dict(max_tokens=self.encoder.max_length))


def unit(x):
    """Vectors divided by their length."""
    return normalize(torch.atleast_2d(torch.as_tensor(x).float()), dim=-1)


def main(folder, *names):
    import mteb

    print(mteb.evaluate(ForMTEB(ck.Encoder.from_pretrained(folder)), mteb.get_tasks(tasks=list(names))))


if __name__ == "__main__":
    main(*sys.argv[1:])
