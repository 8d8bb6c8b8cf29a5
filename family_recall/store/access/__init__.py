"""Who lives here, which spaces they may enter, and what is hidden from their roles."""
