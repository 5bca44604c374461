"""What programs and files say, as types with limits: pydantic checks it, and what does not fit is told in a line."""

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
            wrong = error.errors(include_url=False, include_input=False)[0]
        if wrong["type"] == "model_type":
            raise ValueError(f"must be an object with {keys}")
        place = "".join(f"[{part}]" if number else str(part) for number, part in enumerate(wrong["loc"]))
        raise ValueError(": ".join(filter(None, (place, wrong["msg"].removeprefix("Value error, ")))))
