"""Why the system did not let a file be read, in the words of both languages."""

from __future__ import annotations

import errno

from .named_file import MOST_BYTES, TooLarge
from .sentence import Sentence

_CHINESE = {
    errno.ENOENT: "不存在",
    errno.EACCES: "没有权限",
    errno.EPERM: "没有权限",
    errno.EISDIR: "它是目录",
    errno.ENOTDIR: "路径中有一段不是目录",
    errno.EROFS: "文件系统只读",
    errno.ENOSPC: "磁盘空间不足",
    errno.EMFILE: "打开的文件过多",
    errno.ENAMETOOLONG: "文件名过长",
}


def of_system(error: OSError) -> Sentence:
    """The system's own words in English; in Chinese those that are known, else the same."""
    english = error.strerror or str(error)
    if isinstance(error, TooLarge):
        return Sentence(f"超过 {MOST_BYTES >> 20} MiB，这样的文件不会这么大", english)
    return Sentence(_CHINESE.get(error.errno or 0, english), english)
