"""The question, understood: words, time and names, before anything is searched."""
