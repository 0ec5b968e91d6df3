// What pch_http.h has, and what tests use.
#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "pch_http.h"
