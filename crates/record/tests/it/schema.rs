//! The published schema describes records, and every field of them.

use crate::example;
use expect_test::expect_file;
use serde_json::{Map, Value};

#[test]
fn the_published_schema_is_fresh() {
    // `UPDATE_EXPECT=1 cargo test -p record` writes it anew.
    expect_file!["../../../../docs/record.schema.json"].assert_eq(&record::schema());
}

#[test]
fn a_full_record_is_what_the_schema_says() {
    let value = serde_json::to_value(example::record()).unwrap();
    assert_eq!(faults(&value), Vec::<String>::new());
}

#[test]
fn what_the_schema_does_not_say_is_found() {
    let changed = |at: &str, to: Value| {
        let mut value = serde_json::to_value(example::record()).unwrap();
        *value.pointer_mut(at).unwrap() = to;
        faults(&value)
    };
    assert_eq!(changed("/tool", serde_json::json!({"name": "x"})), ["/tool: no `version`"]);
    assert_eq!(changed("/duration_ns", "12 s".into()), ["/duration_ns: not what it should be"]);
    assert_eq!(
        changed("/blocks/0/phases/life", 5.into()),
        ["/blocks/0/phases/life: not what it should be"]
    );
    assert_eq!(
        changed("/ended", serde_json::json!({"how": "exploded"})),
        ["/ended: not what it should be"]
    );
    let unknown = changed("/conclusion", Value::Null);
    assert_eq!(unknown, Vec::<String>::new());
}

#[test]
fn every_field_is_described() {
    let schema: Value = serde_json::from_str(&record::schema()).unwrap();
    let mut undescribed = Vec::new();
    undescribed_fields("", &schema, &mut undescribed);
    assert_eq!(undescribed, Vec::<String>::new());
}

/// The places where `value` does not match the schema of the record.
fn faults(value: &Value) -> Vec<String> {
    let root: Value = serde_json::from_str(&record::schema()).expect("a schema is JSON");
    let mut faults = Vec::new();
    Validator { root: &root }.check(&root, value, "", &mut faults);
    faults
}

/// The part of JSON schema that our schema uses; stricter in that fields must be known.
struct Validator<'a> {
    root: &'a Value,
}

impl Validator<'_> {
    fn check(&self, schema: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
        if let Some(target) = schema["$ref"].as_str() {
            let target = self.root.pointer(&target[1..]).expect("references point into the schema");
            return self.check(target, value, at, faults);
        }
        let choices = [&schema["anyOf"], &schema["oneOf"]].into_iter().find_map(Value::as_array);
        let fits = |schema: &Value| {
            let mut faults = Vec::new();
            self.check(schema, value, at, &mut faults);
            faults.is_empty()
        };
        if choices.is_some_and(|choices| !choices.iter().any(fits))
            || !self.is_simple(schema, value)
        {
            faults.push(format!("{at}: not what it should be"));
        }
        if let Some(object) = value.as_object().filter(|_| choices.is_none()) {
            self.check_object(schema, object, at, faults);
        }
        for (index, item) in value.as_array().into_iter().flatten().enumerate() {
            self.check(&schema["items"], item, &format!("{at}/{index}"), faults);
        }
    }

    fn check_object(
        &self,
        schema: &Value,
        object: &Map<String, Value>,
        at: &str,
        faults: &mut Vec<String>,
    ) {
        for required in
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str)
        {
            if !object.contains_key(required) {
                faults.push(format!("{at}: no `{required}`"));
            }
        }
        for (key, value) in object {
            let at = format!("{at}/{key}");
            match (schema["properties"].get(key), schema.get("additionalProperties")) {
                (Some(schema), _) | (None, Some(schema)) => self.check(schema, value, &at, faults),
                (None, None) => faults.push(format!("{at}: not in the schema")),
            }
        }
    }

    /// Checks the type, the choice of texts and the constant.
    fn is_simple(&self, schema: &Value, value: &Value) -> bool {
        let is = |kind: &Value| match kind.as_str() {
            Some("null") => value.is_null(),
            Some("boolean") => value.is_boolean(),
            Some("integer") => value.is_u64() || value.is_i64(),
            Some("number") => value.is_number(),
            Some("string") => value.is_string(),
            Some("array") => value.is_array(),
            Some("object") => value.is_object(),
            _ => false,
        };
        let kinds = &schema["type"];
        let kind_fits = kinds.is_null()
            || is(kinds)
            || kinds.as_array().is_some_and(|kinds| kinds.iter().any(is));
        let choice_fits = schema["enum"].as_array().is_none_or(|choices| choices.contains(value));
        kind_fits && choice_fits && schema.get("const").is_none_or(|constant| constant == value)
    }
}

/// Properties without a description of their own.
fn undescribed_fields(at: &str, schema: &Value, undescribed: &mut Vec<String>) {
    if let Some(properties) = schema["properties"].as_object() {
        for (name, property) in properties {
            // An enum's tag, and the only field of its variant, are described by the variant.
            let is_variant = properties.len() == 1 && schema["description"].is_string();
            if property["description"].is_null() && property["const"].is_null() && !is_variant {
                undescribed.push(format!("{at}/{name}"));
            }
        }
    }
    for (name, part) in schema.as_object().into_iter().flatten() {
        undescribed_fields(&format!("{at}/{name}"), part, undescribed);
    }
    for part in schema.as_array().into_iter().flatten() {
        undescribed_fields(at, part, undescribed);
    }
}
