# Shared by the scripts of this folder: source it, do not run it.
# Every step prints what it does and how long it took; a step that fails ends with the command that repeats it.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${BERTH_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/berth}
jobs=$(nproc)
export CCACHE_DIR=${CCACHE_DIR:-$cache/ccache} CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1 CCACHE_MAXSIZE=${CCACHE_MAXSIZE:-4G}
export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
mkdir -p "$cache"

say() { printf '\033[1m==>\033[0m %s\n' "$*"; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

# step TITLE COMMAND...: runs COMMAND with its output in a log (shown when it fails, or all along with BERTH_VERBOSE=1).
step() {
  local title=$1 log status=0 began=$SECONDS
  shift
  log=$(mktemp "${TMPDIR:-/tmp}/berth-step.XXXXXX")
  printf '\033[1m==>\033[0m %s ... ' "$title"
  if [ -n "${BERTH_VERBOSE:-}" ]; then printf '\n'; "$@" 2>&1 | tee "$log" || status=$?; else "$@" >"$log" 2>&1 || status=$?; fi
  if [ "$status" -ne 0 ]; then
    printf 'failed after %ss\n' "$((SECONDS - began))"
    tail -n "${BERTH_LOG_LINES:-120}" "$log" >&2
    printf '\nerror: "%s" failed (status %s). To repeat it:\n  %s\n' "$title" "$status" "$(repeatable "$@")" >&2
    rm -f "$log"
    exit "$status"
  fi
  printf '%ss\n' "$((SECONDS - began))"
  rm -f "$log"
}

# What a person types to run a step again: a function of these scripts is reached through the script that has it.
repeatable() {
  if [ "$(type -t "$1")" = function ]; then printf 'cd %q && BERTH_VERBOSE=1 %q' "$root" "${0#"$root"/}"; else printf 'cd %q &&' "$PWD"; printf ' %q' "$@"; fi
}

# build PRESET [TARGET...]: configures once, builds what changed.
build() {
  local preset=$1
  shift
  if [ ! -f "$root/build/$preset/build.ninja" ]; then
    step "configure ($preset)" cmake --preset "$preset" -S "$root"
    ln -sfn "build/$preset/compile_commands.json" "$root/compile_commands.json"  # for editors
  fi
  step "build ($preset${*:+: $*})" cmake --build "$root/build/$preset" -j "$jobs" ${*:+--target "$@"}
}
