"""Events of streaming queries: each batch's own report, and when a query starts, idles and ends.

Spark writes the report's fields, not what it computes from them, so the totals over all sources that its API shows
are absent from logs; `Progress.input_rows` adds them up. Times in the report are milliseconds; timestamps are text
such as `2026-11-16T00:09:33.107Z`. Offsets are each source's own affair and stay the bytes they are.
"""

import msgspec
from msgspec import Raw


class StateOperator(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """One stateful operator of a batch, over all its partitions."""

    operator_name: str = ""
    num_rows_total: int = 0
    num_rows_updated: int = 0
    num_rows_removed: int = 0
    all_updates_time_ms: int = 0
    all_removals_time_ms: int = 0
    commit_time_ms: int = 0
    memory_used_bytes: int = 0
    num_shuffle_partitions: int = 0
    num_state_store_instances: int = 0
    custom_metrics: dict[str, int] | None = None


class Source(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """One source of a batch: from which offset to which, and how fast."""

    description: str | None = None
    start_offset: Raw = Raw()
    end_offset: Raw = Raw()
    latest_offset: Raw = Raw()
    num_input_rows: int = 0
    input_rows_per_second: float | None = None
    processed_rows_per_second: float | None = None
    metrics: dict[str, str] | None = None


class Sink(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The sink of a batch; -1 rows where it does not count them."""

    description: str | None = None
    num_output_rows: int | None = None


class Progress(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What a query reports after each batch."""

    id: str
    run_id: str
    name: str | None = None
    timestamp: str = ""
    batch_id: int = -1
    batch_duration: int = 0
    num_input_rows: int | None = None
    input_rows_per_second: float | None = None
    processed_rows_per_second: float | None = None
    duration_ms: dict[str, int] | None = None
    event_time: dict[str, str] | None = None
    state_operators: tuple[StateOperator, ...] = ()
    sources: tuple[Source, ...] = ()
    sink: Sink | None = None

    @property
    def input_rows(self) -> int:
        """Rows from all sources: as reported, or else added up.

        >>> Progress("q", "r", sources=(Source(num_input_rows=3), Source(num_input_rows=4))).input_rows
        7
        """
        if self.num_input_rows is not None:
            return self.num_input_rows
        return sum([source.num_input_rows for source in self.sources])


class QueryStarted(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A query started, or started again: the same id, another run id."""

    id: str
    run_id: str
    name: str | None = None
    timestamp: str = ""


class QueryProgress(msgspec.Struct, frozen=True, gc=False):
    """A batch is over."""

    progress: Progress


class QueryIdle(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Nothing to do for a while."""

    id: str
    run_id: str
    timestamp: str = ""


class QueryTerminated(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A query is over; with an exception if it failed."""

    id: str
    run_id: str
    exception: str | None = None
