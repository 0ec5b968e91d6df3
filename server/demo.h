#pragma once

#include <memory>
#include <string>

#include "handlers/admission/webhooks.h"
#include "handlers/apis/api_server.h"
#include "handlers/memory/agent_pods.h"
#include "handlers/memory/eni_daemon.h"
#include "handlers/memory/front.h"
#include "handlers/memory/server_thread.h"
#include "server/agent_access.h"
#include "server/aliyun_account.h"
#include "server/azure_account.h"
#include "server/directory_lock.h"
#include "server/held_port.h"
#include "server/http_server.h"
#include "server/options.h"
#include "systems/systems.h"

namespace berth::server {

// The demo's addition to the ordinary server: an API server in memory, with Berth's CRDs and
// three nodes in it, behind a listener of its own, so that kubectl and Berth find a cluster where
// there is none, and a simulated cloud in the process. Pods seem to run on the nodes, some with
// addresses of their ENIs. The server
// calls Berth's webhooks and serves Berth's API as part of its own, both in the process. Nothing of
// it outlives the process but a few files in the state directory: certificates, and the credentials
// of the last run.
class Demo {
 public:
  // Takes the state directory and the port, makes the files, fills the API server. The error says
  // which of it failed.
  static kube::Result<std::unique_ptr<Demo>> Make(const DemoOptions& options);

  // The options of the ordinary server: all on loopback, the kubeconfig that was made.
  const Options& serve_options() const { return serve_; }

  // Writes the files of the systems that are switched on.
  kube::Result<void> WriteFilesOf(const systems::Systems& systems) const;
  // An account in a simulated cloud, whose thread is the executor's, with all that the systems that
  // are switched on need there.
  std::unique_ptr<AliyunAccount> OpenAccount(async::Executor& executor,
                                             cloud::CallObserver* observer,
                                             const systems::Systems& systems) const;
  std::unique_ptr<AzureAccount> OpenAzure(async::Executor& executor, cloud::CallObserver* observer,
                                          const systems::Systems& systems) const;
  // The way to agents that this process plays, one in each pod that is labelled as one.
  std::unique_ptr<AgentAccess> OpenAgents(async::Executor& executor, cloud::CallObserver* observer);
  // The listener in front of the API server. Once; both arguments outlive Stop().
  Listener Attach(apis::ApiServer& api, const admission::Webhooks& webhooks);
  // Says on standard output how to talk to it and to the systems that are switched on.
  void Announce(const systems::Systems& systems) const;

  // As of Front; after Attach.
  void Forget(const trantor::TcpConnection* connection) { front_->Forget(connection); }
  void CloseWatches() { front_->CloseWatches(); }
  // Ends the API server. Before the I/O threads end: its answers go through them.
  void Stop() { server_.Stop(); }

 private:
  Demo(const DemoOptions& options, HeldPort port, DirectoryLock lock);

  kube::Result<void> WriteFiles();
  kube::Result<void> Fill();
  kube::Result<void> FillNodes();
  kube::Result<void> FillFrontProxy();
  kube::Result<void> Create(const std::string& path, const Json& object);
  std::string Url() const;

  HeldPort port_;
  DirectoryLock lock_;  // of the state directory
  std::string token_;
  Options serve_;
  memory::EniDaemon eni_daemon_;
  memory::ServerThread server_{memory::ServerThread::Server::MachineryOptions{}};
  memory::AgentPods agent_pods_{server_};
  std::unique_ptr<memory::Front> front_;
};

}  // namespace berth::server
