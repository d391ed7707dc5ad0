"""NexMark: an auction house as one endless stream of events, and the queries on it (Tucker et al., 2002)."""
