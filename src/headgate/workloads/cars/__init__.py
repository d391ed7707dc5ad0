"""Cars that say how fast and how far they drive."""
