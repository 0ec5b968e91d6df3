#include "cloud/aliyun/credential_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "async/test_executor.h"
#include "cloud/aliyun/role_credentials.h"
#include "cloud/aliyun/test_cloud.h"
#include "http/temp_folder_test.h"

namespace berth::cloud::aliyun {
namespace {

using testing::HasSubstr;
using testing::Not;

class CredentialSourceTest : public testing::Test {
 protected:
  Result<std::unique_ptr<Credentials>> Open(std::filesystem::path folder = {}) {
    return OpenCredentials(executor_, transport_, nullptr,
                           {.folder = std::move(folder),
                            .sts_endpoint = "https://sts.test",
                            .environment = [this](const char* name) { return variables_[name]; }});
  }
  static Result<Credential> Get(Credentials& credentials) {
    return Pending<Result<Credential>>(credentials.Get()).value();
  }

  const std::map<std::string, std::string> key_{{"ALIBABA_CLOUD_ACCESS_KEY_ID", "id"},
                                                {"ALIBABA_CLOUD_ACCESS_KEY_SECRET", "hush"}};
  std::map<std::string, std::string> variables_;
  TempFolder folder_;
  async::TestExecutor executor_;
  ScriptedTransport transport_;
};

TEST_F(CredentialSourceTest, AFolderComesFirst) {
  variables_ = key_;
  folder_.Write("accessKeyID", "from-folder");
  folder_.Write("accessKeySecret", "s");
  const auto credentials = Open(folder_.path());
  ASSERT_TRUE(credentials);
  EXPECT_EQ(Get(**credentials)->key_id, "from-folder");
}

TEST_F(CredentialSourceTest, AKeyOfTheEnvironment) {
  variables_ = key_;
  EXPECT_EQ(Get(**Open()), (Credential{"id", "hush", ""}));
  variables_["ALIBABA_CLOUD_SECURITY_TOKEN"] = "token";
  EXPECT_EQ(Get(**Open()), (Credential{"id", "hush", "token"}));
}

TEST_F(CredentialSourceTest, ARoleOfTheEnvironment) {
  variables_ = {{"ALIBABA_CLOUD_ROLE_ARN", "role"},
                {"ALIBABA_CLOUD_OIDC_PROVIDER_ARN", "provider"},
                {"ALIBABA_CLOUD_OIDC_TOKEN_FILE", folder_.Write("token", "jwt")},
                {"ALIBABA_CLOUD_ROLE_SESSION_NAME", "session"}};
  const auto credentials = Open();
  ASSERT_TRUE(credentials);
  const Pending<Result<Credential>> call((*credentials)->Get());
  EXPECT_TRUE(transport_.last().request.url.starts_with("https://sts.test/?"));
  Parameters form = ParseQuery(transport_.last().request.body);
  EXPECT_EQ(form["RoleArn"], "role");
  EXPECT_EQ(form["OIDCProviderArn"], "provider");
  EXPECT_EQ(form["OIDCToken"], "jwt");
  EXPECT_EQ(form["RoleSessionName"], "session");
}

TEST_F(CredentialSourceTest, NoneIsAnErrorThatNamesWhatIsMissing) {
  variables_["ALIBABA_CLOUD_ACCESS_KEY_SECRET"] = "hush";
  variables_["ALIBABA_CLOUD_ROLE_ARN"] = "role";
  const auto credentials = Open();
  ASSERT_FALSE(credentials);
  EXPECT_EQ(credentials.error().error_class, ErrorClass::kTerminal);
  EXPECT_THAT(credentials.error().message, HasSubstr("ALIBABA_CLOUD_ACCESS_KEY_ID"));
  EXPECT_THAT(credentials.error().message, Not(HasSubstr("hush")));
}

}  // namespace
}  // namespace berth::cloud::aliyun
