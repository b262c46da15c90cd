//! The API's own description, made from its types and handlers.

use std::sync::LazyLock;

use utoipa::openapi::{Content, ContentBuilder, InfoBuilder, OpenApi, Ref, RefOr, ResponseBuilder};

/// Every document says which API it describes.
const TITLE: &str = "Fermi";
const DESCRIPTION: &str = "Choose environments, plan, launch, watch, heal. Answers stand in an envelope \
`{code, message, data}`; `code` equals the HTTP status. Sentences follow `Accept-Language`: Chinese unless English is asked \
for; those inside `data` come in both. Errors carry `error: {id, field, hint}`. Advice \
names settings as fields of the request, or as the front end knows them that the header `Fermi-Front-End` names: \
`console`, `command-line`.";

/// The document, written once.
pub fn json() -> &'static str {
    static DOCUMENT: LazyLock<String> = LazyLock::new(|| {
        let mut text = serde_json::to_string_pretty(&document()).unwrap_or_default();
        text.push('\n');
        text
    });
    &DOCUMENT
}

/// Describes every route of [`crate::http`].
pub fn document() -> OpenApi {
    let (_, mut document) = crate::http::resources().split_for_parts();
    document.info = InfoBuilder::new().title(TITLE).version("v1").description(Some(DESCRIPTION)).build();
    for (path, item) in &mut document.paths.paths {
        let operations = [&mut item.get, &mut item.post, &mut item.delete, &mut item.put, &mut item.patch];
        for operation in operations.into_iter().flatten() {
            // Whatever else is wrong is said in the same shape: 400, 401, 403, 413, 415, 500, 503.
            let mut shared = |status: &str, description: &str| {
                let content: Content =
                    ContentBuilder::new().schema(Some(RefOr::Ref(Ref::from_schema_name("Failure")))).build();
                let response = ResponseBuilder::new().description(description).content("application/json", content);
                operation.responses.responses.insert(status.to_owned(), RefOr::T(response.build()));
            };
            shared("default", "What is wrong, and what to do");
            // An upload takes as long as the caller's network does.
            if path == "/api/v1/snapshots" {
                continue;
            }
            shared("504", "The answer did not begin in time (`timeout`); what was asked for may still happen");
        }
    }
    document
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::{Path, PathBuf};

    use fermi_domain::language::{FrontEnd, Language, Setting};
    use serde_json::Value;

    use super::*;

    /// Where the committed document is. `FERMI_UPDATE_OPENAPI=1 cargo test -p fermi-server openapi` writes it.
    const COMMITTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/openapi.json");

    #[test]
    fn the_committed_document_is_the_one_that_is_served() {
        if std::env::var_os("FERMI_UPDATE_OPENAPI").is_some() {
            std::fs::write(COMMITTED, json()).unwrap();
        }
        let committed = std::fs::read_to_string(COMMITTED).unwrap_or_default();
        assert!(committed == json(), "run FERMI_UPDATE_OPENAPI=1 cargo test -p fermi-server openapi");
    }

    /// What a schema, or one of those that it may be instead, has in a field.
    fn property<'a>(schemas: &'a Value, schema: &'a Value, field: &str) -> Option<&'a Value> {
        let referred = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next());
        let schema = referred.map_or(schema, |name| &schemas[name]);
        let instead = || schema["oneOf"].as_array()?.iter().find_map(|one| property(schemas, one, field));
        schema["properties"].get(field).or_else(instead)
    }

    #[test]
    fn every_setting_that_a_task_has_is_called_by_a_field_of_its_request() {
        let document: Value = serde_json::from_str(json()).unwrap();
        let schemas = &document["components"]["schemas"];
        for setting in Setting::ALL.into_iter().filter(|setting| setting.exists_at(FrontEnd::Api)) {
            let path = setting.spelled(FrontEnd::Api, Language::En);
            let request = Some(&schemas["CreateRequest"]);
            let found = path.split('.').fold(request, |schema, field| property(schemas, schema?, field));
            assert!(found.is_some(), "there is no {path}");
        }
    }

    /// The document holds one schema for each name: of two types that share theirs, one would silently have the other's.
    #[test]
    fn no_two_types_share_the_name_of_a_schema() {
        let mut named: BTreeMap<String, PathBuf> = BTreeMap::new();
        let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("..")];
        while let Some(folder) = folders.pop() {
            for entry in folder.read_dir().unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    for name in schema_names(&std::fs::read_to_string(&path).unwrap()) {
                        let other = named.insert(name.clone(), path.clone());
                        assert!(other.is_none(), "two types are called {name}: in {path:?} and in {other:?}");
                    }
                }
            }
        }
        assert!(named.len() > 100 && named.contains_key("DatasetVersion"), "{}", named.len());
    }

    /// The types of a source file that the document may name.
    fn schema_names(source: &str) -> Vec<String> {
        let mut names = Vec::new();
        let mut is_schema = false;
        for line in source.lines().map(str::trim_start) {
            is_schema |= line.starts_with("#[") && line.contains("derive(") && line.contains("ToSchema");
            let declared = line.strip_prefix("pub struct ").or_else(|| line.strip_prefix("pub enum "));
            if let Some(declared) = declared {
                let name = declared.split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default();
                // A macro gives its types their names elsewhere.
                names.extend((is_schema && !name.is_empty()).then(|| name.to_owned()));
                is_schema = false;
            }
        }
        names
    }

    #[test]
    fn it_is_version_3_1_and_names_every_resource() {
        let document: Value = serde_json::from_str(json()).unwrap();
        assert_eq!(document["openapi"].as_str().unwrap().get(..3), Some("3.1"));
        for path in ["/api/v1/training-tasks", "/api/v1/training-tasks/{id}/logs", "/api/v1/environments", "/livez"] {
            assert!(document["paths"].get(path).is_some(), "{path}");
        }
        let request = &document["components"]["schemas"]["CreateRequest"];
        assert_eq!(request["additionalProperties"], false);
        assert_eq!(request["properties"]["taskName"]["type"], "string");
    }
}
