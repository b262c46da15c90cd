#!/bin/sh
# A menu of the usual situations; see fermi quickstart --help.
# 常见场景的菜单；见 fermi quickstart --help。
. "$(dirname "$0")/_fermi.sh"
become_fermi quickstart "$@"
