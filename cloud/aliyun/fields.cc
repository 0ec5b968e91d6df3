#include "cloud/aliyun/fields.h"

#include <utility>

#include "log/format.h"

namespace berth::cloud::aliyun {

void AddGiven(Parameters& parameters, std::string name, std::string value) {
  if (!value.empty()) parameters.emplace(std::move(name), std::move(value));
}

void AddList(Parameters& parameters, std::string_view name,
             const std::vector<std::string>& values) {
  int n = 0;
  for (const std::string& value : values) parameters.emplace(Format("{}.{}", name, ++n), value);
}

void AddTags(Parameters& parameters, const Tags& tags) {
  int n = 0;
  for (const auto& [key, value] : tags) {
    parameters.emplace(Format("Tag.{}.Key", ++n), key);
    parameters.emplace(Format("Tag.{}.Value", n), value);
  }
}

std::vector<std::string> Texts(const Json& object, std::string_view outer, std::string_view inner) {
  std::vector<std::string> texts;
  ForEach(object, outer, inner, [&](const Json& item) {
    if (item.is_string()) texts.push_back(item.as<std::string>());
  });
  return texts;
}

std::vector<std::string> Texts(const Json& object, std::string_view outer, std::string_view inner,
                               std::string_view member) {
  std::vector<std::string> texts;
  ForEach(object, outer, inner, [&](const Json& item) { texts.push_back(Text(item, member)); });
  return texts;
}

bool IsSet(const Json& object, std::string_view member) {
  const std::string text = Text(object, member);
  return text == "true" || text == "1";
}

Error Lacks(const Json& answer, std::string_view member, ErrorClass error_class) {
  return {.error_class = error_class,
          .message = Format("the cloud's answer has no {} (request ID {})", member,
                            Text(answer, "RequestId")),
          .code = 200};
}

}  // namespace berth::cloud::aliyun
