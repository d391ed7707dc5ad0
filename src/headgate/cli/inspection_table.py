"""An inspection as text: what a person reads in a terminal."""

from collections.abc import Iterator

from headgate.cli import inspection_sentences as say
from headgate.cli.text_table import aligned_rows
from headgate.model.inspection import Inspection


def inspection_lines(one: Inspection) -> Iterator[str]:
    """All that is said of a query."""
    profile = one.profile
    yield f"query {profile.name}: {say.counted(profile)}"
    yield say.took(profile)
    yield say.load(profile)
    yield say.fares(one)
    for place, finding in enumerate(say.findings(one)):
        yield f"{'also' if place else say.limit_heading(one)}: {finding}"
    for note in say.notes(one):
        yield f"note: {note}"
    yield from aligned_rows([say.COLUMNS, *map(say.row, profile.operators)])
    yield from say.states(profile)
    yield from say.cold(profile)
    for place, sentence in enumerate(say.what_if(one)):
        yield ("         " if place else "what if: ") + sentence
