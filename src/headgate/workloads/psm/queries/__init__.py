"""The queries of price search, one a file: what each asks, in words, and how Spark is asked."""
