"""Applications of the public API: a command line, servers, pages, tools, importers, evaluation."""
