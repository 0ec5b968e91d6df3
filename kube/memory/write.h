#pragma once

#include "async/task.h"
#include "kube/memory/admission.h"
#include "kube/memory/call.h"
#include "kube/memory/cluster.h"

namespace berth::kube::memory {

// The verbs that change objects. Each is a coroutine because admission webhooks may take their
// time; without one that matches it ends before it first waits. Whatever was read before a wait is
// checked again where it is written.
class Writer {
 public:
  Writer(Cluster& cluster, Admission& admission) : cluster_(cluster), admission_(admission) {}

  async::Task<Response> Create(Call call);
  async::Task<Response> Update(Call call);  // PUT and PATCH
  async::Task<Response> Delete(Call call);
  async::Task<Response> DeleteCollection(Call call);

 private:
  // Bodies and patches become objects of the call's version, cleaned of what its schema lacks.
  Outcome<Value> DecodeObject(const Call& call);
  Outcome<Value> NewState(const Call& call, const Object& current);

  Outcome<void> CheckNamespace(const Call& call, const Value& object) const;
  void SetSystemFields(const Call& call, Value& object);
  Outcome<void> Validate(const Call& call, const Value& object, const Value* old) const;
  Response CommitCreate(Call call, Value object, bool generated);
  Response CommitUpdate(const Call& call, const ObjectPtr& current, Value object);
  Response CommitDelete(const Call& call, const Object& current, const Value& options);
  Outcome<Value> ReadDeleteOptions(Call& call);
  async::Task<Response> DeleteOne(Call call, Value options);
  Response Show(const Call& call, int code, const Object& object) const;

  Cluster& cluster_;
  Admission& admission_;
  Decoder decoder_;
};

}  // namespace berth::kube::memory
