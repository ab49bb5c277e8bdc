"""The pocket model: a tiny Llama that ships with the project, and the script that trained it."""

from gauntlet.common.process import require_extra

require_extra("torch", "local")
require_extra("transformers", "local")
