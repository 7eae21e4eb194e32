// SPDX-License-Identifier: Apache-2.0
// The JSON schema of a machine file, made of the key tables.
#include <fmt/core.h>

#include "sim/config/describe.hpp"
#include "sim/config/keys.hpp"

namespace npulab::config {

namespace {

using nlohmann::ordered_json;

// `partial`: the file inherits, so that no key is required and null removes a named section.
ordered_json section_schema(const std::vector<KeyInfo>& keys, bool partial);

ordered_json number_bound(double bound, KeyKind kind) {
  if (kind == KeyKind::integer) return static_cast<std::uint64_t>(bound);
  return bound;
}

ordered_json choice_schema(const KeyInfo& info) {
  return {{"type", "string"}, {"enum", info.choices}};
}

ordered_json or_null(ordered_json schema, bool also_null) {
  if (!also_null) return schema;
  return {{"anyOf", ordered_json::array({std::move(schema), {{"type", "null"}}})}};
}

ordered_json sections_schema(const KeyInfo& info, bool partial) {
  return {{"type", "object"},
          {"propertyNames", {{"pattern", "^[a-z][a-z0-9_]*$"}}},
          {"additionalProperties", or_null(section_schema(info.keys, partial), partial)},
          {"minProperties", partial || !info.required ? 0 : 1}};
}

ordered_json list_schema(ordered_json items) {
  return {{"type", "array"}, {"items", std::move(items)}};
}

ordered_json type_schema(const KeyInfo& info, bool partial) {
  switch (info.kind) {
    case KeyKind::integer:
    case KeyKind::number:
      return {{"type", info.kind == KeyKind::integer ? "integer" : "number"},
              {"minimum", number_bound(info.min, info.kind)},
              {"maximum", number_bound(info.max, info.kind)}};
    case KeyKind::boolean:
      return {{"type", "boolean"}};
    case KeyKind::text:
      return {{"type", "string"}};
    case KeyKind::choice:
      return choice_schema(info);
    case KeyKind::text_list:
      return list_schema({{"type", "string"}});
    case KeyKind::choice_list: {
      ordered_json list = list_schema(choice_schema(info));
      list["minItems"] = info.default_value.empty() ? 0 : 1;
      list["uniqueItems"] = true;
      return list;
    }
    case KeyKind::section:
      return or_null(section_schema(info.keys, partial), partial && info.may_be_absent);
    case KeyKind::section_list: {  // lists are replaced whole, so their items are always complete
      ordered_json list = list_schema(section_schema(info.keys, false));
      list["minItems"] = 1;
      return list;
    }
    case KeyKind::named_sections:
      return sections_schema(info, partial);
  }
  return {};
}

ordered_json key_schema(const KeyInfo& info, bool partial) {
  ordered_json schema = type_schema(info, partial);
  schema["description"] = info.unit.empty() ? info.doc : fmt::format("{} [{}]", info.doc, info.unit);
  if (!info.default_value.is_null()) schema["default"] = info.default_value;
  return schema;
}

ordered_json section_schema(const std::vector<KeyInfo>& keys, bool partial) {
  ordered_json properties = ordered_json::object();
  ordered_json required = ordered_json::array();
  for (const KeyInfo& info : keys) {
    properties[info.key] = key_schema(info, partial);
    if (info.required && !partial) required.push_back(info.key);
  }
  ordered_json schema = {{"type", "object"}, {"properties", properties}, {"additionalProperties", false}};
  if (!required.empty()) schema["required"] = required;
  return schema;
}

}  // namespace

ordered_json json_schema() {
  const std::vector<KeyInfo> keys = machine_keys();
  ordered_json inheriting = section_schema(keys, true);
  inheriting["properties"][kExtendsKey] = {{"type", "string"}, {"description", kExtendsDoc}};
  return {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
          {"title", "npulab machine"},
          {"if", {{"type", "object"}, {"required", ordered_json::array({kExtendsKey})}}},
          {"then", {{"$ref", "#/$defs/inheriting"}}},
          {"else", {{"$ref", "#/$defs/complete"}}},
          {"$defs", {{"complete", section_schema(keys, false)}, {"inheriting", inheriting}}}};
}

}  // namespace npulab::config
