#!/bin/sh
# A menu of the usual situations; see fermi quickstart --help.
exec "${FERMI_BIN:-fermi}" quickstart "$@"
