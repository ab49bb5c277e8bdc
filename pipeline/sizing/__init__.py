"""What a sweep will need of memory and hours, reckoned beforehand."""
