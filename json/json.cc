#include "json/json.h"

#include <simdjson.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <jsoncons/json_cursor.hpp>
#include <numeric>
#include <optional>
#include <ostream>
#include <type_traits>

#include "json/quote.h"

namespace berth {

namespace dom = simdjson::dom;

namespace {

template <typename Number>
void AppendNumber(Number number, std::string& out) {
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  out.append(text.data(), end);
}

bool IsOneOf(std::string_view characters, std::string_view text, std::size_t at) {
  return at < text.size() && characters.contains(text[at]);
}

// Whether one half of a surrogate pair is escaped without the other. Where an escape follows,
// jsoncons takes it for the second half; a second half alone it leaves out.
bool HasLoneSurrogate(std::string_view text) {
  constexpr std::size_t kEscape = std::string_view("\\ud83d").size();
  std::size_t second_half = text.npos;  // where it has to begin
  for (std::size_t at = text.find('\\'); at != text.npos; at = text.find('\\', at)) {
    const bool is_half = IsOneOf("u", text, at + 1) && IsOneOf("dD", text, at + 2);
    const bool is_second = is_half && IsOneOf("cdefCDEF", text, at + 3);
    if (is_second != (at == second_half)) return true;
    second_half = is_half && IsOneOf("89abAB", text, at + 3) ? at + kEscape : text.npos;
    at += 2;
  }
  return false;
}

// Whether few members have as many keys, which costs less to compare than to sort.
template <typename Member>
bool HasFewDistinctKeys(std::span<const Member> members) {
  constexpr std::size_t kFew = 12;
  if (members.size() > kFew) return false;
  for (std::size_t i = 1; i < members.size(); ++i) {
    if (std::ranges::contains(members.first(i), members[i].key(), &Member::key)) return false;
  }
  return true;
}

// The thread's parser, with its buffers; those that a big document needed are not kept.
dom::parser& ParserFor(std::string_view text) {
  constexpr std::size_t kKeep = std::size_t{1} << 20;
  thread_local dom::parser parser;
  if (parser.capacity() > kKeep && text.size() <= kKeep) parser = dom::parser();
  return parser;
}

}  // namespace

// Makes a value of the events that jsoncons reads from a text.
template <JsonOrder kOrder>
class BasicJson<kOrder>::Builder {
 public:
  // Makes a value of what simdjson reads, which is several times as fast as jsoncons. It takes
  // fewer texts: no whole number beyond 64 bits, and none of its errors says where.
  class Fast {
   public:
    explicit Fast(int max_depth) : levels_(max_depth) {}

    // None for a text that jsoncons has to judge.
    std::optional<BasicJson> Read(std::string_view text) {
      dom::element root;
      if (text.starts_with('\xEF') || ParserFor(text).parse(text.data(), text.size()).get(root))
        return std::nullopt;
      BasicJson value = Build(root);
      if (too_deep_) return std::nullopt;
      return value;
    }

   private:
    BasicJson Build(dom::element element) {
      switch (element.type()) {
        case dom::element_type::OBJECT:
          return BuildObject(dom::object(element));
        case dom::element_type::ARRAY:
          return BuildArray(dom::array(element));
        case dom::element_type::STRING:
          return std::string_view(element);
        case dom::element_type::INT64:
          return std::int64_t(element);
        case dom::element_type::UINT64:
          return std::uint64_t(element);
        case dom::element_type::DOUBLE:
          return double(element);
        case dom::element_type::BOOL:
          return bool(element);
        default:
          return null();
      }
    }

    BasicJson BuildObject(dom::object object) {
      if (!Enter()) return null();
      std::vector<Member> members;
      members.reserve(object.size());
      for (const auto& [key, value] : object) members.emplace_back(key, Build(value));
      ++levels_;
      return FromMembers(std::move(members));
    }

    BasicJson BuildArray(dom::array array) {
      if (!Enter()) return null();
      std::vector<BasicJson> items;
      items.reserve(array.size());
      for (const dom::element item : array) items.push_back(Build(item));
      ++levels_;
      return Array(std::move(items));
    }

    bool Enter() {
      too_deep_ = too_deep_ || levels_ == 0;
      if (!too_deep_) --levels_;
      return !too_deep_;
    }

    int levels_;  // that may still be entered
    bool too_deep_ = false;
  };

