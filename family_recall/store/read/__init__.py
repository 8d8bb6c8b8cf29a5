"""One consistent view of the file: scoped queries, rows and arrays as results."""
