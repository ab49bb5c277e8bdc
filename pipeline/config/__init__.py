"""From Hydra's composed configs to plain frozen data, and from that to the objects it names."""
