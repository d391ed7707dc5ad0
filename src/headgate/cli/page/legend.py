"""What the words on the page mean."""

WORDS = (
    ("batch", "a micro-batch: what the query takes and works off in one go, from trigger to commit"),
    ("batches counted", "those that say something about the next ones: not the first three of a run or after executors "
     "came or went (where there are more), and only those on as many slots as the last"),
    ("batch time", "from the trigger to the end of the batch; the median, so one slow batch does not move it"),
    ("trigger interval", "how often batches begin; where it is as soon as possible, each begins when the last is over"),
    ("records/s arrive, waiting", "records that come in for each second of wall time; those there and not taken yet"),
    ("operator", "a stage of the batch, named after the nodes of its plan: all that happens between two shuffles"),
    ("source, sink, stateful", "it is fed by no other operator; it feeds none; it keeps state from batch to batch"),
    ("task, partition", "a task works off one partition of an operator's records"),
    ("slot, executor", "a slot runs one task at a time; an executor is a process with one or more slots"),
    ("keeps up, falls behind", "batches work off records as fast as they come, or slower"),
    ("least slots", "the fewest, in whole executors of the present size and with state spread evenly, that keep up"),
    ("uses … of what it can carry", "the present load as part of the highest it could keep up with"),
    ("freshness, how old results are", "the longest time from a record's arrival to the result that has it"),
    ("limit, without it", "what holds batches back most, and the part of a batch's time gained if it were gone"),
    ("no task running, the driver's time", "planning, asking sources, writing logs, committing: executors do not help"),
    ("skew, even share", "a partition has much more than one part in as many as there are, and all wait for it"),
    ("state, bin", "what a stateful operator keeps; it is cut into bins, one a partition, and tasks run where theirs "
     "lies"),
    ("range", "nine tenths of the batches, when run again in the model, lie in it"),
    ("more at once than was seen", "tasks that share cores or a disk slow each other down; how much is known only as "
     "far as it was seen"),
    ("in, out", "records that came in and went out in a batch, on average"),
    ("fan-out", "rows its busiest plan node made of each record: what a partial aggregation hides again"),
    ("busy s", "seconds for which its tasks held slots in a batch, added up"),
    ("cpu", "the part of that which was CPU of the JVM (Python not included); the rest is mostly waiting"),
    ("fixed ms, record us", "slot time of a task without records, in milliseconds, and for each further record, in "
     "microseconds: a line through all tasks by medians, with its 95 % interval; ? if they are too few or too alike"),
    ("largest", "the share of the largest partition, and which it is"),
)  # fmt: skip
"""Words of the sentences, the plots and the table, in the order in which a reader meets them."""
