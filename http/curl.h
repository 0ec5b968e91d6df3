#pragma once

#include <curl/curl.h>

#include <memory>
#include <string>

namespace berth::http {

// libcurl's handles, owned.
struct CurlDeleter {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
struct CurlMultiDeleter {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};
using EasyHandle = std::unique_ptr<CURL, CurlDeleter>;
using MultiHandle = std::unique_ptr<CURLM, CurlMultiDeleter>;
using HeaderList = std::unique_ptr<curl_slist, CurlDeleter>;

// Sets an option to a text that outlives the handle; it is not copied.
inline void SetBlob(CURL* easy, CURLoption option, const std::string& text) {
  // libcurl takes a pointer to non-const but does not write.
  curl_blob blob = {const_cast<char*>(text.data()), text.size(), CURL_BLOB_NOCOPY};
  curl_easy_setopt(easy, option, &blob);
}

}  // namespace berth::http