  // False for a number that is beyond double's range.
  bool Add(const jsoncons::staj_event& event) {
    switch (event.event_type()) {
      case jsoncons::staj_event_type::begin_object:
      case jsoncons::staj_event_type::begin_array:
        open_.emplace_back();
        return true;
      case jsoncons::staj_event_type::key:
        open_.back().key = event.get<std::string_view>();
        return true;
      case jsoncons::staj_event_type::end_object: {
        auto members = std::move(open_.back().members);
        open_.pop_back();
        Put(FromMembers(std::move(members)));
        return true;
      }
      case jsoncons::staj_event_type::end_array: {
        auto items = std::move(open_.back().items);
        open_.pop_back();
        Put(Array(std::move(items)));
        return true;
      }
      default:
        return PutScalar(event);
    }
  }
  // The value, once its text has been read to the end.
  std::optional<BasicJson>& result() { return result_; }

 private:
  // An array or an object whose end is yet to come.
  struct Open {
    std::optional<std::string> key;  // of the member being read; none in an array
    std::vector<Member> members;
    std::vector<BasicJson> items;
  };

  static bool IsNumber(jsoncons::semantic_tag tag) {
    return tag == jsoncons::semantic_tag::bigint || tag == jsoncons::semantic_tag::bigdec ||
           tag == jsoncons::semantic_tag::bigfloat;
  }

  bool PutScalar(const jsoncons::staj_event& event) {
    switch (event.event_type()) {
      case jsoncons::staj_event_type::string_value:
        // A number that fits neither 64 bits nor a double comes as text with a tag.
        if (IsNumber(event.tag())) {
          const double number = std::strtod(event.get<std::string>().c_str(), nullptr);
          if (!std::isfinite(number)) return false;
          Put(number);
        } else {
          Put(event.get<std::string_view>());
        }
        break;
      case jsoncons::staj_event_type::bool_value:
        Put(event.get<bool>());
        break;
      case jsoncons::staj_event_type::int64_value:
        Put(event.get<std::int64_t>());
        break;
      case jsoncons::staj_event_type::uint64_value:
        Put(event.get<std::uint64_t>());
        break;
      case jsoncons::staj_event_type::double_value:
        Put(event.get<double>());
        break;
      default:
        Put(null());
    }
    return true;
  }

  void Put(BasicJson value) {
    if (open_.empty()) {
      result_ = std::move(value);
    } else if (Open& holder = open_.back(); holder.key) {
      holder.members.emplace_back(*holder.key, std::move(value));
    } else {
      holder.items.push_back(std::move(value));
    }
  }

