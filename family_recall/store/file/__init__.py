"""The file itself: connections, schema, encryption, checksums, copies and archive."""
