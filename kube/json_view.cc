#include "kube/json_view.h"

#include <simdjson.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "kube/big_numbers.h"

namespace berth::kube {

namespace dom = simdjson::dom;

// A simdjson element is a document and an index into it, which is what a view keeps.
struct JsonView::Element {
  struct Words {
    const void* document;
    std::size_t index;
  };
  static_assert(sizeof(dom::element) == sizeof(Words));
  static_assert(std::is_trivially_copyable_v<dom::element>);

  static dom::element Of(JsonView view) {
    return std::bit_cast<dom::element>(Words{view.document_, view.index_});
  }
  static JsonView View(dom::element element) {
    const auto words = std::bit_cast<Words>(element);
    return JsonView(words.document, words.index);
  }
};

static_assert(sizeof(JsonView) <= 24 && std::is_trivially_copyable_v<JsonView>);

char JsonView::Type() const {
  return exists() ? static_cast<char>(Element::Of(*this).type()) : '\0';
}

bool JsonView::is_number() const {
  const char type = Type();
  return type == 'l' || type == 'u' || type == 'd' || type == 'Z';
}

JsonView JsonView::operator[](std::string_view key) const {
  dom::object object;
  if (!exists() || Element::Of(*this).get(object)) return {};
  dom::element value;
  if (object.at_key(key).get(value)) return {};
  return Element::View(value);
}

void JsonView::FindMembers(std::span<const std::string_view> keys,
                           std::span<JsonView> found) const {
  dom::object object;
  if (!exists() || Element::Of(*this).get(object)) return;
  // Few keys have the same length: it leads to the last of them, and each to the one before it.
  constexpr std::uint8_t kNone = kMostKeys;
  std::array<std::uint8_t, 64> last;
  std::array<std::uint8_t, kMostKeys> before;
  last.fill(kNone);
  for (std::size_t i = 0; i < keys.size(); ++i)
    before[i] = std::exchange(last[keys[i].size() % last.size()], static_cast<std::uint8_t>(i));
  const auto end = object.end();
  for (auto member = object.begin(); member != end; ++member) {
    std::uint8_t i = last[member.key_length() % last.size()];
    while (i != kNone && !member.key_equals(keys[i])) i = before[i];
    if (i != kNone && !found[i].exists()) found[i] = Element::View(member.value());
  }
}

JsonView JsonView::At(std::size_t index) const {
  dom::array array;
  if (!exists() || Element::Of(*this).get(array)) return {};
  dom::element value;
  if (array.at(index).get(value)) return {};
  return Element::View(value);
}

std::size_t JsonView::size() const {
  // simdjson counts up to 2^24-1, which is as many as a document of kMaxSize can hold.
  static_assert(JsonDocument::kMaxSize / 2 <= 0x1000000);
  if (!exists()) return 0;
  const dom::element element = Element::Of(*this);
  if (dom::object object; !element.get(object)) return object.size();
  if (dom::array array; !element.get(array)) return array.size();
  return 0;
}

std::optional<std::string_view> JsonView::String() const {
  std::string_view value;
  if (!exists() || Element::Of(*this).get(value)) return std::nullopt;
  return value;
}

std::optional<std::int64_t> JsonView::Int() const {
  std::int64_t value;
  if (Type() != 'l' || Element::Of(*this).get(value)) return std::nullopt;
  return value;
}

std::optional<bool> JsonView::Bool() const {
  bool value;
  if (!exists() || Element::Of(*this).get(value)) return std::nullopt;
  return value;
}

void JsonView::WalkObject(VisitMember visit, void* context) const {
  dom::object object;
  if (!exists() || Element::Of(*this).get(object)) return;
  for (const auto& [key, value] : object) {
    if (!visit(context, key, Element::View(value))) return;
  }
}

void JsonView::WalkArray(VisitItem visit, void* context) const {
  dom::array array;
  if (!exists() || Element::Of(*this).get(array)) return;
  for (const dom::element item : array) {
    if (!visit(context, Element::View(item))) return;
  }
}

std::string JsonView::ToJson() const {
  return exists() ? simdjson::minify(Element::Of(*this)) : std::string();
}

class JsonDocument::Impl {
 public:
  simdjson::error_code Parse(std::string_view text, dom::element& root) {
    // One big document must not keep its buffers, some ten times its size, for the life of a
    // thread.
    if (parser_ && parser_->capacity() > kKeep && text.size() <= kKeep) parser_.reset();
    if (!parser_) {
      parser_ = std::make_unique<dom::parser>();
      parser_->number_as_string(true);
      if (const auto error = parser_->allocate(kFirstCapacity, kMaxDepth)) return error;
    }
    return parser_->parse(text.data(), text.size()).get(root);
  }

