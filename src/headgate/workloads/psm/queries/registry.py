"""The queries by name."""

from headgate.workloads.psm.queries.q1 import Q1
from headgate.workloads.psm.queries.q2 import Q2
from headgate.workloads.psm.queries.q3 import Q3
from headgate.workloads.psm.queries.q4 import Q4
from headgate.workloads.psm.queries.q5 import Q5

QUERIES = {query.name: query for query in (Q1, Q2, Q3, Q4, Q5)}
