"""What was done with the file: feedback, recalls for the audit, and what stages cost."""
