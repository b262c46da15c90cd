//! The shapes of request bodies, read off the API's own document, so that no list of fields is kept by hand.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::LazyLock;

use serde_json::Value;

use crate::openapi;

/// What the reader of bodies must know of their fields.
#[derive(Debug, Default)]
pub struct Shapes {
    /// Fields that hold an object. A list in their place would be taken for it, field by field in their order.
    pub objects: BTreeSet<String>,
    /// Fields of objects that are also stored, and so let unknown ones pass when they are read back; each with its path in
    /// the body.
    pub open_fields: BTreeMap<String, String>,
}

/// The shapes of every request body.
pub fn shapes() -> &'static Shapes {
    static SHAPES: LazyLock<Shapes> =
        LazyLock::new(|| serde_json::from_str(openapi::json()).map(|document| read(&document)).unwrap_or_default());
    &SHAPES
}

fn read(document: &Value) -> Shapes {
    let schemas = &document["components"]["schemas"];
    let mut shapes = Shapes::default();
    let mut seen = BTreeSet::new();
    let mut waiting: VecDeque<(&str, String)> =
        bodies(document).flat_map(references).map(|name| (name, String::new())).collect();
    while let Some((name, path)) = waiting.pop_front() {
        if !seen.insert(name) {
            continue;
        }
        let schema = &schemas[name];
        let is_open = schema["additionalProperties"] != Value::Bool(false);
        for (field, value) in schema["properties"].as_object().into_iter().flatten() {
            let path = if path.is_empty() { field.clone() } else { format!("{path}.{field}") };
            if is_open {
                shapes.open_fields.entry(field.clone()).or_insert_with(|| path.clone());
            }
            for held in references(value) {
                if schemas[held]["properties"].is_object() {
                    shapes.objects.insert(field.clone());
                }
                waiting.push_back((held, path.clone()));
            }
        }
    }
    shapes
}

/// The schemas of the bodies that are JSON.
fn bodies(document: &Value) -> impl Iterator<Item = &Value> {
    let paths = document["paths"].as_object().into_iter().flat_map(|paths| paths.values());
    let operations = paths.filter_map(Value::as_object).flat_map(|path| path.values());
    operations.map(|operation| &operation["requestBody"]["content"]["application/json"]["schema"])
}

/// The named schemas that a schema stands for: itself, or one of several.
fn references(schema: &Value) -> Vec<&str> {
    let own = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next());
    let several = ["oneOf", "anyOf", "allOf"].into_iter().filter_map(|key| schema[key].as_array()).flatten();
    own.into_iter().chain(several.flat_map(references)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_of_a_task_are_found_at_every_depth() {
        let Shapes { objects, open_fields } = shapes();
        for object in ["distributedConfig", "strategy", "command", "recipe", "options", "policies", "restart", "stop"] {
            assert!(objects.contains(object), "{object}");
        }
        for field in ["dataParallel", "restart", "maxRestarts", "signal", "graceMs", "nodeLostAfter"] {
            assert!(open_fields.contains_key(field), "{field}");
        }
        assert_eq!(open_fields["maxRestarts"], "policies.restart.maxRestarts");
        // A list or a word is no object, and a closed object says itself which fields it has.
        assert!(!objects.contains("nodeIds") && !open_fields.contains_key("taskName"));
    }
}
