"""From Hydra's composed configs to frozen dataclasses, and from those to the objects they name."""
