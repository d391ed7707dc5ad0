"""The shell around the pure controller: it feeds it, carries out what it decides, and writes everything down."""
