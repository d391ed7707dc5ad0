"""Kafka: a broker on this machine for tests and trials, workloads written to one, and streams read from one."""
