"""Checks that what is made from the texts agrees with them."""
