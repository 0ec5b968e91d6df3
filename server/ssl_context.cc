#include <dlfcn.h>
#include <openssl/ssl.h>

#include <atomic>
#include <string_view>

// trantor makes its TLS contexts and connections itself and offers no way to set what it has no
// setting for. The dynamic linker finds these definitions before OpenSSL's.

// Every context of the process gets a session-id context, without which a client that offers to
// resume a session is turned away.
extern "C" SSL_CTX* SSL_CTX_new(const SSL_METHOD* method) {
  SSL_CTX* context = SSL_CTX_new_ex(nullptr, nullptr, method);
  if (context == nullptr) return nullptr;
  constexpr unsigned char kName[] = "berth";
  SSL_CTX_set_session_id_context(context, kName, sizeof kName - 1);
  return context;
}

// The last thing that trantor does to a context is to set a list of cipher suites of its own. What
// the settings say counts instead (Commands in tls_settings.h).
extern "C" int SSL_CTX_set_cipher_list(SSL_CTX* context, const char* list) {
  constexpr std::string_view kOfTrantor = "MEDIUM:HIGH:!aNULL:!MD5:!RC4:!3DES";
  if (list == kOfTrantor) return 1;
  using Set = int (*)(SSL_CTX*, const char*);
  static const auto set = reinterpret_cast<Set>(dlsym(RTLD_NEXT, "SSL_CTX_set_cipher_list"));
  return set(context, list);
}

namespace {

// Connections that keep their buffers of 16 KiB while they are idle.
constexpr int kMostKeeping = 64;
std::atomic<int> keeping = 0;

// Counts a connection that keeps its buffers until OpenSSL frees it.
void CountKeeping(SSL* connection) {
  static const int index = SSL_get_ex_new_index(
      0, nullptr, nullptr, nullptr, [](void*, void* counted, CRYPTO_EX_DATA*, int, long, void*) {
        if (counted != nullptr) --keeping;
      });
  ++keeping;
  SSL_set_ex_data(connection, index, &keeping);
}

}  // namespace

// A connection gives its buffers back while it is idle: it costs 45 KB instead of 71. A webhook's
// connections are few and busy: the first of them keep theirs, or every review would allocate two
// blocks of 16 KiB. Watches come to the listener that asks for client certificates.
extern "C" SSL* SSL_new(SSL_CTX* context) {
  using New = SSL* (*)(SSL_CTX*);
  static const auto make = reinterpret_cast<New>(dlsym(RTLD_NEXT, "SSL_new"));
  SSL* connection = make(context);
  if (connection == nullptr) return nullptr;
  const bool may_watch = (SSL_CTX_get_verify_mode(context) & SSL_VERIFY_PEER) != 0;
  if (may_watch || keeping >= kMostKeeping) {
    SSL_set_mode(connection, SSL_MODE_RELEASE_BUFFERS);
  } else {
    CountKeeping(connection);
  }
  return connection;
}