 private:
  static constexpr std::size_t kFirstCapacity = std::size_t{16} << 10;
  static constexpr std::size_t kKeep = std::size_t{1} << 20;
  std::unique_ptr<dom::parser> parser_;
};

namespace {

std::string_view InWords(simdjson::error_code error) {
  switch (error) {
    case simdjson::EMPTY:
      return "the JSON document is empty";
    case simdjson::DEPTH_ERROR:
      return "the JSON document is too deep: it nests more than 64 levels";
    case simdjson::CAPACITY:
      return "the JSON document is too long: it is over 32 MiB";
    case simdjson::UTF8_ERROR:
      return "the JSON document is malformed: it is not UTF-8";
    case simdjson::STRING_ERROR:
    case simdjson::UNESCAPED_CHARS:
      return "the JSON document is malformed: a string has a wrong escape or a control character";
    case simdjson::UNCLOSED_STRING:
      return "the JSON document is malformed: a string has no end";
    case simdjson::NUMBER_ERROR:
    case simdjson::BIGINT_ERROR:
      return "the JSON document is malformed: a number is wrong or out of range";
    case simdjson::MEMALLOC:
      return "there is no memory to read the JSON document";
    default:
      return "the JSON document is malformed";
  }
}

// Values of a document of which every one would be as short as can be take twelve times its size
// of memory; real ones are far from it.
constexpr std::size_t kMaxValues = std::size_t{1} << 20;

// Whether there may be more. Every value but the first follows one of four characters, so that two
// bytes a value are the least.
bool HasTooManyValues(std::string_view text) {
  if (text.size() <= 2 * kMaxValues) return false;
  return std::ranges::count_if(text, [](char c) {
           return c == ',' || c == ':' || c == '[' || c == '{';
         }) >= static_cast<std::ptrdiff_t>(kMaxValues);
}

// Whether there may be a whole number beyond a double's range: those have 309 digits at least, so
// that one character in so many tells.
bool MayHaveHugeNumber(std::string_view text) {
  constexpr std::size_t kDigits = std::numeric_limits<double>::max_exponent10 + 1;
  constexpr std::string_view kDigit = "0123456789";
  for (std::size_t at = kDigits; at <= text.size(); at += kDigits) {
    if (text[at - 1] < '0' || text[at - 1] > '9') continue;
    const std::string_view before = text.substr(at - kDigits, kDigits);
    const std::size_t left = kDigits - (before.find_last_not_of(kDigit) + 1);
    const std::string_view after = text.substr(at, kDigits);
    if (left + std::min(after.find_first_not_of(kDigit), after.size()) >= kDigits) return true;
  }
  return false;
}

}  // namespace

static_assert(JsonDocument::kMaxDepth == 64 && JsonDocument::kMaxSize == 32 << 20,
              "InWords() names them");

JsonDocument::JsonDocument() : impl_(std::make_unique<Impl>()) {}
JsonDocument::~JsonDocument() = default;
JsonDocument::JsonDocument(JsonDocument&&) noexcept = default;
JsonDocument& JsonDocument::operator=(JsonDocument&&) noexcept = default;

Result<JsonView> JsonDocument::Parse(std::string_view text) {
  if (HasTooManyValues(text))
    return std::unexpected(Error{ErrorClass::kTerminal, "BadRequest",
                                 "the JSON document has too many values: more than 1,048,576"});
  dom::element root;
  simdjson::error_code error = simdjson::SUCCESS;
  if (text.empty()) {
    error = simdjson::EMPTY;
  } else if (text.size() > kMaxSize) {
    error = simdjson::CAPACITY;
  } else {
    error = impl_->Parse(text, root);
    // simdjson keeps whole numbers that fit no 64 bits as text, however long they are, but takes
    // those of 20 digits for malformed.
    if (error == simdjson::NUMBER_ERROR ||
        (error == simdjson::SUCCESS && MayHaveHugeNumber(text))) {
      error = impl_->Parse(WithFractions(text), root);
    }
  }
  if (error == simdjson::SUCCESS) return JsonView::Element::View(root);
  const bool passing = error == simdjson::MEMALLOC;
  return std::unexpected(Error{passing ? ErrorClass::kRetry : ErrorClass::kTerminal,
                               passing ? "InternalError" : "BadRequest",
                               std::string(InWords(error))});
}

}  // namespace berth::kube
