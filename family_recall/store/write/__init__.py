"""One write transaction, and the parts it is made of."""
