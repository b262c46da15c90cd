//! The shapes of request bodies, read off the API's own document, so that no list of fields is kept by hand.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde_json::Value;

use crate::openapi;

/// What the reader of bodies must know of their fields.
#[derive(Debug, Default)]
pub struct Shapes {
    /// Fields that hold an object. A list in their place would be taken for it, field by field in their order.
    pub objects: BTreeSet<String>,
    /// Fields of objects that are also stored, and so let unknown ones pass when they are read back.
    pub open_fields: BTreeSet<String>,
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
    let mut waiting: Vec<&str> = bodies(document).flat_map(references).collect();
    while let Some(name) = waiting.pop() {
        if !seen.insert(name) {
            continue;
        }
        let schema = &schemas[name];
        let is_open = schema["additionalProperties"] != Value::Bool(false);
        for (field, value) in schema["properties"].as_object().into_iter().flatten() {
            if is_open {
                shapes.open_fields.insert(field.clone());
            }
            for held in references(value) {
                if schemas[held]["properties"].is_object() {
                    shapes.objects.insert(field.clone());
                }
                waiting.push(held);
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
            assert!(open_fields.contains(field), "{field}");
        }
        // A list or a word is no object, and a closed object says itself which fields it has.
        assert!(!objects.contains("nodeIds") && !open_fields.contains("taskName"));
    }
}
