#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "kube/memory/conformance/body_text.h"
#include "kube/memory/conformance/normalizer.h"
#include "kube/memory/conformance/scenario.h"
#include "kube/memory/conformance/under_test.h"
#include "log/format.h"

namespace berth::kube::memory::conformance {
namespace {

const std::filesystem::path kFolder =
    std::filesystem::path(BERTH_SOURCE_DIR) / "kube/memory/conformance";

// Plays a scenario and writes down what was answered: one line for each step and each answer.
class Play {
 public:
  Play(UnderTest& server, std::string ns) : server_(server), normalizer_(std::move(ns)) {}

  std::vector<std::string> Run(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      if (std::exchange(silent_, step.silent) && !silent_) normalizer_.Restart();
      Write("> " + step.text);
      server_.Begin();
      Do(step);
    }
    return std::move(transcript_);
  }

 private:
  void Do(const Step& step) {
    kube::Request request = step.request;
    request.path = normalizer_.Fill(request.path);
    request.body = ExpandRepeats(normalizer_.Fill(request.body));
    if (step.protobuf) request.body = ProtobufText::Encode(request.body);
    switch (step.kind) {
      case Step::Kind::kRequest:
        return Request(step, request);
      case Step::Kind::kUntil:
        return Until(step, request);
      case Step::Kind::kWatch:
        request.path += request.path.contains('?') ? "&watch=true" : "?watch=true";
        if (const auto refused = server_.Watch(step.watch, request)) Write(*refused);
        return;
      case Step::Kind::kLines:
        return Lines(step);
      case Step::Kind::kEnds:
        while (!server_.Seen(step.watch).ended && server_.Wait()) {
        }
        return Write(server_.Seen(step.watch).ended ? "ended" : "did not end");
    }
  }

  // A list that others add to, without the items that the scenario isn't about.
  static Response ItemOf(Response response, const std::string& name) {
    if (name.empty()) return response;
    auto list = Decoder().Decode(response.body);
    if (!list || !list->is_object()) return response;
    Value items = Value::Array();
    for (const Value& item : (*list)["items"].array_range()) {
      if (TextAt(item, "metadata", "name") == name) items.push_back(item);
    }
    list->insert_or_assign("items", std::move(items));
    response.body = list->to_string();
    return response;
  }

  void Request(const Step& step, const kube::Request& request) {
    Response response = ItemOf(server_.Send(request), normalizer_.Fill(step.item));
    if (!step.warnings) response.warnings.clear();
    Write(response);
  }

  void Until(const Step& step, const kube::Request& request) {
    const auto holds = [&](const Response& response) {
      return response.code == step.number && response.body.contains(step.containing) &&
             (step.without.empty() || !response.body.contains(step.without));
    };
    Response response = server_.Send(request);
    while (!holds(response) && server_.Wait()) response = server_.Send(request);
    Write(response);
  }

  void Lines(const Step& step) {
    std::size_t& shown = shown_[step.watch];
    const std::size_t wanted = shown + static_cast<std::size_t>(step.number);
    const auto waiting = [&] {
      const auto seen = server_.Seen(step.watch);
      return seen.lines.size() < wanted && !seen.ended;
    };
    while (waiting() && server_.Wait()) {
    }
    const auto lines = server_.Seen(step.watch).lines;
    for (; shown < std::min(wanted, lines.size()); ++shown)
      Write(normalizer_.Normalize(lines[shown]));
    if (lines.size() < wanted) Write("no more lines");
  }

  void Write(const Response& response) {
    // Normalised even where it is not shown, for the placeholders.
    std::string body = normalizer_.Normalize(response.body);
    while (body.ends_with('\n')) body.pop_back();
    Write(Format("{} {}", response.code, body));
    // As the problems of a strict decoding: in the order of the document or not.
    auto warnings = response.warnings;
    std::ranges::sort(warnings);
    for (const std::string& warning : warnings) Write("warning: " + warning);
  }
  void Write(std::string line) {
    while (line.ends_with('\n')) line.pop_back();
    if (!silent_) transcript_.push_back(std::move(line));
  }

  UnderTest& server_;
  Normalizer normalizer_;
  std::map<std::string, std::size_t> shown_;
  std::vector<std::string> transcript_;
  bool silent_ = false;
};

std::vector<std::string> ReadLines(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

class Conformance : public testing::TestWithParam<std::string> {
 protected:
  std::filesystem::path File(std::string_view ending) const {
    return kFolder / (GetParam() + std::string(ending));
  }

  void Compare(const std::vector<std::string>& transcript) const {
    const auto golden = ReadLines(File(".golden"));
    std::string step;
    for (std::size_t i = 0; i < std::max(golden.size(), transcript.size()); ++i) {
      const std::string expected = i < golden.size() ? golden[i] : "(nothing)";
      const std::string got = i < transcript.size() ? transcript[i] : "(nothing)";
      if (expected.starts_with("> ")) step = expected;
      EXPECT_EQ(got, expected) << "after " << step;
      if (got.starts_with("> ") != expected.starts_with("> ")) break;  // out of step
    }
  }
};

TEST_P(Conformance, TheServerInMemoryAgrees) {
  InMemory server;
  Compare(Play(server, "conformance").Run(ScenarioReader::Read(File(".scenario"))));
}

// With CONFORMANCE_KUBECONFIG only. CONFORMANCE_RECORD=1 writes the transcript down instead.
TEST_P(Conformance, TheRealServerAgrees) {
  const char* kubeconfig = std::getenv("CONFORMANCE_KUBECONFIG");
  if (!kubeconfig) GTEST_SKIP() << "CONFORMANCE_KUBECONFIG is not set";
  const auto config = LoadKubeconfig(kubeconfig);
  ASSERT_TRUE(config) << config.error().message;
  OverHttps server(*config);
  std::string ns = "c";
  for (std::random_device random; ns.size() < 8;) ns += static_cast<char>('a' + random() % 26);
  const auto transcript = Play(server, ns).Run(ScenarioReader::Read(File(".scenario")));
  server.Send({.method = Method::kDelete, .path = "/api/v1/namespaces/" + ns});
  server.Send({.method = Method::kDelete,
               .path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things." + ns +
                       ".berth.dev"});
  if (!std::getenv("CONFORMANCE_RECORD")) return Compare(transcript);
  std::ofstream out(File(".golden"));
  for (const std::string& line : transcript) out << line << "\n";
}

std::vector<std::string> Scenarios() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() == ".scenario") names.push_back(entry.path().stem());
  }
  std::ranges::sort(names);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Scenarios, Conformance, testing::ValuesIn(Scenarios()),
                         [](const auto& scenario) { return scenario.param; });

}  // namespace
}  // namespace berth::kube::memory::conformance
