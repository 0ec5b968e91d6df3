#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cloud/account.h"
#include "cloud/aliyun/answer.h"
#include "cloud/aliyun/signature.h"

// Parameters and answers as all products of the cloud write them.
namespace berth::cloud::aliyun {

// An empty value is not sent: the cloud has a default.
void AddGiven(Parameters& parameters, std::string name, std::string value);
// "Name.1", "Name.2", …
void AddList(Parameters& parameters, std::string_view name, const std::vector<std::string>& values);
// "Tag.1.Key", "Tag.1.Value", …
void AddTags(Parameters& parameters, const Tags& tags);

// The cloud nests its lists: {"Tags": {"Tag": [...]}}. False when there is none.
bool ForEach(const Json& object, std::string_view outer, std::string_view inner, auto visit) {
  const Json& list = Member(Member(object, outer), inner);
  if (!list.is_array()) return false;
  for (const Json& item : list.array_range()) visit(item);
  return true;
}
// The texts of such a list.
std::vector<std::string> Texts(const Json& object, std::string_view outer, std::string_view inner);
// The same member of each item of such a list.
std::vector<std::string> Texts(const Json& object, std::string_view outer, std::string_view inner,
                               std::string_view member);
// A bool, however the cloud spells it.
bool IsSet(const Json& object, std::string_view member);
// The error of an answer without something that it must have.
Error Lacks(const Json& answer, std::string_view member, ErrorClass error_class);

}  // namespace berth::cloud::aliyun
