"""What all readers say of a file that cannot be opened."""

from headgate.model.errors import InputError


def cannot_read(path: str, error: OSError) -> InputError:
    """The same words for every file that cannot be opened."""
    return InputError(f"{path or 'an empty path'}: cannot be read ({error.strerror or error}); check the path")
