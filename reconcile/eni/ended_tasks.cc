#include "reconcile/eni/ended_tasks.h"

#include <utility>

namespace berth::eni {

std::vector<std::string> EndedTasks::Add(Task task, async::TimePoint now) {
  std::vector<std::string> dropped;
  while (order_.size() >= most_) DropFirst(dropped);
  task.result.reset();
  order_.push_back({now, task.id()});
  std::string eni = task.eni;
  tasks_.insert_or_assign(std::move(eni), std::move(task));
  return dropped;
}

std::vector<std::string> EndedTasks::Expire(async::TimePoint now) {
  std::vector<std::string> dropped;
  while (!order_.empty() && now - order_.front().at >= shown_) DropFirst(dropped);
  return dropped;
}

const Task* EndedTasks::Find(const std::string& eni) const {
  const auto found = tasks_.find(eni);
  return found == tasks_.end() ? nullptr : &found->second;
}

void EndedTasks::DropFirst(std::vector<std::string>& dropped) {
  const TaskId id = std::move(order_.front().id);
  order_.pop_front();
  const auto found = tasks_.find(id.eni);
  if (found == tasks_.end() || found->second.generation != id.generation) return;
  tasks_.erase(found);
  dropped.push_back(id.eni);
}

}  // namespace berth::eni
