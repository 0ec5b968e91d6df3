#pragma once

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>

// OpenSSL's objects with owners; for the sources of this folder.
namespace berth::certs {

template <auto Function>
struct Free {
  void operator()(auto* object) const { Function(object); }
};

inline void FreeNames(GENERAL_NAMES* names) { GENERAL_NAMES_free(names); }

using Bio = std::unique_ptr<BIO, Free<BIO_free_all>>;
using Bignum = std::unique_ptr<BIGNUM, Free<BN_free>>;
using Cert = std::unique_ptr<X509, Free<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;
using Name = std::unique_ptr<X509_NAME, Free<X509_NAME_free>>;
using Names = std::unique_ptr<GENERAL_NAMES, Free<FreeNames>>;
using Store = std::unique_ptr<X509_STORE, Free<X509_STORE_free>>;
using StoreContext = std::unique_ptr<X509_STORE_CTX, Free<X509_STORE_CTX_free>>;

// An error that OpenSSL queues in a thread would be taken by the next TLS call there for its own.
struct ClearErrors {
  ClearErrors() = default;
  ~ClearErrors() { ERR_clear_error(); }
  ClearErrors(const ClearErrors&) = delete;
  ClearErrors& operator=(const ClearErrors&) = delete;
};

}  // namespace berth::certs
