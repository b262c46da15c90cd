"""Models without dropout, for recipes that compare what a model says at two times."""

from __future__ import annotations

from typing import Any


def without_dropout(model: Any) -> Any:
    """Turns dropout off for good, in the layers of it and where modules keep its share as a number, as OPT does.

    The configuration stays as it is: it goes with the model that is exported.
    """
    for module in model.modules():
        is_layer = "Dropout" in type(module).__name__
        for name, value in vars(module).items():
            if isinstance(value, float) and ("drop" in name or (is_layer and name == "p")):
                setattr(module, name, 0.0)
    return model
