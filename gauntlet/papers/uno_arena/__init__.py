"""UNO Arena (Qin et al. 2024): decision metrics, TUTRI, five players at one table."""
