#include "cloud/aliyun/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/test_executor.h"
#include "cloud/aliyun/test_cloud.h"
#include "http/file.h"
#include "http/temp_folder_test.h"

namespace berth::cloud::aliyun {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

class FolderCredentialsTest : public testing::Test {
 protected:
  Result<Credential> Get() { return Pending<Result<Credential>>(credentials_.Get()).value(); }
  void WriteKey(std::string_view id, std::string_view secret) const {
    folder_.Write("accessKeyID", id);
    folder_.Write("accessKeySecret", secret);
  }

  TempFolder folder_;
  async::TestExecutor executor_;
  FolderCredentials credentials_{executor_, folder_.path()};
};

TEST_F(FolderCredentialsTest, AreReadFromTheirFiles) {
  WriteKey("id-1\n", " secret-1");
  EXPECT_EQ(Get(), (Credential{"id-1", "secret-1", ""}));
}

TEST_F(FolderCredentialsTest, ATokenIsReadToo) {
  WriteKey("id-1", "secret-1");
  folder_.Write("securityToken", "token-1\n");
  EXPECT_EQ(Get(), (Credential{"id-1", "secret-1", "token-1"}));
}

TEST_F(FolderCredentialsTest, TheSecretOfTheOperatorBeforeIsRead) {
  folder_.Write("ctrl-secret.yaml", "accessKeyID: \"id-1\"\naccessKeySecret: secret-1 # old\n");
  EXPECT_EQ(Get(), (Credential{"id-1", "secret-1", ""}));
}

TEST_F(FolderCredentialsTest, AreReadAgainAfterAWhile) {
  WriteKey("id-1", "secret-1");
  ASSERT_TRUE(Get());
  WriteKey("id-2", "secret-2");
  executor_.Advance(FolderCredentials::kFresh - 1ms);
  EXPECT_EQ(Get()->key_id, "id-1");
  executor_.Advance(1ms);
  EXPECT_EQ(Get(), (Credential{"id-2", "secret-2", ""}));
}

TEST_F(FolderCredentialsTest, AreReadAgainAtOnceAfterARefusal) {
  WriteKey("id-1", "secret-1");
  const Credential old = *Get();
  WriteKey("id-2", "secret-2");
  credentials_.Refused(old);
  EXPECT_EQ(Get()->key_id, "id-2");
  WriteKey("id-3", "secret-3");
  credentials_.Refused(old);  // was in flight: no news
  EXPECT_EQ(Get()->key_id, "id-2");
}

TEST_F(FolderCredentialsTest, TheLastOneStandsWhileThereIsNone) {
  WriteKey("id-1", "secret-1");
  ASSERT_TRUE(Get());
  for (const std::string_view broken : {"", "two words", "line\nbreak", "\x01", "sécret"}) {
    WriteKey("id-2", broken);
    executor_.Advance(FolderCredentials::kFresh);
    EXPECT_EQ(Get(), (Credential{"id-1", "secret-1", ""}));
  }
  std::filesystem::remove(folder_.path() / "accessKeySecret");
  executor_.Advance(FolderCredentials::kFresh);
  EXPECT_EQ(Get()->secret, "secret-1");
}

TEST_F(FolderCredentialsTest, WithoutAnyTheErrorNamesTheFolder) {
  const auto none = Get();
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().error_class, ErrorClass::kRetry);
  EXPECT_THAT(none.error().message, HasSubstr(folder_.path().string()));
  WriteKey("id-1", "secret-1");
  executor_.Advance(FolderCredentials::kFresh);
  EXPECT_TRUE(Get());
}

TEST_F(FolderCredentialsTest, NothingIsToldOfWhatCannotBeRead) {
  testing::internal::CaptureStderr();
  std::string seen;
  for (const std::string_view yaml :
       {"accessKeyID: [hush", "hush", "- hush", "accessKeyID: {a: hush}", "accessKeyID: hush",
        "accessKeyID: &a [*a, hush]", "accessKeyID: hush\naccessKeySecret: hush hush"}) {
    folder_.Write("ctrl-secret.yaml", yaml);
    const auto outcome = Get();
    ASSERT_FALSE(outcome) << yaml;
    seen += outcome.error().message;
    executor_.Advance(FolderCredentials::kFresh);
  }
  WriteKey("id-hush", "secret-hush");
  EXPECT_TRUE(Get());
  seen += testing::internal::GetCapturedStderr();
  EXPECT_THAT(seen, HasSubstr("there is no access key"));
  EXPECT_THAT(seen, Not(HasSubstr("hush")));
}

// As the kubelet does it: the files are links through "..data", which is swapped.
TEST_F(FolderCredentialsTest, AMountedSecretIsReadAtOneTime) {
  namespace fs = std::filesystem;
  folder_.Write("..1/accessKeyID", "id-1");
  folder_.Write("..1/accessKeySecret", "secret-1");
  folder_.Write("..2/accessKeyID", "id-2");
  folder_.Write("..2/accessKeySecret", "secret-2");
  fs::create_directory_symlink("..1", folder_.path() / "..data");
  // The visible files say otherwise, as if the swap came between two reads.
  fs::create_symlink("..1/accessKeyID", folder_.path() / "accessKeyID");
  fs::create_symlink("..2/accessKeySecret", folder_.path() / "accessKeySecret");
  EXPECT_EQ(Get(), (Credential{"id-1", "secret-1", ""}));
  fs::remove(folder_.path() / "..data");
  fs::create_directory_symlink("..2", folder_.path() / "..data");
  executor_.Advance(FolderCredentials::kFresh);
  EXPECT_EQ(Get(), (Credential{"id-2", "secret-2", ""}));
}

TEST(SecretFileTest, IsBounded) {
  const TempFolder folder;
  EXPECT_EQ(ReadSecretFile(folder.Write("most", std::string(kMaxSecretFile, 'x'))).size(),
            kMaxSecretFile);
  EXPECT_EQ(ReadSecretFile(folder.Write("more", std::string(kMaxSecretFile + 1, 'x'))), "");
  EXPECT_EQ(ReadSecretFile(folder.path()), "");
  EXPECT_EQ(ReadSecretFile(folder.path() / "none"), "");
}

}  // namespace
}  // namespace berth::cloud::aliyun
