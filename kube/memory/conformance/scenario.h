#pragma once

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "kube/transport.h"
#include "log/format.h"

// For tests only: the scenario files. See README.md for their form.
namespace berth::kube::memory::conformance {

struct Step {
  enum class Kind { kRequest, kUntil, kWatch, kLines, kEnds } kind = Kind::kRequest;
  std::string text;   // as it stands in the file
  std::string watch;  // the name of one
  Request request;
  int number = 0;          // of kUntil: the status code; of kLines: how many
  std::string containing;  // of kUntil: what the answer has,
  std::string without;     // and has not
  std::string item;        // of a list: the one item to show
  bool protobuf = false;   // the body is a ProtobufText
  bool warnings = true;    // are shown
  bool silent = false;     // of an included file: not part of the transcript
};

class ScenarioReader {
 public:
  static std::vector<Step> Read(const std::filesystem::path& file) {
    ScenarioReader reader;
    reader.ReadFile(file, false);
    return std::move(reader.steps_);
  }

 private:
  void ReadFile(const std::filesystem::path& file, bool silent) {
    std::ifstream in(file);
    if (!in) throw std::runtime_error("cannot read " + file.string());
    std::string line;
    Step* open = nullptr;  // the request whose body may follow
    while (std::getline(in, line)) {
      if (line.empty()) open = nullptr;
      if (line.empty() || line.starts_with('#')) continue;
      if (open) {
        open->request.body += line.substr(line.find_first_not_of(' '));
      } else if (line.starts_with("INCLUDE ")) {
        ReadFile(file.parent_path() / line.substr(8), true);
      } else {
        steps_.push_back(ReadStep(line));
        steps_.back().silent = silent;
        open = &steps_.back();
      }
    }
  }

  static Step ReadStep(const std::string& line) {
    Step step;
    step.text = line;
    std::istringstream words(line);
    std::string verb;
    words >> verb;
    if (verb == "WATCH") {
      step.kind = Step::Kind::kWatch;
      words >> step.watch;
    } else if (verb == "LINES") {
      step.kind = Step::Kind::kLines;
      words >> step.watch >> step.number;
      return step;
    } else if (verb == "ENDS") {
      step.kind = Step::Kind::kEnds;
      words >> step.watch;
      return step;
    } else if (verb == "UNTIL") {
      step.kind = Step::Kind::kUntil;
      words >> step.number >> verb;
      if (verb == "containing") words >> step.containing >> verb;
      if (verb == "without") words >> step.without >> verb;
      step.request.method = MethodOf(verb);
    } else {
      step.request.method = MethodOf(verb);
    }
    for (std::string word; words >> word;) ReadWord(word, step);
    if (step.request.path.empty()) throw std::runtime_error("no path: " + line);
    return step;
  }

  static Method MethodOf(const std::string& verb) {
    if (verb == "GET") return Method::kGet;
    if (verb == "POST") return Method::kPost;
    if (verb == "PUT") return Method::kPut;
    if (verb == "PATCH") return Method::kPatch;
    if (verb == "DELETE") return Method::kDelete;
    throw std::runtime_error("no such step: " + verb);
  }

  static void ReadWord(const std::string& word, Step& step) {
    Request& request = step.request;
    if (word.starts_with('/')) {
      request.path = word;
    } else if (word == "table") {
      request.accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
    } else if (word == "partial") {
      request.accept = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
    } else if (word == "partial-list") {
      request.accept = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
    } else if (word == "yaml") {
      request.content_type = "application/yaml";
    } else if (word == "apply") {
      request.content_type = "application/apply-patch+yaml";
    } else if (word == "json" || word == "merge" || word == "strategic-merge") {
      request.content_type = Format("application/{}-patch+json", word);
    } else if (word == "protobuf") {
      request.content_type = "application/vnd.kubernetes.protobuf";
      step.protobuf = true;
    } else if (word == "nowarnings") {
      step.warnings = false;
    } else if (word == "discovery") {
      request.accept =
          "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
    } else if (word.starts_with("item=")) {
      step.item = word.substr(5);
    } else if (word.starts_with("type=")) {
      request.content_type = word.substr(5);
    } else if (word.starts_with("accept=")) {
      request.accept = word.substr(7);
    } else {
      throw std::runtime_error("no such word: " + word);
    }
  }

  std::vector<Step> steps_;
};

}  // namespace berth::kube::memory::conformance
