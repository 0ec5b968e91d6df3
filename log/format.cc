#include "log/format.h"

namespace berth {

std::string VFormat(std::string_view text, std::format_args args) {
  return std::vformat(text, args);
}

}  // namespace berth
