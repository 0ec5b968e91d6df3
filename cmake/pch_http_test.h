// pch_http.h, GoogleTest and RapidCheck.
#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "pch_http.h"
