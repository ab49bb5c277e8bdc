"""Training's tests leave the user's cache alone, and run on one thread."""

from tests.models.conftest import cache_of_a_module, one_thread

__all__ = ["cache_of_a_module", "one_thread"]
