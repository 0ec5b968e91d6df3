// What pch_plain.h has, and what tests use.
#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "pch_plain.h"
