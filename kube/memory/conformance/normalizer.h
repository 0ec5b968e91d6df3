#pragma once

#include <algorithm>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "kube/memory/value.h"
#include "log/format.h"

// For tests only: answers with placeholders in the place of what differs from run to run, and
// requests with what the placeholders stand for. README.md says what is replaced and why.
namespace berth::kube::memory::conformance {

class Normalizer {
 public:
  explicit Normalizer(std::string ns) : ns_(std::move(ns)) {}

  // A body, or a line of a watch.
  std::string Normalize(const std::string& body) {
    auto value = decoder_.Decode(body);
    if (!value || !value->is_object()) return ReplaceAll(body, ns_, "<ns>");
    NoteServerVersion(*value);
    Walk(*value, "");
    std::string text = value->to_string();
    return ReplaceAll(std::move(text), ns_, "<ns>");
  }

  // Begins to number anew, after what a scenario includes.
  void Restart() {
    counts_.clear();
    placeholders_.clear();
    values_.clear();
  }

  // Puts in what was seen before.
  std::string Fill(std::string text) const {
    text = ReplaceAll(std::move(text), "<ns>", ns_);
    for (const auto& [placeholder, value] : values_) text = ReplaceAll(text, placeholder, value);
    return text;
  }

 private:
  static std::string ReplaceAll(std::string text, const std::string& from, const std::string& to) {
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
      text.replace(at, from.size(), to);
    return text;
  }

  // The version of a list or a bookmark depends on what others write: each is its own.
  void NoteServerVersion(Value& answer) {
    const bool bookmark = TextAt(answer, "type") == "BOOKMARK";
    if (!bookmark && !answer.contains("items") && !answer.contains("rows")) return;
    Value& of = bookmark ? answer["object"] : answer;
    const std::string version(TextAt(of, "metadata", "resourceVersion"));
    if (version.empty()) return;
    const std::string placeholder = New("now", version);
    of["metadata"].insert_or_assign("resourceVersion", placeholder);
    if (bookmark && of.contains("rows"))
      of["rows"][0]["object"]["metadata"].insert_or_assign("resourceVersion", placeholder);
  }

  void Walk(Value& value, std::string_view key) {
    if (value.is_object()) {
      Drop(value);
      SortCauses(value);
      HideSuffix(value);
      for (auto& member : value.object_range()) Walk(member.value(), member.key());
    } else if (value.is_array()) {
      for (auto& item : value.array_range()) Walk(item, key == "cells" ? "cell" : "");
    } else if (value.is_string()) {
      value = Replace(key, value.as<std::string>());
    }
  }

  static void Drop(Value& object) {
    object.erase("managedFields");
    object.erase("storageVersionHash");
    // A table column's description; no client shows it to people.
    if (object.contains("priority") && object.contains("format")) object.erase("description");
    if (const Value* details = Find(object, "details"); details && details->empty())
      object.erase("details");
  }

  // Go walks maps in no order, and so are causes that come from a schema; some are found twice.
  static void SortCauses(Value& object) {
    const Value* causes = Find(object, "causes");
    if (!causes || !causes->is_array()) return;
    std::vector<Value> sorted(causes->array_range().begin(), causes->array_range().end());
    std::ranges::sort(sorted, {}, [](const Value& cause) { return cause.to_string(); });
    sorted.erase(std::ranges::unique(sorted).begin(), sorted.end());
    object.insert_or_assign("causes", Value::Array(std::move(sorted)));
  }

  void HideSuffix(Value& object) {
    const std::string prefix(TextAt(object, "generateName"));
    const std::string name(TextAt(object, "name"));
    if (prefix.empty() || !name.starts_with(prefix) || name.size() != prefix.size() + 5) return;
    object.insert_or_assign("name", prefix + Known("suffix", name.substr(prefix.size())));
  }

  std::string Replace(std::string_view key, std::string text) {
    static const std::regex time(R"((?!2001)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z)");
    static const std::regex uid(R"([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})");
    static const std::regex age(R"(\d+(s|m|h|d)|<unknown>)");
    if (key == "resourceVersion" && !text.starts_with('<')) return Known("version", text);
    if (key == "continue" && !text.empty()) return New("continue", text);
    if (key == "cell" && std::regex_match(text, age)) return "<age>";
    if (std::regex_match(text, time)) return "<time>";
    if (std::regex_match(text, uid)) return Known("uid", text);
    if (key == "message") return ReplaceInMessage(std::move(text));
    return text;
  }

  std::string ReplaceInMessage(std::string text) {
    for (const auto& [placeholder, value] : values_) {
      if (placeholder.starts_with("<uid")) text = ReplaceAll(text, value, placeholder);
    }
    static const std::vector<std::pair<std::regex, std::string>> kReplaced = {
        {std::regex(R"(too old resource version: \d+ \(\d+\))"),
         "too old resource version: <version> (<version>)"},
        {std::regex(R"((resource version: |current: |ResourceVersion in record \()\d+)"),
         "$1<version>"},
        {std::regex(R"re("\{\\".*\}": )re"), "\"<object>\": "},
        {std::regex("continue key is not valid: .*"), "continue key is not valid: <why>"},
        {std::regex(R"( is invalid: \[.*\]$)"), " is invalid: [<causes>]"},
    };
    for (const auto& [pattern, with] : kReplaced) text = std::regex_replace(text, pattern, with);
    return SortProblems(std::move(text));
  }

  // The problems of a strict decoding are in the order of the document or not, as kinds differ.
  static std::string SortProblems(std::string text) {
    static constexpr std::string_view kHead = "strict decoding error: ";
    const std::size_t begin = text.find(kHead);
    if (begin == std::string::npos) return text;
    std::vector<std::string> problems;
    std::string rest = text.substr(begin + kHead.size());
    for (std::size_t comma; (comma = rest.find(", ")) != std::string::npos;
         rest.erase(0, comma + 2))
      problems.push_back(rest.substr(0, comma));
    problems.push_back(rest);
    std::ranges::sort(problems);
    text.resize(begin + kHead.size());
    for (std::size_t i = 0; i < problems.size(); ++i) text += (i > 0 ? ", " : "") + problems[i];
    return text;
  }

  // The placeholder of a value, the same whenever it is seen.
  std::string Known(const std::string& kind, const std::string& value) {
    const auto [found, added] = placeholders_.try_emplace({kind, value});
    if (added) found->second = New(kind, value);
    return found->second;
  }
  std::string New(const std::string& kind, const std::string& value) {
    std::string placeholder = Format("<{}:{}>", kind, ++counts_[kind]);
    values_[placeholder] = value;
    return placeholder;
  }

  std::string ns_;
  Decoder decoder_;
  std::map<std::string, int> counts_;
  std::map<std::pair<std::string, std::string>, std::string> placeholders_;
  std::map<std::string, std::string> values_;
};

}  // namespace berth::kube::memory::conformance
