"""Leaves with the rewrite of objectives, tasks and commands: these names are in `contrast_kit.papers`."""

from contrast_kit.papers import (  # noqa: F401
    CAPT_FINE_TUNING,
    CAPT_SEARCH,
    CMLM_FINE_TUNING_EPOCHS,
    CMLM_POST_EPOCHS,
    CMLM_SEARCH,
    COCO_LM_FINE_TUNING,
    COCO_LM_MODELS,
    COCO_LM_SEARCH,
    COCO_LM_TABLE_3,
    LM_BFF,
    TRAINING,
    coco_lm_model,
    training,
)
