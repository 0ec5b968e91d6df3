#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace berth::sandbox {

class RankedAgents;

// An agent that can be in several rankings at once; it knows its place in each.
struct RankedAgent {
  struct Place {
    RankedAgents* ranking;
    std::uint32_t rank;
    std::uint32_t index;
  };
  std::vector<Place> places;
};

// Agents in the order of a small number, the slots that they have taken. It does not own them; an
// agent leaves its rankings before it ends. Enter, Leave and Move are O(1), the visit is O(ranks)
// and the agents visited.
class RankedAgents {
 public:
  void Enter(RankedAgent& agent, std::size_t rank) {
    if (ranks_.size() <= rank) ranks_.resize(rank + 1);
    const auto place = static_cast<std::uint32_t>(agent.places.size());
    agent.places.push_back(
        {this, static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(ranks_[rank].size())});
    ranks_[rank].push_back({&agent, place});
    ++size_;
  }

  // Out of all its rankings. O(rankings).
  static void LeaveAll(RankedAgent& agent) {
    for (const RankedAgent::Place& place : agent.places) place.ranking->Take(place);
    agent.places.clear();
  }

  // To another rank in all its rankings. O(rankings).
  static void MoveAll(RankedAgent& agent, std::size_t rank) {
    for (std::uint32_t i = 0; i < agent.places.size(); ++i) {
      RankedAgent::Place& place = agent.places[i];
      RankedAgents& ranking = *place.ranking;
      ranking.Take(place);
      if (ranking.ranks_.size() <= rank) ranking.ranks_.resize(rank + 1);
      place.rank = static_cast<std::uint32_t>(rank);
      place.index = static_cast<std::uint32_t>(ranking.ranks_[rank].size());
      ranking.ranks_[rank].push_back({&agent, i});
      ++ranking.size_;
    }
  }

  // The first agent that `suits`, lower ranks first; null for none.
  template <typename Suits>
  RankedAgent* FindFirst(Suits&& suits) const {
    for (const auto& rank : ranks_) {
      for (const Entry& entry : rank) {
        if (suits(*entry.agent)) return entry.agent;
      }
    }
    return nullptr;
  }

  std::size_t size() const { return size_; }

 private:
  struct Entry {
    RankedAgent* agent;
    std::uint32_t place;  // the index in its places
  };

  void Take(const RankedAgent::Place& place) {
    std::vector<Entry>& rank = ranks_[place.rank];
    rank[place.index] = rank.back();
    rank[place.index].agent->places[rank[place.index].place].index = place.index;
    rank.pop_back();
    --size_;
  }

  std::vector<std::vector<Entry>> ranks_;
  std::size_t size_ = 0;
};

}  // namespace berth::sandbox
