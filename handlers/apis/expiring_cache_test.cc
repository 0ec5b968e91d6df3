#include "handlers/apis/expiring_cache.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>

namespace berth::apis {
namespace {

using namespace std::chrono_literals;
using Cache = ExpiringCache<int>;
constexpr Cache::Clock::time_point kStart{1000s};

TEST(ExpiringCache, KeepsAnAnswerForItsLifetime) {
  Cache cache(4, 10s);
  EXPECT_EQ(cache.Get("a", kStart), std::nullopt);
  cache.Put("a", 1, kStart);
  EXPECT_EQ(cache.Get("a", kStart), 1);
  EXPECT_EQ(cache.Get("a", kStart + 9999ms), 1);
  EXPECT_EQ(cache.Get("a", kStart + 10s), std::nullopt);
  EXPECT_EQ(cache.Get("b", kStart), std::nullopt);
}

TEST(ExpiringCache, ALaterAnswerReplacesAndRenews) {
  Cache cache(4, 10s);
  cache.Put("a", 1, kStart);
  cache.Put("a", 2, kStart + 9s);
  EXPECT_EQ(cache.Get("a", kStart + 18s), 2);
  EXPECT_EQ(cache.size(), 1u);
}

TEST(ExpiringCache, MakesRoomFromTheExpiredFirst) {
  Cache cache(3, 10s);
  cache.Put("old", 1, kStart);
  cache.Put("new1", 2, kStart + 8s);
  cache.Put("new2", 3, kStart + 9s);
  cache.Put("new3", 4, kStart + 10s);
  EXPECT_EQ(cache.size(), 3u);
  for (const char* key : {"new1", "new2", "new3"}) EXPECT_TRUE(cache.Get(key, kStart + 10s)) << key;
}

TEST(ExpiringCache, DropsSomethingWhenAllIsFresh) {
  Cache cache(3, 10s);
  for (int i = 0; i < 10; ++i) cache.Put(std::to_string(i), i, kStart);
  EXPECT_EQ(cache.size(), 3u);
  EXPECT_EQ(cache.Get("9", kStart), 9);
}

TEST(ExpiringCache, ReplacingInAFullCacheDropsNothing) {
  Cache cache(2, 10s);
  cache.Put("a", 1, kStart);
  cache.Put("b", 2, kStart);
  cache.Put("a", 3, kStart);
  EXPECT_EQ(cache.Get("a", kStart), 3);
  EXPECT_EQ(cache.Get("b", kStart), 2);
}

TEST(ExpiringCache, IsNeverWrongNorTooLarge) {
  EXPECT_TRUE(rc::check([] {
    Cache cache(4, 5s);
    std::map<std::string, std::pair<int, Cache::Clock::time_point>> model;
    auto now = kStart;
    for (int i = *rc::gen::inRange(0, 60); i > 0; --i) {
      now += std::chrono::seconds(*rc::gen::inRange(0, 3));
      const std::string key(1, *rc::gen::inRange('a', 'i'));
      if (*rc::gen::arbitrary<bool>()) {
        cache.Put(key, i, now);
        model[key] = {i, now + 5s};
        RC_ASSERT(cache.Get(key, now) == i);
      } else if (const auto got = cache.Get(key, now)) {
        RC_ASSERT(*got == model.at(key).first);
        RC_ASSERT(now < model.at(key).second);
      }
      RC_ASSERT(cache.size() <= 4u);
    }
  }));
}

}  // namespace
}  // namespace berth::apis
