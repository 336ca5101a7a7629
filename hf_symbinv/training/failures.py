"""What a user can mend about a run; imports nothing that takes long."""


class OtherRunError(ValueError):
    """A run's folder holds a run of another recipe, model or arguments."""


__all__ = ["OtherRunError"]
