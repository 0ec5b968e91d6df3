#include "kube/memory/write.h"

#include <algorithm>
#include <charconv>

#include "kube/memory/decode.h"
#include "kube/memory/deletion.h"
#include "kube/memory/kinds.h"
#include "kube/memory/metadata.h"
#include "kube/memory/patch.h"
#include "kube/memory/read.h"
#include "kube/memory/render.h"
#include "log/format.h"

namespace berth::kube::memory {
namespace {

constexpr std::string_view kModified =
    "the object has been modified; please apply your changes to the latest version and try again";
constexpr std::string_view kApply = "application/apply-patch+yaml";
constexpr int kMostAttempts = 5;
constexpr int kMostNames = 8;  // that are tried for generateName

// Whether something else than metadata and status differs.
bool SpecDiffers(const Value& a, const Value& b) {
  const auto covers = [](const Value& one, const Value& other) {
    return std::ranges::all_of(one.object_range(), [&](const auto& member) {
      if (member.key() == "metadata" || member.key() == "status") return true;
      const Value* found = Find(other, member.key());
      return found && *found == member.value();
    });
  };
  return !covers(a, b) || !covers(b, a);
}

// etcd's key, which kube-apiserver shows when a precondition fails.
std::string RegistryKey(const Call& call) {
  const Resource& resource = call.resource();
  return Format("/registry/{}{}{}/{}", resource.custom ? resource.group : "",
                resource.custom ? "/" : "", resource.plural, call.key());
}

Outcome<void> CheckPreconditions(const Call& call, const Object& current, const Value& object) {
  const Resource& resource = call.resource();
  const std::string_view version = TextAt(object, "metadata", "resourceVersion");
  std::uint64_t number = 0;
  const auto [end, error] =
      std::from_chars(version.data(), version.data() + version.size(), number);
  if (!version.empty() && (error != std::errc{} || end != version.data() + version.size())) {
    return std::unexpected(
        Unexpected(Format("strconv.ParseUint: parsing \"{}\": invalid syntax", version)));
  }
  const std::string_view uid = TextAt(object, "metadata", "uid");
  // A patch works on the object that is there, whose uid it may not change; see ValidateMetadata.
  if (call.method == Method::kPut && !uid.empty() && uid != current.uid()) {
    return std::unexpected(ConflictHere(
        call, Format("StorageError: invalid object, Code: 4, Key: {}, ResourceVersion: 0, "
                     "AdditionalErrorMsg: Precondition failed: UID in precondition: {}, UID in "
                     "object meta: {}",
                     RegistryKey(call), uid, current.uid())));
  }
  if (number == 0 && !resource.unconditional_update) {
    return std::unexpected(
        Invalid(resource.plural, resource.group, call.name,
                {{"FieldValueInvalid", "Invalid value: 0: must be specified for an update",
                  "metadata.resourceVersion"}}));
  }
  if (number != 0 && number != current.version)
    return std::unexpected(ConflictHere(call, kModified));
  return {};
}

// Restores the fields that an update may not touch.
void Prepare(const Call& call, const Object& current, Value& object) {
  const Resource& resource = call.resource();
  const Value& old = current.value;
  const Value& before = *Find(old, "metadata");
  if (call.subresource == "status") {
    Value with_status = old;
    CopyMember(object, with_status, "status");
    // Checked for what it may not be, although nothing of it is taken.
    object = std::move(with_status);
    return;
  }
  if (call.view.version->has_status) CopyMember(old, object, "status");
  if (resource.rules.prepare) resource.rules.prepare(object, &old);
  // Found only now: a reference into an object does not outlive a new member.
  Value& metadata = object["metadata"];
  if (!metadata.contains("uid")) CopyMember(before, metadata, "uid");
  CopyMember(before, metadata, "creationTimestamp");
  CopyMember(before, metadata, "generation");
  if (current.deleting()) {
    CopyMember(before, metadata, "deletionTimestamp");
    CopyMember(before, metadata, "deletionGracePeriodSeconds");
  }
  metadata.insert_or_assign("resourceVersion", std::to_string(current.version));
  if (resource.has_generation && SpecDiffers(object, old))
    metadata.insert_or_assign("generation", IntAt(before, "generation") + 1);
}

Review ReviewOf(const Call& call, std::string_view operation, const Value* object,
                const Object* old) {
  const Resource& resource = call.resource();
  const auto shown = [&](const Value* value) {
    return value ? FromStored(resource, *call.view.version, *value) : Value::null();
  };
  return {operation, shown(object), shown(old ? &old->value : nullptr), Value::Object()};
}

Status NotAPatch(const Value& object, std::string_view why) {
  return Invalid(
      "", "", "",
      {{"FieldValueInvalid",
        Format("Invalid value: {}: {}", Value(EncodeObject(object)).to_string(), why), "patch"}});
}

Status NoApply() {
  return {415,
          "UnsupportedMediaType",
          "the API server in memory keeps no managed fields: apply without --server-side (helm: "
          "--server-side=false)",
          {}};
}

}  // namespace

Response Writer::Show(const Call& call, int code, const Object& object) const {
  return {code, RenderObject({call.resource(), *call.view.version, call.form, cluster_.UnixNow()},
                             object)};
}

Outcome<Value> Writer::DecodeObject(const Call& call) {
  auto object = DecodeBody(call, decoder_);
  if (!object) return object;
  if (auto fine = CheckNames(call, *object); !fine) return std::unexpected(fine.error());
  return object;
}

// The object after the call: the body of a PUT, or the object with a patch applied.
Outcome<Value> Writer::NewState(const Call& call, const Object& current) {
  if (call.method == Method::kPut) return DecodeObject(call);
  auto object =
      ApplyPatch(call, decoder_, FromStored(call.resource(), *call.view.version, current.value));
  if (!object) return object;
  if (!object->is_object()) return std::unexpected(BadRequest("the patch leaves no object"));
  Value patched = *object;
  if (auto clean = Clean(call, *object, {}); !clean)
    return std::unexpected(NotAPatch(patched, clean.error()));
  if (auto fine = CheckNames(call, *object); !fine) return std::unexpected(fine.error());
  return object;
}

Outcome<void> Writer::CheckNamespace(const Call& call, const Value& object) const {
  const Resource& resource = call.resource();
  const std::string_view name = TextAt(object, "metadata", "name");
  if (resource.terminating) {
    return std::unexpected(
        Forbidden(resource.group, resource.plural, name,
                  "create not allowed while custom resource definition is terminating"));
  }
  if (!resource.namespaced) return {};
  const ObjectPtr ns = cluster_.registry().Find("", "namespaces")->objects.Find(call.ns);
  if (!ns) return std::unexpected(NotFound("", "namespaces", call.ns));
  if (!ns->deleting()) return {};
  Status status = Forbidden(
      resource.group, resource.plural, name,
      Format("unable to create new content in namespace {} because it is being terminated",
             call.ns));
  status.details.causes.push_back({"NamespaceTerminating",
                                   Format("namespace {} is being terminated", call.ns),
                                   "metadata.namespace"});
  return std::unexpected(std::move(status));
}

void Writer::SetSystemFields(const Call& call, Value& object) {
  if (call.view.version->has_status) object.erase("status");
  Value& metadata = object["metadata"];
  metadata.erase("deletionTimestamp");
  metadata.erase("deletionGracePeriodSeconds");
  metadata.insert_or_assign("uid", cluster_.NewUid());
  metadata.insert_or_assign("creationTimestamp", cluster_.Date());
  if (call.resource().has_generation) metadata.insert_or_assign("generation", 1);
  if (call.resource().rules.prepare) call.resource().rules.prepare(object, nullptr);
}

Outcome<void> Writer::Validate(const Call& call, const Value& object, const Value* old) const {
  const Resource& resource = call.resource();
  Causes causes;
  ValidateMetadata(object, old, resource.rules.name_problems, causes);
  if (TextAt(object, "kind") != resource.kind) {
    causes.push_back(
        InvalidValue("kind", Value(TextAt(object, "kind")), "must be " + resource.kind));
  }
  const Version& stored = resource.stored();
  if (const auto given = TextAt(object, "apiVersion"); given != stored.api_version)
    causes.push_back(InvalidValue("apiVersion", Value(given), "must be " + stored.api_version));
  if (resource.custom && stored.schema) {
    if (call.subresource == "status") {
      stored.schema->ValidateStatus(object, old, causes);
    } else {
      stored.schema->Validate(object, old, causes);
    }
  }
  if (resource.rules.validate) resource.rules.validate(object, old, causes);
  if (!old && call.view.version->validate_new) call.view.version->validate_new(object, causes);
  if (causes.empty()) return {};
  return std::unexpected(InvalidHere(call, object, std::move(causes)));
}

async::Task<Response> Writer::Create(Call call) {
  auto object = DecodeObject(call);
  if (!object) co_return Answer(object.error());
  if (auto fine = CheckNamespace(call, *object); !fine) co_return Answer(fine.error());
  if (admission_.Wants(call, "CREATE", true)) {
    object = co_await admission_.Mutate(call, {"CREATE", *object, Value::null(), Value::Object()});
    if (!object) co_return Answer(object.error());
    if (auto clean = Clean(call, *object, {}); !clean)
      co_return Answer(InternalError(clean.error()));
  }
  if (!TextAt(*object, "metadata", "resourceVersion").empty())
    co_return Answer(Unexpected("resourceVersion should not be set on objects to be created"));
  Value stored = ToStored(call.view, std::move(*object));
  SetSystemFields(call, stored);
  const std::string prefix(TextAt(stored, "metadata", "generateName"));
  const bool generated = TextAt(stored, "metadata", "name").empty() && !prefix.empty();
  if (generated) stored["metadata"].insert_or_assign("name", prefix + cluster_.NewSuffix());
  if (auto fine = Validate(call, stored, nullptr); !fine) co_return Answer(fine.error());
  if (admission_.Wants(call, "CREATE", false)) {
    const auto allowed =
        co_await admission_.Validate(call, ReviewOf(call, "CREATE", &stored, nullptr));
    if (!allowed) co_return Answer(allowed.error());
  }
  co_return CommitCreate(std::move(call), std::move(stored), generated);
}

Response Writer::CommitCreate(Call call, Value object, bool generated) {
  Resource& resource = *call.view.resource;
  if (resource.gone) return NoSuchPage();
  // Much may have happened while webhooks were asked.
  if (auto fine = CheckNamespace(call, object); !fine) return Answer(fine.error());
  call.name = TextAt(object, "metadata", "name");
  for (int i = 1; generated && i < kMostNames && resource.objects.Find(call.key()); ++i) {
    call.name = std::string(TextAt(object, "metadata", "generateName")) + cluster_.NewSuffix();
    object["metadata"].insert_or_assign("name", call.name);
  }
  const std::string key = call.key();
  if (const ObjectPtr there = resource.objects.Find(key)) {
    Status status = AlreadyExists(resource.group, resource.plural, call.name);
    if (there->deleting()) status.message = "object is being deleted: " + status.message;
    return Answer(status);
  }
  if (call.dry_run) return Show(call, 201, Object(std::move(object)));
  return Show(call, 201, *cluster_.Put(resource, key, std::move(object)));
}

async::Task<Response> Writer::Update(Call call) {
  if (call.method == Method::kPatch && call.content_type == kApply) co_return Answer(NoApply());
  const std::string key = call.key();
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    if (call.resource().gone) co_return NoSuchPage();
    const ObjectPtr current = call.resource().objects.Find(key);
    if (!current) {
      const bool creates = call.method == Method::kPut && call.resource().create_on_update;
      if (!creates) co_return Answer(NotFoundHere(call));
      co_return co_await Create(std::move(call));
    }
    auto object = NewState(call, *current);
    if (!object) co_return Answer(object.error());
    if (admission_.Wants(call, "UPDATE", true)) {
      Review review = ReviewOf(call, "UPDATE", nullptr, current.get());
      review.object = std::move(*object);
      object = co_await admission_.Mutate(call, std::move(review));
      if (!object) co_return Answer(object.error());
      if (auto clean = Clean(call, *object, {}); !clean)
        co_return Answer(InternalError(clean.error()));
    }
    Value stored = ToStored(call.view, std::move(*object));
    if (auto fine = CheckPreconditions(call, *current, stored); !fine)
      co_return Answer(fine.error());
    Prepare(call, *current, stored);
    if (auto fine = Validate(call, stored, &current->value); !fine) co_return Answer(fine.error());
    if (admission_.Wants(call, "UPDATE", false)) {
      const auto allowed =
          co_await admission_.Validate(call, ReviewOf(call, "UPDATE", &stored, current.get()));
      if (!allowed) co_return Answer(allowed.error());
    }
    // Changed while webhooks were asked: what the call means has to be worked out anew.
    if (call.resource().objects.Find(key) != current) continue;
    co_return CommitUpdate(call, current, std::move(stored));
  }
  co_return Answer(ConflictHere(call, kModified));
}

