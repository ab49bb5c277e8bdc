"""Sweeps are run as in the tests of the pipeline."""

from tests.pipeline.conftest import composed_once, folder, kept, once, refusal, sweep

__all__ = ["composed_once", "folder", "kept", "once", "refusal", "sweep"]
