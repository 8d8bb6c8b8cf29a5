"""Understand a question: its words, times, names and intent, before anything is searched."""
