#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <iosfwd>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The project's JSON value. Its code stands in json.cc alone, instantiated once: a source that
// includes this header compiles calls, not jsoncons. To read requests without making values of
// them, see kube/json_view.h.
namespace berth {

// The order of an object's members. kGiven keeps the order of insertion, and a lookup is
// O(members). kSorted keeps members sorted by key, and a lookup is O(log members).
enum class JsonOrder { kGiven, kSorted };

template <JsonOrder kOrder>
class BasicJson;
using Json = BasicJson<JsonOrder::kGiven>;
using SortedJson = BasicJson<JsonOrder::kSorted>;

// A value of another type than the caller asked for, a member or an item that is not there, or a
// text that is not JSON.
class JsonError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Null, a bool, a number, a string, an array or an object; 16 bytes. Numbers are kept as
// std::int64_t where they fit, else as std::uint64_t, else as double. A moved-from value is null.
// Copies are deep. Values that hold each other are destroyed recursively, so parse() bounds the
// depth. A reference to a member or an item is good until its object or array gains or loses one:
// write `Json b = json["b"]; json["a"] = std::move(b);`, because json["a"] may add a member. Not
// thread-safe.
template <JsonOrder kOrder>
class BasicJson {
 public:
  class Member;

  // Depth of nested arrays and objects that parse() accepts.
  static constexpr int kMaxDepth = 64;

  BasicJson() noexcept : kind_(Kind::kObject), members_(nullptr) {}  // an empty object
  BasicJson(std::same_as<bool> auto value) noexcept : kind_(Kind::kBool), bool_(value) {}
  template <std::integral Integer>
    requires(!std::same_as<Integer, bool>)
  BasicJson(Integer value) noexcept : kind_(Kind::kInt), int_(static_cast<std::int64_t>(value)) {
    if (std::in_range<std::int64_t>(value)) return;
    kind_ = Kind::kUint;
    uint_ = static_cast<std::uint64_t>(value);
  }
  BasicJson(double value) noexcept : kind_(Kind::kDouble), double_(value) {}
  BasicJson(std::string_view text);
  BasicJson(const char* text) : BasicJson(std::string_view(text)) {}
  BasicJson(const std::string& text) : BasicJson(std::string_view(text)) {}
  BasicJson(const std::vector<std::string>& texts);  // an array

  static BasicJson null() noexcept;
  static BasicJson Object() noexcept { return {}; }
  static BasicJson Array();
  static BasicJson Array(std::vector<BasicJson> items);

  // Reads JSON text (RFC 8259) that nests at most `max_depth` deep. Of members with the same key
  // the first counts, as in JsonView. A number beyond double's range is refused. O(n log n) in the
  // members of an object. parse() throws JsonError.
  static std::expected<BasicJson, std::string> Parse(std::string_view text,
                                                     int max_depth = kMaxDepth);
  static BasicJson parse(std::string_view text);

  BasicJson(const BasicJson& other) : BasicJson(null()) { CopyFrom(other); }
  BasicJson(BasicJson&& other) noexcept { Take(other); }
  BasicJson& operator=(const BasicJson& other) { return *this = BasicJson(other); }
  BasicJson& operator=(BasicJson&& other) noexcept {
    if (this != &other) {
      BasicJson old(std::move(*this));  // `other` may be a part of it
      Take(other);
    }
    return *this;
  }
  ~BasicJson() {
    if (kind_ >= Kind::kString) Free();
  }

  bool is_null() const { return kind_ == Kind::kNull; }
  bool is_bool() const { return kind_ == Kind::kBool; }
  bool is_number() const { return kind_ >= Kind::kInt && kind_ <= Kind::kDouble; }
  bool is_int64() const { return kind_ == Kind::kInt; }
  bool is_string() const { return kind_ == Kind::kString; }
  bool is_array() const { return kind_ == Kind::kArray; }
  bool is_object() const { return kind_ == Kind::kObject; }

