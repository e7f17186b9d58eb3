"""Scripts that measure treesweep, alone and against others; run them, import nothing from here."""