Response Writer::CommitUpdate(const Call& call, const ObjectPtr& current, Value object) {
  Resource& resource = *call.view.resource;
  if (object == current->value) return Show(call, 200, *current);
  const bool last_finalizer_gone = current->deleting() && !resource.rules.begin_deletion &&
                                   !Find(object, "metadata", "finalizers") &&
                                   IntAt(object, "metadata", "deletionGracePeriodSeconds") == 0;
  if (call.dry_run) return Show(call, 200, Object(std::move(object)));
  const std::string key = call.key();
  if (last_finalizer_gone) {
    cluster_.Remove(resource, key);
    return Show(call, 200, Object(std::move(object)));
  }
  return Show(call, 200, *cluster_.Put(resource, key, std::move(object)));
}

Outcome<Value> Writer::ReadDeleteOptions(Call& call) {
  auto options = memory::ReadDeleteOptions(call, decoder_);
  if (!options) return options;
  const Value* dry_run = Find(*options, "dryRun");
  call.dry_run = call.dry_run || (dry_run && dry_run->is_array() && !dry_run->empty());
  return options;
}

Response Writer::CommitDelete(const Call& call, const Object& current, const Value& options) {
  Resource& resource = *call.view.resource;
  const std::string key = call.key();
  const auto [marked, ends] = MarkDeleted(resource, current, options, cluster_.UnixNow());
  if (marked && !ends) {
    if (*marked == current.value) return Show(call, 200, current);
    if (call.dry_run) return Show(call, 200, Object(*marked));
    return Show(call, 200, *cluster_.Put(resource, key, *marked));
  }
  auto last = std::make_shared<const Object>(marked ? *marked : current.value);
  if (!call.dry_run) {
    if (marked && *marked != current.value) cluster_.Put(resource, key, *marked);
    last = cluster_.Remove(resource, key);
  }
  if (resource.returns_deleted) return Show(call, 200, *last);
  StatusDetails details;
  details.name = call.name;
  details.group = resource.group;
  details.kind = resource.plural;
  details.uid = current.uid();
  return Answer(Success(std::move(details)));
}

