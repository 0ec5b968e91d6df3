// What pch_plain.h has, and Drogon's.
#pragma once
#include <drogon/HttpAppFramework.h>
#include <drogon/HttpRequest.h>
#include <drogon/HttpResponse.h>

#include "pch_plain.h"
