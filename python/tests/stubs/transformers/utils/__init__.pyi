from typing import Any

from . import logging as logging

def cached_file(path_or_repo_id: str, filename: str, **more: Any) -> str | None: ...