async::Task<Response> Writer::DeleteOne(Call call, Value options) {
  const std::string key = call.key();
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    if (call.resource().gone) co_return NoSuchPage();
    const ObjectPtr current = call.resource().objects.Find(key);
    if (!current) co_return Answer(NotFoundHere(call));
    if (auto fine = CheckDeletion(call, *current, options); !fine) co_return Answer(fine.error());
    if (admission_.Wants(call, "DELETE", true) || admission_.Wants(call, "DELETE", false)) {
      Review review = ReviewOf(call, "DELETE", nullptr, current.get());
      review.delete_options = options;
      const auto mutated = co_await admission_.Mutate(call, review);
      if (!mutated) co_return Answer(mutated.error());
      const auto allowed = co_await admission_.Validate(call, std::move(review));
      if (!allowed) co_return Answer(allowed.error());
    }
    if (call.resource().objects.Find(key) != current) continue;
    co_return CommitDelete(call, *current, options);
  }
  co_return Answer(ConflictHere(call, kModified));
}

async::Task<Response> Writer::Delete(Call call) {
  auto options = ReadDeleteOptions(call);
  if (!options) co_return Answer(options.error());
  co_return co_await DeleteOne(std::move(call), std::move(*options));
}

async::Task<Response> Writer::DeleteCollection(Call call) {
  auto options = ReadDeleteOptions(call);
  if (!options) co_return Answer(options.error());
  auto listed = List(cluster_, call);
  if (!listed) co_return std::move(listed.error());
  for (const ObjectPtr& object : listed->objects) {
    Call one = call;
    one.ns = object->ns();
    one.name = object->name();
    Response response = co_await DeleteOne(std::move(one), *options);
    // An object that is gone already is no failure.
    if (response.code >= 300 && response.code != 404) co_return response;
  }
  co_return std::move(listed->response);
}

}  // namespace berth::kube::memory
