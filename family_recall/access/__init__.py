"""Who may see, edit and forget what."""
