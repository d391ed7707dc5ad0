"""Jobs under Headgate's care: attached to while they run, or started and kept right-sized."""
