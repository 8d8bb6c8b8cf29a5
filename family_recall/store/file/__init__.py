"""The file: connections, schema, encryption, checksums and copies."""
