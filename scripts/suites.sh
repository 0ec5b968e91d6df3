# Test suites that run side by side: source it after lib.sh. Each has its log in build/test-logs; a suite that ends with 77 could not be run here.
at_once=2  # their deadlines are real
passed=0 failed=0 skipped=0 skips=()
declare -A suite_name=() suite_began=() suite_command=()
last_word=$SECONDS

# suite NAME COMMAND...: starts a suite as soon as fewer than $at_once run. In a session of its own, so that all of it can be ended.
suite() {
  local name=$1
  shift
  while [ "${#suite_name[@]}" -ge "$at_once" ]; do look; done
  mkdir -p "$root/build/test-logs"
  setsid "$@" >"$root/build/test-logs/$name.log" 2>&1 </dev/null &
  suite_name[$!]=$name suite_began[$!]=$SECONDS suite_command[$!]=$(printf '%q ' "${@#"$root"/}")
}

# look: tells of the suites that have ended, or waits a moment, and says now and then how far the others are.
look() {
  local pid none=1
  for pid in "${!suite_name[@]}"; do
    if ! kill -0 "$pid" 2>/dev/null; then none= && ended "$pid"; fi
  done
  if [ -z "$none" ]; then return; fi
  if ((SECONDS - last_word >= silence)); then still_running; fi
  pause 0.2
}

still_running() {
  local pid line=''
  for pid in "${!suite_name[@]}"; do
    line+="${line:+, }${suite_name[$pid]} $((SECONDS - suite_began[$pid]))s $(how_far "$root/build/test-logs/${suite_name[$pid]}.log" | grep -oE '^\[[0-9]+/[0-9]+\]$' || :)"
  done
  if [ -n "$terminal" ]; then printf '\r\033[K    %.76s' "$line"; else printf '    %s\n' "$line"; fi
  last_word=$SECONDS
}

ended() {
  local pid=$1 status=0 name=${suite_name[$1]} seconds=$((SECONDS - suite_began[$1])) log outcome
  log=$root/build/test-logs/$name.log
  wait "$pid" || status=$?
  case $status in 0) outcome=ok ;; 77) outcome=skipped ;; *) outcome=failed ;; esac
  record "$outcome" "$seconds" "test $name"
  if [ -n "$terminal" ]; then printf '\r\033[K'; fi
  printf '\033[1m==>\033[0m test %s ... ' "$name"
  case $outcome in
    ok) passed=$((passed + 1)) && printf 'ok, %s, %ss\n' "$(counted "$log")" "$seconds" ;;
    skipped) skipped=$((skipped + 1)) && skips+=("$name: $(tail -n 1 "$log")") && printf 'SKIPPED\n' ;;
    failed)
      failed=$((failed + 1))
      printf 'FAILED after %ss\n' "$seconds"
      grep -E -A 20 '^not ok|\[  FAILED  \]|Failure$|ERROR: |SUMMARY: ' "$log" | head -n 80 >&2 || tail -n 60 "$log" >&2
      printf 'the whole log: %s\nto repeat it:\n  cd %q && %s\n' "${log#"$root"/}" "$root" "${suite_command[$pid]}" >&2
      ;;
  esac
  unset "suite_name[$pid]" "suite_began[$pid]" "suite_command[$pid]"
  last_word=$SECONDS
}

# suites_of_modules: those that need no cluster.
suites_of_modules() {
  local module
  for module in server kube handlers http reconcile systems async certs cloud simulate log json; do
    suite "$module" "$root/build/release/$module/${module}_test" --gtest_brief=0
  done
  suite simulate-toy "$root/build/release/simulate/simulate" toy --seeds 2000
  # Ranges begin after seeds that show faults which are not mended: simulate/README.md lists them.
  suite simulate-ipam "$root/build/release/simulate/simulate" ipam --first 5000 --seeds 1700 --coverage
  suite simulate-eip "$root/build/release/simulate/simulate" eip --seeds 1000 --coverage
  suite simulate-eni "$root/build/release/simulate/simulate" eni --first 340 --seeds 1600 --coverage
  suite simulate-difftracker "$root/build/release/simulate/simulate" difftracker --seeds 300
  suite simulate-sandbox "$root/build/release/simulate/simulate" sandbox --seeds 300
  suite simulate-leadership "$root/build/release/simulate/simulate" leadership --seeds 1500
  suite layering-check "$root/scripts/check-layering-test"
  suite hot-check "$root/bench/hot/check_test.py"
  suite bench-report "$root/bench/report_test.py"
}

# wait_for_suites [BUT]: until all have ended, or all but the one of that name. False when one has failed.
wait_for_suites() {
  local pid others=1
  while [ -n "$others" ]; do
    others=
    for pid in "${!suite_name[@]}"; do
      if ! kill -0 "$pid" 2>/dev/null || [ "${suite_name[$pid]}" != "${1:-}" ]; then others=1; fi
    done
    if [ -n "$others" ]; then look; fi
  done
  [ "$failed" = 0 ]
}

# finish_suites: until all have ended; then the counts. False when one failed.
finish_suites() {
  local skip
  wait_for_suites || :
  for skip in ${skips[@]+"${skips[@]}"}; do printf '\033[1mSKIPPED\033[0m %s\n' "$skip"; done
  printf '%s passed, %s failed, %s skipped\n' "$passed" "$failed" "$skipped"
  [ "$failed" = 0 ]
}

# How many tests a log tells of: gtest's or bats', or seeds.
counted() {
  local gtest bats
  gtest=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) test.*/\1/p' "$1" | tail -n 1)
  bats=$(grep -c '^ok ' "$1" || true)
  if grep -qE '^[0-9]+ seeds, ' "$1"; then tail -n 1 "$1" | cut -d, -f1; elif [ -n "$gtest" ]; then echo "$gtest tests"; elif [ "$bats" -gt 0 ]; then echo "$bats tests"; else echo "1 test"; fi
}

# A script that is ended takes its suites along.
end_suites() {
  local pid
  for pid in "${!suite_name[@]}"; do kill -TERM -- "-$pid" 2>/dev/null || :; done
}
trap end_suites EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
