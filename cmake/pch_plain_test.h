// pch_plain.h, GoogleTest and RapidCheck.
#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "pch_plain.h"
