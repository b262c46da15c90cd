# Becomes `fermi` with these words: FERMI_BIN, what `make build` made beside these scripts, the PATH.
become_fermi() {
    root=$(cd "$(dirname "$0")/.." && pwd)
    if [ -n "${FERMI_BIN:-}" ]; then exec "$FERMI_BIN" "$@"; fi
    if [ -x "$root/target/release/fermi" ]; then exec "$root/target/release/fermi" "$@"; fi
    if command -v fermi >/dev/null 2>&1; then exec "$(command -v fermi)" "$@"; fi
    case "${FERMI_LANG:-${LC_ALL:-${LC_MESSAGES:-${LANG:-}}}}" in
    [zZ][hH]*) printf '错误：找不到 fermi\n\n提示：在 %s 执行 make build，或把 fermi 放进 PATH，或用 FERMI_BIN 指定\n' "$root" >&2 ;;
    *) printf 'error: there is no fermi\n\nhint: run make build in %s, put fermi on the PATH, or name it in FERMI_BIN\n' "$root" >&2 ;;
    esac
    exit 2
}
