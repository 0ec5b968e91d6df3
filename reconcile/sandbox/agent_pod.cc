#include "reconcile/sandbox/agent_pod.h"

#include <array>
#include <string>
#include <string_view>

#include "log/format.h"

namespace berth::sandbox {
namespace {

constexpr std::string_view kInfraDir = "/opt/fast-sandbox/infra";
// The helper through which agents run sandboxes.
constexpr std::string_view kInfraInit =
    "cat <<'EOF' > /opt/fast-sandbox/infra/fs-helper\n"
    "#!/bin/sh\n"
    "echo [FS-INFRA] Helper Initiated\n"
    "exec \"$@\"\n"
    "EOF\n"
    "chmod +x /opt/fast-sandbox/infra/fs-helper";

struct HostPath {
  std::string_view name;
  std::string_view path;
};
constexpr std::array kHostPaths = {HostPath{"containerd-run", "/run/containerd"},
                                   HostPath{"containerd-root", "/var/lib/containerd"},
                                   HostPath{"tmp", "/tmp"}};

// The array that is a member of the object; an empty one if it is none yet.
Json& ArrayIn(Json& object, std::string_view name) {
  Json& member = object[name];
  if (!member.is_array()) member = Json::Array();
  return member;
}

Json& ObjectIn(Json& object, std::string_view name) {
  Json& member = object[name];
  if (!member.is_object()) member = Json::Object();
  return member;
}

// Puts an entry into a list whose entries have names, in the place of the one of this name.
void PutNamed(Json& list, Json entry) {
  for (Json& each : list.array_range()) {
    if (each["name"] == entry["name"]) {
      each = std::move(entry);
      return;
    }
  }
  list.push_back(std::move(entry));
}

void PutEnv(Json& list, std::string_view name, Json value) {
  Json env;
  env["name"] = name;
  env["value"] = std::move(value);
  PutNamed(list, std::move(env));
}

void PutFieldEnv(Json& list, std::string_view name, std::string_view path) {
  Json env;
  env["name"] = name;
  env["valueFrom"]["fieldRef"]["fieldPath"] = path;
  PutNamed(list, std::move(env));
}

void PutResourceEnv(Json& list, std::string_view name, const Json& container,
                    std::string_view resource) {
  Json env;
  env["name"] = name;
  Json& reference = ObjectIn(ObjectIn(env, "valueFrom"), "resourceFieldRef");
  reference["containerName"] = container;
  reference["resource"] = resource;
  PutNamed(list, std::move(env));
}

Json Mount(std::string_view name, std::string_view path) {
  Json mount;
  mount["name"] = name;
  mount["mountPath"] = path;
  return mount;
}

void FillAgent(Json& agent, const Pool& pool) {
  ObjectIn(agent, "securityContext")["privileged"] = true;
  const Json name = agent["name"];
  Json& env = ArrayIn(agent, "env");
  PutFieldEnv(env, "NODE_NAME", "spec.nodeName");
  PutFieldEnv(env, "POD_NAME", "metadata.name");
  PutFieldEnv(env, "POD_IP", "status.podIP");
  PutFieldEnv(env, "POD_UID", "metadata.uid");
  PutFieldEnv(env, "NAMESPACE", "metadata.namespace");
  PutResourceEnv(env, "CPU_LIMIT", name, "limits.cpu");
  PutResourceEnv(env, "MEMORY_LIMIT", name, "limits.memory");
  PutEnv(env, "AGENT_CAPACITY", std::to_string(pool.slots_per_pod));
  PutEnv(env, "RUNTIME_TYPE", pool.runtime_type.empty() ? "container" : pool.runtime_type);
  PutEnv(env, "RUNTIME_SOCKET", "/run/containerd/containerd.sock");
  PutEnv(env, "INFRA_DIR_IN_POD", kInfraDir);
  Json& mounts = ArrayIn(agent, "volumeMounts");
  for (const HostPath& host : kHostPaths) PutNamed(mounts, Mount(host.name, host.path));
  PutNamed(mounts, Mount("infra-tools", kInfraDir));
}

void FillVolumes(Json& spec) {
  Json& volumes = ArrayIn(spec, "volumes");
  for (const HostPath& host : kHostPaths) {
    Json volume;
    volume["name"] = host.name;
    volume["hostPath"]["path"] = host.path;
    volume["hostPath"]["type"] = "Directory";
    PutNamed(volumes, std::move(volume));
  }
  Json tools;
  tools["name"] = "infra-tools";
  tools["emptyDir"] = Json::Object();
  PutNamed(volumes, std::move(tools));
}

Json InfraInit() {
  Json init;
  init["name"] = "infra-init";
  init["image"] = "alpine:latest";
  init["imagePullPolicy"] = "IfNotPresent";
  Json command = Json::Array();
  for (const std::string_view word : {std::string_view("sh"), std::string_view("-c"), kInfraInit}) {
    command.push_back(word);
  }
  init["command"] = std::move(command);
  Json mounts = Json::Array();
  mounts.push_back(Mount("infra-tools", kInfraDir));
  init["volumeMounts"] = std::move(mounts);
  return init;
}

Json OwnerOf(const Pool& pool) {
  Json owner;
  owner["apiVersion"] = Format("{}/{}", kPools.group, kPools.version);
  owner["kind"] = kPools.kind;
  owner["name"] = pool.id.name;
  owner["uid"] = pool.id.uid;
  owner["controller"] = true;
  owner["blockOwnerDeletion"] = true;
  return owner;
}

}  // namespace

Json AgentPodOf(const Pool& pool) {
  Json pod;
  pod["apiVersion"] = "v1";
  pod["kind"] = "Pod";
  Json& metadata = ObjectIn(pod, "metadata");
  metadata["generateName"] = pool.id.name + "-agent-";
  metadata["namespace"] = pool.id.ns;
  const Json& given = pool.agent_template["metadata"];
  if (given["annotations"].is_object() && !given["annotations"].empty()) {
    metadata["annotations"] = given["annotations"];
  }
  Json labels = given["labels"].is_object() ? given["labels"] : Json::Object();
  labels[kPoolLabel] = pool.id.name;
  labels[kAppLabel] = kAgentApp;
  metadata["labels"] = std::move(labels);
  Json owners = Json::Array();
  owners.push_back(OwnerOf(pool));
  metadata["ownerReferences"] = std::move(owners);
  const Json* of_template = pool.agent_template.find("spec");
  Json spec = of_template && of_template->is_object() ? *of_template : Json::Object();
  spec["hostNetwork"] = false;
  spec["hostPID"] = false;
  Json& containers = ArrayIn(spec, "containers");
  if (!containers.empty()) FillAgent(containers[0], pool);
  PutNamed(ArrayIn(spec, "initContainers"), InfraInit());
  FillVolumes(spec);
  pod["spec"] = std::move(spec);
  return pod;
}

}  // namespace berth::sandbox
