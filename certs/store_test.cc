#include "certs/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "http/temp_folder_test.h"

namespace berth::certs {
namespace {

using namespace std::chrono_literals;
using std::chrono::system_clock;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

class StoreTest : public testing::Test {
 protected:
  KeyPair Load(system_clock::duration later = 0s) {
    auto pair = LoadOrMakeServing(dir_, names_, system_clock::now() + later);
    EXPECT_TRUE(pair) << pair.error().message;
    return pair.value_or(KeyPair());
  }

  std::string Read(const char* name) {
    std::ifstream in(dir_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void Write(const char* name, std::string_view content) {
    std::ofstream(dir_ / name, std::ios::binary) << content;
  }
  unsigned Mode(const std::filesystem::path& path) {
    struct stat info = {};
    EXPECT_EQ(::stat(path.c_str(), &info), 0);
    return info.st_mode & 0777;
  }

  const TempFolder root_;
  const std::filesystem::path dir_ = root_.path() / "a" / "b";
  ServingNames names_{{"berth.kube-system.svc"}, {"127.0.0.1"}};
};

TEST_F(StoreTest, MakesAndKeepsAPair) {
  const KeyPair pair = Load();
  EXPECT_EQ(Read("tls.crt"), pair.cert_pem);
  EXPECT_EQ(Read("tls.key"), pair.key_pem);
  EXPECT_TRUE(CheckPair(Read("ca.crt"), Read("ca.key")));
  EXPECT_TRUE(CheckServes(Read("ca.crt"), pair.cert_pem, names_));
  const KeyPair again = Load();
  EXPECT_EQ(again.cert_pem, pair.cert_pem);
  EXPECT_EQ(again.key_pem, pair.key_pem);
}

TEST_F(StoreTest, KeysAreForTheOwnerAndNothingIsLeftBehind) {
  Load();
  EXPECT_EQ(Mode(dir_), 0700u);
  EXPECT_EQ(Mode(dir_ / "ca.key"), 0600u);
  EXPECT_EQ(Mode(dir_ / "tls.key"), 0600u);
  EXPECT_EQ(Mode(dir_ / "tls.crt"), 0644u);
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(dir_)) {
    files.push_back(entry.path().filename().string());
  }
  EXPECT_THAT(files, UnorderedElementsAre("ca.crt", "ca.key", "tls.crt", "tls.key"));
}

TEST_F(StoreTest, TheLeafIsRenewedInItsLastThirdUnderTheSameAuthority) {
  const KeyPair first = Load();
  const std::string authority = Read("ca.crt");
  EXPECT_EQ(Load(24h * 59).cert_pem, first.cert_pem);
  const KeyPair second = Load(24h * 61);
  EXPECT_NE(second.cert_pem, first.cert_pem);
  EXPECT_NE(second.key_pem, first.key_pem);
  EXPECT_EQ(Read("ca.crt"), authority);
  EXPECT_TRUE(CheckServes(authority, second.cert_pem, names_));
}

TEST_F(StoreTest, ANewNameRenewsTheLeafAlone) {
  const KeyPair first = Load();
  const std::string authority = Read("ca.crt");
  names_.dns = {"berth.kube-system.svc", "localhost"};
  const KeyPair second = Load();
  EXPECT_NE(second.cert_pem, first.cert_pem);
  EXPECT_EQ(Read("ca.crt"), authority);
  names_.dns = {"localhost"};
  EXPECT_EQ(Load().cert_pem, second.cert_pem) << "more names than asked for are fine";
}

TEST_F(StoreTest, ADamagedLeafIsRenewedAlone) {
  const KeyPair first = Load();
  const std::string authority = Read("ca.crt");
  for (const char* file : {"tls.crt", "tls.key"}) {
    Write(file, "garbage");
    EXPECT_TRUE(CheckServes(authority, Load().cert_pem, names_));
    std::filesystem::remove(dir_ / file);
    EXPECT_TRUE(CheckServes(authority, Load().cert_pem, names_));
    EXPECT_TRUE(CheckPair(Read("tls.crt"), Read("tls.key")));
  }
  // A crash between the two files of a renewal.
  const std::string old_cert = Read("tls.crt");
  Load(24h * 61);
  Write("tls.crt", old_cert);
  Load();
  EXPECT_TRUE(CheckPair(Read("tls.crt"), Read("tls.key")));
  EXPECT_EQ(Read("ca.crt"), authority);
}

TEST_F(StoreTest, AnAuthorityThatCannotBeUsedIsReplacedWithItsLeaf) {
  const KeyPair before = Load();
  const std::string authority = Read("ca.crt");
  std::filesystem::remove(dir_ / "ca.crt");
  const KeyPair after = Load();
  EXPECT_NE(Read("ca.crt"), authority);
  EXPECT_NE(after.cert_pem, before.cert_pem);
  EXPECT_TRUE(CheckServes(Read("ca.crt"), after.cert_pem, names_));

  Write("ca.crt", "garbage");
  const KeyPair repaired = Load();
  EXPECT_TRUE(CheckServes(Read("ca.crt"), repaired.cert_pem, names_));
}

TEST_F(StoreTest, AGoodLeafNeedsNoAuthorityKey) {
  const KeyPair first = Load();
  const std::string authority = Read("ca.crt");
  std::filesystem::remove(dir_ / "ca.key");
  EXPECT_EQ(Load().cert_pem, first.cert_pem);
  EXPECT_EQ(Read("ca.crt"), authority);
  const KeyPair renewed = Load(24h * 61);
  EXPECT_NE(Read("ca.crt"), authority);
  EXPECT_TRUE(CheckServes(Read("ca.crt"), renewed.cert_pem, names_));
}

TEST_F(StoreTest, AnExpiredAuthorityIsReplaced) {
  Load();
  const std::string authority = Read("ca.crt");
  Load(24h * 3654);
  EXPECT_NE(Read("ca.crt"), authority);

  const KeyPair ended = MakeAuthority("berth-ca", -1h).value();
  Write("ca.crt", ended.cert_pem);
  Write("ca.key", ended.key_pem);
  const KeyPair leaf = Load();
  EXPECT_NE(Read("ca.crt"), ended.cert_pem);
  EXPECT_TRUE(CheckServes(Read("ca.crt"), leaf.cert_pem, names_));
}

TEST_F(StoreTest, FilesThatCannotBeReadAreNotReplaced) {
  Load();
  const std::string authority_key = Read("ca.key");
  for (const char* name : {"ca.crt", "tls.key"}) {
    const std::string content = Read(name);
    // Neither can be read, not even by root: a folder, and a link to itself.
    for (const bool folder : {true, false}) {
      std::filesystem::remove(dir_ / name);
      if (folder) {
        std::filesystem::create_directory(dir_ / name);
      } else {
        std::filesystem::create_symlink(name, dir_ / name);
      }
      const auto unreadable = LoadOrMakeServing(dir_, names_);
      ASSERT_FALSE(unreadable) << name;
      EXPECT_THAT(unreadable.error().message, HasSubstr("cannot read"));
      EXPECT_THAT(unreadable.error().message, HasSubstr(name));
    }
    std::filesystem::remove(dir_ / name);
    Write(name, content);
  }
  EXPECT_EQ(Read("ca.key"), authority_key);

  std::ofstream(root_ / "file") << "x";
  const auto no_folder = LoadOrMakeServing(root_ / "file", names_);
  ASSERT_FALSE(no_folder);
  EXPECT_THAT(no_folder.error().message, HasSubstr("file"));
}

}  // namespace
}  // namespace berth::certs
