// Between a field and its text or value: the type and range rules of one key. Private to src/config.
#pragma once

#include "config/Schema.h"

namespace tegula::config {

/// The field's value as TOML; empty for an absent optional.
std::string fieldToToml(const Field&);
/// "integer", "list of strings": the type column of the reference page.
std::string fieldTypeName(const Field&);
/// ">= 1", "one of a, b": the range column; empty if anything goes.
std::string rangeText(const KeyOptions&);
/// Stores `value` into the field, or returns what is wrong with it ("found a string, expected an integer").
std::string assignField(const Field&, const KeyOptions&, const Item& value);

} // namespace tegula::config
