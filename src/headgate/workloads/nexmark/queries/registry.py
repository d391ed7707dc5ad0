"""The queries by name: NexMark's own; DS2's where they differ (its q11 is the same); joins that forget."""

from headgate.workloads.nexmark.queries.q0 import Q0
from headgate.workloads.nexmark.queries.q1 import Q1
from headgate.workloads.nexmark.queries.q2 import Q2
from headgate.workloads.nexmark.queries.q3 import Q3, Q3_BOUNDED
from headgate.workloads.nexmark.queries.q4 import Q4
from headgate.workloads.nexmark.queries.q5 import Q5, Q5_OF_DS2
from headgate.workloads.nexmark.queries.q6 import Q6
from headgate.workloads.nexmark.queries.q7 import Q7
from headgate.workloads.nexmark.queries.q8 import Q8, Q8_OF_DS2
from headgate.workloads.nexmark.queries.q9 import Q9
from headgate.workloads.nexmark.queries.q10 import Q10
from headgate.workloads.nexmark.queries.q11 import Q11
from headgate.workloads.nexmark.queries.q12 import Q12
from headgate.workloads.nexmark.queries.q13 import Q13
from headgate.workloads.nexmark.queries.q14 import Q14
from headgate.workloads.nexmark.queries.q15 import Q15
from headgate.workloads.nexmark.queries.q16 import Q16
from headgate.workloads.nexmark.queries.q17 import Q17
from headgate.workloads.nexmark.queries.q18 import Q18
from headgate.workloads.nexmark.queries.q19 import Q19
from headgate.workloads.nexmark.queries.q20 import Q20, Q20_BOUNDED
from headgate.workloads.nexmark.queries.q21 import Q21
from headgate.workloads.nexmark.queries.q22 import Q22
from headgate.workloads.nexmark.queries.q23 import Q23, Q23_BOUNDED

_ALL = (
    *(Q0, Q1, Q2, Q3, Q4, Q5, Q6, Q7, Q8, Q9, Q10, Q11),
    *(Q12, Q13, Q14, Q15, Q16, Q17, Q18, Q19, Q20, Q21, Q22, Q23),
    *(Q5_OF_DS2, Q8_OF_DS2),
    *(Q3_BOUNDED, Q20_BOUNDED, Q23_BOUNDED),
)
QUERIES = {query.name: query for query in _ALL}
