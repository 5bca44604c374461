"""Objects in JSON that programs and files hold, as types with limits: pydantic checks them, and one line says what does
not fit."""

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError


class Request(BaseModel):
    """Base of an object in JSON that is checked: no other keys, no other types, no NaN."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)

    @classmethod
    def of(cls, found: Any) -> Self:
        """Check it. ``ValueError`` is a line that names the first key that is wrong, and what is to be there."""
        keys = ", ".join(cls.model_fields)
        for key in found if isinstance(found, dict) else ():
            if key not in cls.model_fields:  # the first alone: there may be many
                raise ValueError(f"{str(key)[:80]!r}: no such key; there are {keys}")
        try:
            return cls.model_validate(found)
        except ValidationError as error:
            wrong = error
        if wrong.errors()[0]["type"] == "model_type":
            raise ValueError(f"must be an object with {keys}")
        raise ValueError(first_wrong(wrong))


def first_wrong(error: ValidationError) -> str:
    """A line that names the first key that is wrong, and what is wrong with it."""
    wrong = error.errors(include_url=False, include_input=False)[0]
    place = "".join(f"[{part}]" if number else str(part) for number, part in enumerate(wrong["loc"]))
    return ": ".join(filter(None, (place, wrong["msg"].removeprefix("Value error, "))))
