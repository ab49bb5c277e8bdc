"""The protocols of model servers; each is pure: requests as bodies, replies as texts and counts."""

from gauntlet.models.api.dialects.base import Dialect
from gauntlet.models.api.dialects.chat import Chat, Completions
from gauntlet.models.api.dialects.gemini import Gemini
from gauntlet.models.api.dialects.messages import Messages
from gauntlet.models.api.dialects.responses import Responses

DIALECTS: dict[str, type[Dialect]] = {
    "chat": Chat,
    "completions": Completions,
    "responses": Responses,
    "messages": Messages,
    "gemini": Gemini,
}
"""By the name that the setting `endpoint` gives."""
