"""The queries of NexMark, one a file: what each asks, in words, and how Spark is asked."""
