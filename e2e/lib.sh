# Shared by the scripts and the tests of this folder: source it, do not run it.
# Processes are kept as files, DIR/run/NAME.pid while NAME runs and DIR/run/NAME.exit after it, so that another shell can end what this one began.

# source_systems: e2e/systems/NAME.sh adds what a system needs on loopback to chart_values (NAME=VALUE) and serve_options, and what the demo's printed
# commands and its tour show of it to printed_shows and tour_shows.
source_systems() {
  local file
  chart_values=() serve_options=() printed_shows=() tour_shows=()
  for file in "$root"/e2e/systems/*.sh; do source "$file"; done
}

# eventually SECONDS COMMAND...: runs COMMAND until it succeeds; on the deadline, fails with the last attempt's output.
eventually() {
  local deadline=$((SECONDS + $1)) output
  shift
  until output=$("$@" 2>&1); do
    if ((SECONDS >= deadline)); then
      printf 'gave up waiting for: %s\n%s\n' "$*" "$output" >&2
      return 1
    fi
    sleep 0.1
  done
  if [ -n "$output" ]; then printf '%s\n' "$output"; fi
}

# throughout SECONDS COMMAND...: it succeeds again and again until the time is over.
throughout() {
  local deadline=$((SECONDS + $1)) output
  shift
  while ((SECONDS < deadline)); do
    if ! output=$("$@" 2>&1); then
      printf 'no longer so: %s\n%s\n' "$*" "$output" >&2
      return 1
    fi
    sleep 0.5
  done
}

# free_ports N: N distinct ports of 127.0.0.1 that nobody listens on, below the range the kernel gives to outgoing connections.
free_ports() {
  local want=$1 port
  while read -r port; do
    ((want > 0)) || break
    if ! (: <>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
      printf '%s\n' "$port"
      want=$((want - 1))
    fi
  done < <(shuf -i 20000-29999 -n 200)
  ((want == 0))
}

# spawn DIR NAME COMMAND...: runs COMMAND apart from this shell, its output in DIR/logs/NAME.log.
# In a session of its own: Ctrl-C reaches only the script, which then takes things down in order. Without the descriptors it would
# inherit: whoever reads from a pipe of ours, bats above all, would wait for its end.
spawn() {
  local dir=$1 name=$2
  shift 2
  mkdir -p "$dir/run" "$dir/logs"
  rm -f "$dir/run/$name".{pid,exit}
  setsid bash -c '
    for fd in /proc/$$/fd/*; do fd=${fd##*/}; if [ "$fd" -gt 2 ]; then eval "exec $fd>&-"; fi; done
    run=$1; shift
    "$@" & echo $! >"$run.pid.new"; mv "$run.pid.new" "$run.pid"
    status=0; wait $! || status=$?
    echo "$status" >"$run.exit"' spawn "$dir/run/$name" "$@" >>"$dir/logs/$name.log" 2>&1 </dev/null &
  eventually 120 test -f "$dir/run/$name.pid"
}

# running DIR NAME: whether it does. Every program here has DIR in its arguments: a pid that went to someone else is not ours.
running() {
  local pid
  pid=$(cat "$1/run/$2.pid" 2>/dev/null) && tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" | grep -qF -- "$1/"
}

stopped() { ! running "$@"; }

# stop DIR NAME [SECONDS]: asks NAME to end, ends it when it did not within SECONDS. Its exit status is there then: written later it would be
# taken for that of who is started next under the name.
stop() {
  local dir=$1 name=$2 pid
  if running "$dir" "$name"; then
    pid=$(cat "$dir/run/$name.pid")
    kill -TERM "$pid" 2>/dev/null || :
    if ! eventually "${3:-60}" stopped "$dir" "$name" 2>/dev/null; then
      printf '%s did not end on SIGTERM, killed\n' "$name" >&2
      kill -KILL "$pid" 2>/dev/null || :
    fi
    eventually 120 test -f "$dir/run/$name.exit" || :
  fi
  rm -f "$dir/run/$name.pid"
}

# await DIR NAME SECONDS COMMAND...: eventually COMMAND, but fails at once, with the end of its log, when NAME has ended.
await() {
  local dir=$1 name=$2 seconds=$3
  shift 3
  ended_or() { [ -f "$dir/run/$name.exit" ] || "$@"; }
  if ! eventually "$seconds" ended_or "$@" >/dev/null || [ -f "$dir/run/$name.exit" ]; then
    printf '%s is not ready%s; the end of %s:\n' "$name" "$([ ! -f "$dir/run/$name.exit" ] || printf ', it ended with %s' "$(cat "$dir/run/$name.exit")")" "$dir/logs/$name.log" >&2
    tail -n 30 "$dir/logs/$name.log" >&2
    return 1
  fi
}

# type_command COMMAND: runs what a user types, in a shell of its own but for `export` and assignments, which later commands see. A command that has not ended after typing_deadline seconds is ended
# and named, with status 124. It runs beside this shell, so that Ctrl-C ends the script at once, and reads nothing.
typing_deadline=180
type_command() {
  local status=0
  if [[ $1 == 'export '* ]]; then eval "$1"; return; fi
  if [[ $1 =~ ^[a-z_]+= ]]; then eval "$1" && export "${1%%=*}"; return; fi
  timeout -k 5 "$typing_deadline" bash -c "$1" </dev/null &
  wait $! || status=$?
  if ((status != 124 && status != 137)); then return "$status"; fi
  printf 'ended after %s s: %s\n' "$typing_deadline" "$1" >&2
  return 124
}

# type_printed FILE [PAUSE]: shows a text for users and runs its commands, in order, with their output. Commands are the lines that begin with two spaces; one
# with "# refused" has to fail. PAUSE is run before each step: a step is a line of text with the commands after it.
type_printed() {
  local line command status typed=0
  while IFS= read -r line <&9; do
    if [ -z "$line" ]; then continue; fi
    if [[ $line != '  '* ]]; then
      if ((typed > 0)); then ${2:-:}; fi
      printf '\n%s\n' "$line"
      continue
    fi
    command=${line#  }
    printf '\n$ %s\n' "$command"
    status=0
    type_command "$command" || status=$?
    if [ "$status" = 124 ]; then
      return 1
    elif [[ $command != *'# refused'* ]]; then
      [ "$status" = 0 ] || { printf 'failed: %s\n' "$command" >&2; return 1; }
    elif [ "$status" = 0 ]; then
      printf 'not refused: %s\n' "$command" >&2
      return 1
    fi
    typed=$((typed + 1))
  done 9< <(cat "$1")
  printf '\n%s commands typed\n' "$typed"
  ((typed > 0))
}

# kubeconfig SERVER CA_FILE USER_FIELDS: one cluster, one user, on stdout.
kubeconfig() {
  cat <<EOF
apiVersion: v1
kind: Config
current-context: e2e
contexts: [{name: e2e, context: {cluster: e2e, user: e2e}}]
clusters: [{name: e2e, cluster: {server: "$1", certificate-authority-data: $(base64 -w0 "$2")}}]
users: [{name: e2e, user: {$3}}]
EOF
}
