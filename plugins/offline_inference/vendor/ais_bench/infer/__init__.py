"""Sessions, files and the summary of the benchmark."""
