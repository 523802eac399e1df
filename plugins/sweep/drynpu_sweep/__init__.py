"""``drynpu sweep``: a script runs with every combination of some options, and a table compares the runs."""
