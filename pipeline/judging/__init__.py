"""How good play was beyond who won: each decision's worth, and luck taken out."""
