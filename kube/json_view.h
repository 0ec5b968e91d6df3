#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "kube/error.h"

namespace berth::kube {

// One value of a parsed document, or nothing: a missing member is absent, and so is everything
// below it, so that
//   view["object"]["metadata"]["name"].String()
// needs no checks on its way. Two words, copied freely; good until its JsonDocument parses again or
// ends, as are the string_views it gives. No call allocates except ToJson.
class JsonView {
 public:
  static constexpr std::size_t kMostKeys = 64;  // of one call of Members

  JsonView() = default;

  bool exists() const { return document_ != nullptr; }
  bool is_null() const { return Type() == 'n'; }
  bool is_object() const { return Type() == '{'; }
  bool is_array() const { return Type() == '['; }
  bool is_string() const { return Type() == '"'; }
  bool is_number() const;
  bool is_bool() const { return Type() == 't'; }

  // O(members). Of members with the same key the first counts, as in Json::Parse.
  JsonView operator[](std::string_view key) const;
  // The members with these keys, as operator[] gives them one by one, in a single walk through the
  // object:
  //   const auto [name, uid] = metadata.Members("name", "uid");
  // O(members + keys) for keys of different lengths. Cheaper than operator[] from four keys on.
  template <std::convertible_to<std::string_view>... Keys>
    requires(sizeof...(Keys) <= kMostKeys)
  std::array<JsonView, sizeof...(Keys)> Members(const Keys&... keys) const {
    const std::array<std::string_view, sizeof...(Keys)> wanted{keys...};
    std::array<JsonView, sizeof...(Keys)> found;
    FindMembers(wanted, found);
    return found;
  }
  // O(index).
  JsonView At(std::size_t index) const;
  // Members or items; 0 for anything else.
  std::size_t size() const;

  std::optional<std::string_view> String() const;
  // Whole numbers of 64 bits, written without fraction or exponent.
  std::optional<std::int64_t> Int() const;
  std::optional<bool> Bool() const;
  std::string_view StringOr(std::string_view otherwise) const {
    return String().value_or(otherwise);
  }

  // Calls visit(std::string_view key, JsonView value) for the members of an object, in their order
  // and with duplicates. A visitor that returns bool ends the walk with false.
  template <typename Visit>
  void ForEach(Visit&& visit) const {
    WalkObject(
        [](void* context, std::string_view key, JsonView value) {
          return Call(*static_cast<std::remove_reference_t<Visit>*>(context), key, value);
        },
        Context(visit));
  }

  // Calls visit(JsonView item) for the items of an array, likewise.
  template <typename Visit>
  void ForEachItem(Visit&& visit) const {
    WalkArray(
        [](void* context, JsonView item) {
          return Call(*static_cast<std::remove_reference_t<Visit>*>(context), item);
        },
        Context(visit));
  }

  // Without white space; order and big numbers as they were (20 digits: a double). "" when absent.
  std::string ToJson() const;

 private:
  friend class JsonDocument;
  struct Element;  // the way to simdjson and back, known to the .cc only
  JsonView(const void* document, std::size_t index) : document_(document), index_(index) {}

  using VisitMember = bool (*)(void* context, std::string_view key, JsonView value);
  using VisitItem = bool (*)(void* context, JsonView item);
  char Type() const;
  void FindMembers(std::span<const std::string_view> keys, std::span<JsonView> found) const;
  void WalkObject(VisitMember visit, void* context) const;
  void WalkArray(VisitItem visit, void* context) const;

  template <typename Visit>
  static void* Context(Visit& visit) {
    return const_cast<void*>(static_cast<const void*>(std::addressof(visit)));
  }

  template <typename Visit, typename... Args>
  static bool Call(Visit& visit, Args... args) {
    if constexpr (std::is_same_v<decltype(visit(args...)), bool>) {
      return visit(args...);
    } else {
      visit(args...);
      return true;
    }
  }

  const void* document_ = nullptr;
  std::size_t index_ = 0;
};

// A parser and the document it read last. Reuse it: once warm, parsing allocates nothing. Not
// thread-safe.
class JsonDocument {
 public:
  static constexpr std::size_t kMaxDepth = 64;
  static constexpr std::size_t kMaxSize = std::size_t{32} << 20;

  JsonDocument();
  ~JsonDocument();
  JsonDocument(JsonDocument&&) noexcept;
  JsonDocument& operator=(JsonDocument&&) noexcept;

  // Ends all views of the document before; `text` is copied. Refused with kTerminal, reason
  // "BadRequest" and a message for people: an empty, malformed (lone surrogates and numbers past a
  // double's range included), too deep or too long document, and text that isn't UTF-8.
  Result<JsonView> Parse(std::string_view text);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::kube
