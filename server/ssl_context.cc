#include <dlfcn.h>
#include <openssl/ssl.h>

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

// A connection that may be a watch gives its buffers back while it is idle: a watcher costs 45 KB
// instead of 71. Watches come to the listener that asks for client certificates. A webhook's
// connections are few and busy: they keep their buffers, or every review would allocate two blocks
// of 16 KiB.
extern "C" SSL* SSL_new(SSL_CTX* context) {
  using New = SSL* (*)(SSL_CTX*);
  static const auto make = reinterpret_cast<New>(dlsym(RTLD_NEXT, "SSL_new"));
  SSL* connection = make(context);
  if (connection != nullptr && (SSL_CTX_get_verify_mode(context) & SSL_VERIFY_PEER) != 0)
    SSL_set_mode(connection, SSL_MODE_RELEASE_BUFFERS);
  return connection;
}
