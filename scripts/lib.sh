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

# No step is silent for longer than this many seconds; on a terminal the last line changes every second.
silence=20
if [ -t 1 ]; then silence=1; terminal=1; else terminal=; fi

# pause SECONDS: without a process, which would outlive whoever is ended while it sleeps and keep its pipes open.
pause() {
  local nothing
  if [ -z "${never:-}" ]; then exec {never}<> <(:); fi
  read -rt "$1" -u "$never" nothing || :
}

# how_far LOG: "[n/m]" of ninja, clang-tidy, bats or GoogleTest, or else the last line, shortened.
how_far() {
  local all done
  done=$(tail -c 4000 "$1" | tr '\r' '\n' | sed -nE 's/^(\[[0-9]+\/[0-9]+\]).*/\1/p' | tail -n 1)
  if [ -z "$done" ]; then
    all=$(sed -nE 's/^1\.\.([0-9]+)$/\1/p; s/^\[==========\] Running ([0-9]+) tests? from.*/\1/p' "$1" | tail -n 1)
    if [ -n "$all" ]; then done="[$(grep -cE '^(not )?ok [0-9]|^\[ +(OK|FAILED|SKIPPED) +\].*\([0-9]+ ms\)$' "$1" || :)/$all]"; fi
  fi
  printf '%s' "${done:-$(tail -c 400 "$1" | tr '\r' '\n' | tail -n 1 | cut -c1-70)}"
}

# progress TITLE LOG: until it is ended, says how far the command is whose output is in LOG. LOG.told is there once it has.
progress() {
  local began=$SECONDS
  while pause "$silence" && kill -0 "$$" 2>/dev/null; do
    if [ -n "$terminal" ]; then
      printf '\r\033[K\033[1m==>\033[0m %s ... %ss %.*s' "$1" "$((SECONDS - began))" "$((${#1} < 60 ? 66 - ${#1} : 6))" "$(how_far "$2")"
    else
      [ -f "$2.told" ] || printf '\n'
      : >"$2.told"
      printf '    %ss %s\n' "$((SECONDS - began))" "$(how_far "$2")"
    fi
  done
}

# record OUTCOME SECONDS TITLE: a line of the table that .ci/run prints; the script that has the table names its file.
record() { if [ -n "${BERTH_STEPS:-}" ]; then printf '%s\t%s\t%s\n' "$@" >>"$BERTH_STEPS"; fi; }

# with_progress TITLE LOG COMMAND...: COMMAND with its output in LOG.
with_progress() {
  local title=$1 log=$2 status=0 reporter
  shift 2
  progress "$title" "$log" &
  reporter=$!
  "$@" >"$log" 2>&1 || status=$?
  { kill "$reporter" && wait "$reporter"; } 2>/dev/null || :
  if [ -n "$terminal" ]; then printf '\r\033[K\033[1m==>\033[0m %s ... ' "$title"; elif [ -f "$log.told" ]; then printf '    '; fi
  rm -f "$log.told"
  return "$status"
}

# step TITLE COMMAND...: runs COMMAND with its output in a log (shown when it fails, or all along with BERTH_VERBOSE=1).
step() {
  local title=$1 log status=0 began=$SECONDS
  shift
  log=$(mktemp "${TMPDIR:-/tmp}/berth-step.XXXXXX")
  printf '\033[1m==>\033[0m %s ... ' "$title"
  if [ -n "${BERTH_VERBOSE:-}" ]; then printf '\n'; "$@" 2>&1 | tee "$log" || status=$?; else with_progress "$title" "$log" "$@" || status=$?; fi
  record "$([ "$status" = 0 ] && printf ok || printf failed)" "$((SECONDS - began))" "$title"
  if [ "$status" -ne 0 ]; then
    printf 'failed after %ss\n' "$((SECONDS - began))"
    tail -n "${BERTH_LOG_LINES:-120}" "$log" >&2
    printf '\nerror: "%s" failed (status %s). To repeat it:\n  %s\n' "$title" "$status" "$(repeatable "$@")" >&2
    rm -f "$log"
    exit "$status"
  fi
  printf '%ss\n' "$((SECONDS - began))"
  [ -n "${BERTH_VERBOSE:-}" ] || grep '^SKIPPED' "$log" || :
  rm -f "$log"
}

# The command that runs a step again: a function of these scripts is reached through the script that has it.
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
  local targets=$*
  if [ $# -gt 3 ]; then targets="$# targets"; fi
  step "build ($preset${targets:+: $targets})" cmake --build "$root/build/$preset" -j "$jobs" ${*:+--target "$@"}
}
