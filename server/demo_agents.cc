#include "server/demo_agents.h"

#include <utility>

namespace berth::server {

namespace simulator = cloud::simulator::agent;

DemoAgents::DemoAgents(async::Executor& executor)
    : executor_(executor),
      agents_({.seed = executor.Random()}),
      weather_(executor, {}),
      network_(agents_, executor, weather_),
      transport_(network_, executor),
      self_(std::make_shared<DemoAgents*>(this)) {}

DemoAgents::~DemoAgents() { *self_ = nullptr; }

void DemoAgents::Follow(memory::AgentPods& pods) {
  pods.Start([&executor = executor_, self = self_](memory::AgentPods::Change change) {
    executor.Post([self, change = std::move(change)] {
      if (*self) (*self)->Notice(change);
    });
  });
}

void DemoAgents::Notice(const memory::AgentPods::Change& change) {
  agents_.Settle(executor_.WallNow());
  if (change.gone) {
    agents_.Remove(change.ip);
  } else {
    agents_.Put(
        change.ip,
        {.name = change.name, .uid = change.uid, .node = change.node, .capacity = change.capacity});
  }
  network_.Settle();
}

}  // namespace berth::server
