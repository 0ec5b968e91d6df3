# kube-apiserver still answers as in the transcripts of kube/memory/conformance, to which the server in memory is held.
load helpers

@test "kube-apiserver answers as in the transcripts" {
  test=${KUBE_TEST:-$root/build/release/kube/kube_test}
  [ -x "$test" ] || skip "$test is not built"
  CONFORMANCE_KUBECONFIG=$KUBECONFIG run "$test" --gtest_filter='*Conformance.TheRealServerAgrees*' --gtest_brief=1
  [ "$status" = 0 ] || fail "$output"
}
