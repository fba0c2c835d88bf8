//! The published schema says what experiments are.

use expect_test::expect_file;

#[test]
fn the_published_schema_is_fresh() {
    // `UPDATE_EXPECT=1 cargo test -p spec` writes it anew.
    let schema = schemars::schema_for!(spec::Experiment);
    let json = serde_json::to_string_pretty(&schema).expect("a schema is JSON") + "\n";
    expect_file!["../../../../docs/spec.schema.json"].assert_eq(&json);
}

mod secrets;
