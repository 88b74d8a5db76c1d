"""Settings that another setting switches off: changed all the same, they change nothing, and a reader is told."""

from collections.abc import Callable, Collection
from dataclasses import fields
from typing import Any, NamedTuple

from contrast_kit import checks
from contrast_kit._warn import warn


class Switch(NamedTuple):
    """`names` are read by `reader` only, which these settings switch `off`."""

    names: tuple[str, ...]
    reader: str
    off: Callable[[Any], bool]


CONTRAST_OF_CMLM = (
    Switch(("tau", "ignore_duplicates"), "contrast='info_nce' or 'nt_xent'", lambda c: c.contrast in ("simsiam", None)),
    Switch(("stop_gradient",), "contrast='simsiam'", lambda c: c.contrast != "simsiam"),
)
SWITCHES: dict[str, tuple[Switch, ...]] = {
    "CMLMConfig": (
        *CONTRAST_OF_CMLM,
        Switch(("p_drm",), "complement=False", lambda c: c.complement),
        Switch(("p_c",), "complement=True", lambda c: not c.complement),
        Switch(("mlm_mean",), "mlm=True", lambda c: not c.mlm),
        Switch(
            ("K", "p_c", "p_drm", "crm_replace", "complement", "contrast_weight"),
            "a contrast",
            lambda c: c.contrast is None,
        ),
    ),
    "CSSLConfig": CONTRAST_OF_CMLM,
    "SimCSEConfig": (Switch(("p_m",), "mlm_weight above 0", lambda c: not c.mlm_weight),),
    "CAPTConfig": (Switch(("inner",), "aggregation='mlp'", lambda c: c.aggregation == "none"),),
    "SCLConfig": (
        Switch(("tau", "reduction", "phi"), "lam above 0", lambda c: not c.lam),
        Switch(("phi",), "head='tanh'", lambda c: c.head == "linear"),
    ),
    "CorruptionConfig": (
        Switch(("auxiliary_layers",), "auxiliary='shallow'", lambda c: c.auxiliary != "shallow"),
        Switch(("sample_dropout",), "an auxiliary model", lambda c: c.auxiliary == "random"),
        Switch(("mask_cls",), "mask_special=True", lambda c: not c.mask_special),
        Switch(("share",), "an auxiliary model that is made here", lambda c: c.auxiliary in ("random", "given")),
        Switch(("split",), "an auxiliary model", lambda c: c.auxiliary == "random"),
    ),
    "COCOLMConfig": (
        Switch(("tau", "keep", "scl_head", "ignore_duplicates"), "a contrast", lambda c: c.contrast_weight is None),
        Switch(("stop_gradient", "lm_variant"), "task='clm'", lambda c: c.task != "clm"),
        Switch(("lambda_copy",), "task='clm' or 'rtd'", lambda c: c.task not in ("clm", "rtd")),
        Switch(("lm_projection",), "a task that names words", lambda c: c.task == "rtd"),
    ),
    "PromptConfig": (Switch(("dropout", "head"), "FineTune, which has a new head,", lambda c: True),),
    "TwoPicturesConfig": (Switch(("dropout", "head"), "FineTune on texts", lambda c: True),),
    "LXMERTConfig": (Switch(("recover_mismatched",), "mismatch above 0", lambda c: not c.mismatch),),
    "CAPTPairsConfig": (
        Switch(("regions", "confidence", "recover_mismatched", "qa"), "mlm=True", lambda c: not c.mlm),
    ),
}
"""By the name of the config; those that inherit from it have them too."""


def warn_unread(method: Any, changes: Collection[str] | None = None) -> None:
    """Warn of each setting of a method of the kit that was changed and that the others switch off; the last reader is
    named. Of a method of one's own nobody knows what it reads. With `changes` only these are looked at: the others came
    in a config, such as a paper's, which may serve several settings.
    """
    config = method.config
    if not type(method).__module__.startswith("contrast_kit."):
        return
    switches = [switch for kind in type(config).__mro__ for switch in SWITCHES.get(kind.__name__, ())]
    readers = {name: switch.reader for switch in switches if switch.off(config) for name in switch.names}
    for field in fields(config):
        value = getattr(config, field.name)
        if field.name in readers and value != field.default and (changes is None or field.name in changes):
            warn(f"{field.name}={checks.shown(value)} changes nothing here: only {readers[field.name]} reads it.")