  // The value as a T: std::string, bool, int, std::int64_t, std::uint64_t, double or a vector of
  // std::string. Any value can be read as std::string: one that isn't a string gives its JSON. All
  // else throws JsonError when the value is of another type or doesn't fit.
  template <typename T>
  T as() const;
  std::string as_string() const { return as<std::string>(); }
  std::string_view as_string_view() const;  // of a string only; never of a null pointer

  // JSON text without white space. O(size).
  std::string to_string() const;
  void AppendTo(std::string& out) const;

  // Members, items or bytes of a string; 0 for other types.
  std::size_t size() const;
  // True for "", [] and {}.
  bool empty() const;
  void reserve(std::size_t size);

  // Arrays. An index out of range throws JsonError.
  std::span<BasicJson> array_range();
  std::span<const BasicJson> array_range() const;
  const BasicJson& operator[](std::size_t index) const;
  BasicJson& operator[](std::size_t index);
  void push_back(BasicJson item);
  void Insert(std::size_t index, BasicJson item);  // before the item at `index`
  void EraseAt(std::size_t index);

  // Objects. A value that is not an object has no members; adding one to it throws JsonError.
  std::span<Member> object_range();
  std::span<const Member> object_range() const;
  const BasicJson* find(std::string_view key) const;  // null for none
  BasicJson* find(std::string_view key);
  bool contains(std::string_view key) const { return find(key) != nullptr; }
  const BasicJson& operator[](std::string_view key) const;  // an empty object for a missing member
  BasicJson& operator[](std::string_view key);              // adds an empty object
  const BasicJson& at(std::string_view key) const;          // throws JsonError
  template <typename T>
  T get_value_or(std::string_view key, T fallback) const {
    const BasicJson* found = find(key);
    return found ? found->template as<T>() : std::move(fallback);
  }
  void insert_or_assign(std::string_view key, BasicJson value);
  void try_emplace(std::string_view key, BasicJson value);  // an existing member stays
  void erase(std::string_view key);

  // Numbers are compared by value, objects regardless of the order of their members.
  friend bool operator==(const BasicJson& a, const BasicJson& b) { return Equal(a, b); }
  friend std::ostream& operator<<(std::ostream& out, const BasicJson& json) {
    return json.Print(out);
  }

 private:
  class Builder;
  enum class Kind : std::uint8_t { kNull, kBool, kInt, kUint, kDouble, kString, kArray, kObject };

  static bool IsWhole(double number, const BasicJson& integer);
  static bool Equal(const BasicJson& a, const BasicJson& b);
  std::ostream& Print(std::ostream& out) const;
  void CopyFrom(const BasicJson& other);  // this is null
  void Free() noexcept;
  void Take(BasicJson& other) noexcept {
    kind_ = std::exchange(other.kind_, Kind::kNull);
    length_ = other.length_;
    uint_ = other.uint_;
  }
  // An object of members in any order, with duplicates.
  static BasicJson FromMembers(std::vector<Member> members);
  // Where `key` is among the members, or belongs.
  std::size_t Place(std::string_view key) const;
  std::vector<Member>& Members();   // of an object; throws JsonError
  std::vector<BasicJson>& Items();  // of an array; throws JsonError

  Kind kind_;
  std::uint32_t length_ = 0;  // of a string
  union {
    bool bool_;
    std::int64_t int_;
    std::uint64_t uint_;  // as wide as the union: a move copies it
    double double_;
    char* text_;                     // owned; length_ bytes
    std::vector<BasicJson>* items_;  // owned
    std::vector<Member>* members_;   // owned; null for no members
  };
};

template <JsonOrder kOrder>
class BasicJson<kOrder>::Member {
 public:
  Member(std::string_view key, BasicJson value) : key_(key), value_(std::move(value)) {}
  const std::string& key() const { return key_; }
  BasicJson& value() { return value_; }
  const BasicJson& value() const { return value_; }

 private:
  std::string key_;
  BasicJson value_;
};

extern template class BasicJson<JsonOrder::kGiven>;
extern template class BasicJson<JsonOrder::kSorted>;

}  // namespace berth
