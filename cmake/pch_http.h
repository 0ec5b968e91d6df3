// The headers of pch_plain.h, and Drogon's.
#pragma once
#include <drogon/HttpAppFramework.h>
#include <drogon/HttpRequest.h>
#include <drogon/HttpResponse.h>

#include "pch_plain.h"
