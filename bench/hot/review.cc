// A review judged and answered, from the body of the request to the body of the answer: a
// SubnetPool that needs no other object, and a SubnetClaim that gets a block reserved.
//
//   bench_hot_review POOL_REVIEW CLAIM_REVIEW     files, as in bench/webhook
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "bench/hot/count.h"
#include "handlers/test_cluster.h"

namespace {

using namespace berth;

constexpr int kReviews = 1'000;
constexpr int kClaims = 100;  // in each round; a pool keeps at most 256 blocks reserved
constexpr const char* kNumber = "000000000000";  // in the claim's review, in place of its number

std::string Read(const char* path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  hot::Require(!text.view().empty(), path);
  return text.str();
}

std::string Numbered(std::string review, int number) {
  std::string digits = std::to_string(number);
  digits.insert(0, std::string_view(kNumber).size() - digits.size(), '0');
  for (std::size_t at = 0; (at = review.find(kNumber, at)) != std::string::npos;)
    review.replace(at, digits.size(), digits);
  return review;
}

// Every one is allowed, with `wanted` in its answer.
void Judge(TestCluster& cluster, const char* path, const std::vector<std::string>& reviews,
           std::string_view wanted) {
  std::size_t good = 0;
  for (const std::string& review : reviews) {
    cluster.webhooks.Review(path, review, cluster.executor, [&](auto answer) {
      good += answer && answer->contains(R"("allowed":true)") && answer->contains(wanted) ? 1 : 0;
    });
    cluster.executor.RunUntilIdle();
  }
  hot::Require(good == reviews.size(), "not every review was answered as it should be");
}

}  // namespace

int main(int argc, char** argv) {
  hot::Require(argc == 3, "usage: bench_hot_review POOL_REVIEW CLAIM_REVIEW");
  TestCluster cluster;
  hot::Require(cluster.system->leading(), "the cluster does not lead");
  hot::Require(cluster.Create("subnetpools", "bench", R"({"cidr":"10.0.0.0/8"})").code == 201,
               "the pool was not made");

  const std::vector<std::string> pools(kReviews, Read(argv[1]));
  hot::Count("review_pool", kReviews,
             [&] { Judge(cluster, "/validate/plexaubnet.io/subnetpools", pools, ""); });

  const std::string claim = Read(argv[2]);
  std::vector<std::string> claims[2];
  for (int i = 0; i < 2 * kClaims; ++i) claims[i / kClaims].push_back(Numbered(claim, i + 1));
  int round = 0;
  hot::Count("review_claim", kClaims, [&] {
    Judge(cluster, "/mutate/plexaubnet.io/subnetclaims", claims[round++], R"("patch":")");
  });
}