  std::optional<BasicJson> result_;
  std::vector<Open> open_;
};

template <JsonOrder kOrder>
BasicJson<kOrder> BasicJson<kOrder>::FromMembers(std::vector<Member> members) {
  if constexpr (kOrder == JsonOrder::kSorted) {
    std::ranges::stable_sort(members, {}, &Member::key);
    const auto same = std::ranges::unique(members, {}, &Member::key);
    members.erase(same.begin(), same.end());
  } else if (!HasFewDistinctKeys<Member>(members)) {
    std::vector<std::size_t> order(members.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) -> auto& { return members[i].key(); });
    std::vector<std::size_t> repeated;
    for (std::size_t i = 1; i < order.size(); ++i) {
      if (members[order[i - 1]].key() == members[order[i]].key()) repeated.push_back(order[i]);
    }
    std::ranges::sort(repeated, std::greater());
    for (const std::size_t i : repeated) {
      members.erase(members.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  BasicJson object;
  if (!members.empty()) object.members_ = new std::vector<Member>(std::move(members));
  return object;
}

template <JsonOrder kOrder>
BasicJson<kOrder>::BasicJson(std::string_view text)
    : kind_(Kind::kString), length_(static_cast<std::uint32_t>(text.size())) {
  if (text.size() > std::numeric_limits<std::uint32_t>::max()) {
    throw JsonError("a string of 4 GiB or more");
  }
  text_ = new char[text.size()];
  if (!text.empty()) std::memcpy(text_, text.data(), text.size());
}

template <JsonOrder kOrder>
BasicJson<kOrder>::BasicJson(const std::vector<std::string>& texts) : BasicJson(Array()) {
  items_->assign(texts.begin(), texts.end());
}

template <JsonOrder kOrder>
BasicJson<kOrder> BasicJson<kOrder>::null() noexcept {
  BasicJson value;
  value.kind_ = Kind::kNull;
  return value;
}

template <JsonOrder kOrder>
BasicJson<kOrder> BasicJson<kOrder>::Array(std::vector<BasicJson> items) {
  BasicJson value = null();
  value.items_ = new std::vector<BasicJson>(std::move(items));
  value.kind_ = Kind::kArray;
  return value;
}

template <JsonOrder kOrder>
BasicJson<kOrder> BasicJson<kOrder>::Array() {
  return Array(std::vector<BasicJson>());
}

template <JsonOrder kOrder>
std::expected<BasicJson<kOrder>, std::string> BasicJson<kOrder>::Parse(std::string_view text,
                                                                       int max_depth) {
  if (auto value = typename Builder::Fast(max_depth).Read(text)) return *std::move(value);
  if (HasLoneSurrogate(text)) return std::unexpected("half a surrogate pair");
  jsoncons::json_options options;
  options.max_nesting_depth(max_depth).allow_comments(false);
  Builder builder;
  std::error_code error;
  jsoncons::json_string_cursor cursor(text, options, error);
  while (!error && !cursor.done()) {
    if (builder.Add(cursor.current())) {
      cursor.next(error);
    } else {
      error = jsoncons::json_errc::invalid_number;
    }
  }
  if (!error) cursor.check_done(error);
  std::optional<BasicJson> value = std::move(builder.result());
  if (!error && !value) error = jsoncons::json_errc::unexpected_eof;
  if (error || !value) {
    return std::unexpected(error.message() + " at line " + std::to_string(cursor.line()) +
                           ", column " + std::to_string(cursor.column()));
  }
  return *std::move(value);
}

template <JsonOrder kOrder>
BasicJson<kOrder> BasicJson<kOrder>::parse(std::string_view text) {
  auto value = Parse(text);
  if (!value) throw JsonError(value.error());
  return *std::move(value);
}

template <JsonOrder kOrder>
void BasicJson<kOrder>::CopyFrom(const BasicJson& other) {
  if (other.kind_ == Kind::kString) {
    *this = BasicJson(other.as_string_view());
  } else if (other.kind_ == Kind::kArray) {
    *this = Array(*other.items_);
  } else if (other.kind_ == Kind::kObject) {
    members_ = other.members_ ? new std::vector<Member>(*other.members_) : nullptr;
    kind_ = Kind::kObject;
  } else {
    kind_ = other.kind_;
    uint_ = other.uint_;
  }
}

template <JsonOrder kOrder>
void BasicJson<kOrder>::Free() noexcept {
  if (kind_ == Kind::kString) {
    delete[] text_;
  } else if (kind_ == Kind::kArray) {
    delete items_;
  } else {
    delete members_;
  }
}

template <JsonOrder kOrder>
template <typename T>
T BasicJson<kOrder>::as() const {
  if constexpr (std::same_as<T, BasicJson>) {
    return *this;
  } else if constexpr (std::same_as<T, std::string>) {
    return is_string() ? std::string(as_string_view()) : to_string();
  } else if constexpr (std::same_as<T, bool>) {
    if (is_bool()) return bool_;
  } else if constexpr (std::integral<T>) {
    if (kind_ == Kind::kInt && std::in_range<T>(int_)) return static_cast<T>(int_);
    if (kind_ == Kind::kUint && std::in_range<T>(uint_)) return static_cast<T>(uint_);
  } else if constexpr (std::floating_point<T>) {
    if (kind_ == Kind::kInt) return static_cast<T>(int_);
    if (kind_ == Kind::kUint) return static_cast<T>(uint_);
    if (kind_ == Kind::kDouble) return double_;
  } else if (is_array()) {
    T list;
    for (const BasicJson& item : array_range()) list.push_back(item.as_string());
    return list;
  }
  throw JsonError(to_string() + " is not of the type asked for");
}

template <JsonOrder kOrder>
std::string_view BasicJson<kOrder>::as_string_view() const {
  if (!is_string()) throw JsonError(to_string() + " is not a string");
  return {text_, length_};
}

template <JsonOrder kOrder>
void BasicJson<kOrder>::AppendTo(std::string& out) const {
  bool first = true;
  switch (kind_) {
    case Kind::kNull:
      out += "null";
      break;
    case Kind::kBool:
      out += bool_ ? "true" : "false";
      break;
    case Kind::kInt:
      AppendNumber(int_, out);
      break;
    case Kind::kUint:
      AppendNumber(uint_, out);
      break;
    case Kind::kDouble:
      if (!std::isfinite(double_)) {
        out += "null";  // JSON has no word for it
      } else {
        AppendNumber(double_, out);
      }
      break;
    case Kind::kString:
      AppendQuoted(out, {text_, length_});
      break;
    case Kind::kArray:
      out += '[';
      for (const BasicJson& item : *items_) {
        if (!std::exchange(first, false)) out += ',';
        item.AppendTo(out);
      }
      out += ']';
      break;
    case Kind::kObject:
      out += '{';
      for (const Member& member : object_range()) {
        if (!std::exchange(first, false)) out += ',';
        AppendQuoted(out, member.key());
        out += ':';
        member.value().AppendTo(out);
      }
      out += '}';
      break;
  }
}

template <JsonOrder kOrder>
std::string BasicJson<kOrder>::to_string() const {
  std::string text;
  AppendTo(text);
  return text;
}

template <JsonOrder kOrder>
std::ostream& BasicJson<kOrder>::Print(std::ostream& out) const {
  return out << to_string();
}

template <JsonOrder kOrder>
std::size_t BasicJson<kOrder>::size() const {
  if (is_string()) return length_;
  if (is_array()) return items_->size();
  return object_range().size();
}

template <JsonOrder kOrder>
bool BasicJson<kOrder>::empty() const {
  return kind_ >= Kind::kString && size() == 0;
}

template <JsonOrder kOrder>
void BasicJson<kOrder>::reserve(std::size_t size) {
  if (is_array()) {
    items_->reserve(size);
  } else if (size > 0) {
    Members().reserve(size);
  }
}

template <JsonOrder kOrder>
std::vector<BasicJson<kOrder>>& BasicJson<kOrder>::Items() {
  if (!is_array()) throw JsonError(to_string() + " is not an array");
  return *items_;
}

template <JsonOrder kOrder>
std::span<BasicJson<kOrder>> BasicJson<kOrder>::array_range() {
  if (!is_array()) return {};
  return *items_;
}

template <JsonOrder kOrder>
std::span<const BasicJson<kOrder>> BasicJson<kOrder>::array_range() const {
  if (!is_array()) return {};
  return *items_;
}

template <JsonOrder kOrder>
const BasicJson<kOrder>& BasicJson<kOrder>::operator[](std::size_t index) const {
  const auto items = array_range();
  if (index >= items.size())
    throw JsonError("no item " + std::to_string(index) + " in " + to_string());
  return items[index];
}

template <JsonOrder kOrder>
BasicJson<kOrder>& BasicJson<kOrder>::operator[](std::size_t index) {
  return const_cast<BasicJson&>(std::as_const(*this)[index]);
}

template <JsonOrder kOrder>
void BasicJson<kOrder>::push_back(BasicJson item) {
  Items().push_back(std::move(item));
}

template <JsonOrder kOrder>
void BasicJson<kOrder>::Insert(std::size_t index, BasicJson item) {
  auto& items = Items();
  if (index > items.size())
    throw JsonError("no place " + std::to_string(index) + " in " + to_string());
  items.insert(items.begin() + static_cast<std::ptrdiff_t>(index), std::move(item));
}

template <JsonOrder kOrder>
void BasicJson<kOrder>::EraseAt(std::size_t index) {
  auto& items = Items();
  if (index >= items.size())
    throw JsonError("no item " + std::to_string(index) + " in " + to_string());
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(index));
}

template <JsonOrder kOrder>
std::vector<typename BasicJson<kOrder>::Member>& BasicJson<kOrder>::Members() {
  if (!is_object()) throw JsonError(to_string() + " is not an object");
  if (!members_) members_ = new std::vector<Member>();
  return *members_;
}

template <JsonOrder kOrder>
std::span<typename BasicJson<kOrder>::Member> BasicJson<kOrder>::object_range() {
  if (!is_object() || !members_) return {};
  return *members_;
}

template <JsonOrder kOrder>
std::span<const typename BasicJson<kOrder>::Member> BasicJson<kOrder>::object_range() const {
  if (!is_object() || !members_) return {};
  return *members_;
}

template <JsonOrder kOrder>
std::size_t BasicJson<kOrder>::Place(std::string_view key) const {
  const auto members = object_range();
  if constexpr (kOrder == JsonOrder::kSorted) {
    if (!members.empty() && members.back().key() < key) return members.size();  // read in order
    const auto place = std::ranges::lower_bound(members, key, {}, &Member::key);
    return static_cast<std::size_t>(place - members.begin());
  } else {
    const auto place = std::ranges::find(members, key, &Member::key);
    return static_cast<std::size_t>(place - members.begin());
  }
}

template <JsonOrder kOrder>
const BasicJson<kOrder>* BasicJson<kOrder>::find(std::string_view key) const {
  const auto members = object_range();
  const std::size_t place = Place(key);
  if (place == members.size() || members[place].key() != key) return nullptr;
  return &members[place].value();
}

template <JsonOrder kOrder>
BasicJson<kOrder>* BasicJson<kOrder>::find(std::string_view key) {
  return const_cast<BasicJson*>(std::as_const(*this).find(key));
}

template <JsonOrder kOrder>
const BasicJson<kOrder>& BasicJson<kOrder>::operator[](std::string_view key) const {
  static const BasicJson kEmpty;
  const BasicJson* found = find(key);
  return found ? *found : kEmpty;
}

template <JsonOrder kOrder>
BasicJson<kOrder>& BasicJson<kOrder>::operator[](std::string_view key) {
  auto& members = Members();
  const std::size_t place = Place(key);
  if (place == members.size() || members[place].key() != key) {
    members.emplace(members.begin() + static_cast<std::ptrdiff_t>(place), key, BasicJson());
  }
  return members[place].value();
}

template <JsonOrder kOrder>
const BasicJson<kOrder>& BasicJson<kOrder>::at(std::string_view key) const {
  const BasicJson* found = find(key);
  if (!found) throw JsonError("no member " + std::string(key) + " in " + to_string());
  return *found;
}

template <JsonOrder kOrder>
void BasicJson<kOrder>::insert_or_assign(std::string_view key, BasicJson value) {
  (*this)[key] = std::move(value);
}

template <JsonOrder kOrder>
void BasicJson<kOrder>::try_emplace(std::string_view key, BasicJson value) {
  if (!contains(key)) (*this)[key] = std::move(value);
}

template <JsonOrder kOrder>
void BasicJson<kOrder>::erase(std::string_view key) {
  const BasicJson* found = find(key);
  if (!found) return;
  members_->erase(members_->begin() + static_cast<std::ptrdiff_t>(Place(key)));
}

// True if the double is exactly this integer.
template <JsonOrder kOrder>
bool BasicJson<kOrder>::IsWhole(double number, const BasicJson& integer) {
  if (std::trunc(number) != number || number < -0x1p63 || number >= 0x1p64) return false;
  if (integer.kind_ == Kind::kInt) {
    return number < 0x1p63 && static_cast<std::int64_t>(number) == integer.int_;
  }
  return number >= 0 && static_cast<std::uint64_t>(number) == integer.uint_;
}

template <JsonOrder kOrder>
bool BasicJson<kOrder>::Equal(const BasicJson& a, const BasicJson& b) {
  if (a.kind_ != b.kind_) {
    // Integers of two kinds differ: kUint has those that kInt cannot.
    if (b.kind_ == Kind::kDouble) return a.is_number() && IsWhole(b.double_, a);
    return a.kind_ == Kind::kDouble && b.is_number() && IsWhole(a.double_, b);
  }
  switch (a.kind_) {
    case Kind::kNull:
      return true;
    case Kind::kBool:
      return a.bool_ == b.bool_;
    case Kind::kDouble:
      return a.double_ == b.double_;
    case Kind::kInt:
    case Kind::kUint:
      return a.uint_ == b.uint_;
    case Kind::kString:
      return a.as_string_view() == b.as_string_view();
    case Kind::kArray:
      return *a.items_ == *b.items_;
    case Kind::kObject:
      break;
  }
  return a.size() == b.size() && std::ranges::all_of(a.object_range(), [&](const Member& member) {
           const BasicJson* other = b.find(member.key());
           return other && member.value() == *other;
         });
}

template class BasicJson<JsonOrder::kGiven>;
template class BasicJson<JsonOrder::kSorted>;

#define BERTH_JSON_AS(T)       \
  template T Json::as() const; \
  template T SortedJson::as() const;
BERTH_JSON_AS(std::string)
BERTH_JSON_AS(bool)
BERTH_JSON_AS(int)
BERTH_JSON_AS(std::int64_t)
BERTH_JSON_AS(std::uint64_t)
BERTH_JSON_AS(double)
BERTH_JSON_AS(std::vector<std::string>)
#undef BERTH_JSON_AS
template Json Json::as() const;
template SortedJson SortedJson::as() const;

}  // namespace berth
