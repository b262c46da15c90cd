//! The documents are those of this tree: references that are generated or listed name what there is, no link leads
//! nowhere, every decision says whether it still holds, and types have the names that the glossary allows.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use fermi_domain::event::RunEvent;
use serde_json::json;

use crate::support::{Place, Run};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

#[test]
fn the_command_line_reference_is_what_the_binary_says() {
    let said = Run::whole(&mut Place::new().fermi(["reference"])).expect(0).out();
    assert!(said == read("docs/reference/cli.md"), "docs/reference/cli.md is not current: run `make docs`");
}

/// The names in backticks.
fn names(text: &str) -> BTreeSet<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn the_page_on_events_has_every_event_and_no_other() {
    // What the type itself answers to a name that it does not know: all those that it knows.
    let refused = serde_json::from_value::<RunEvent>(json!({ "event": "?" })).unwrap_err().to_string();
    let known = names(refused.split_once("expected one of").unwrap().1);
    assert!(known.contains("run.started"), "{refused}");
    // Each has a heading, or a row below the heading of a whole family such as `node.*`.
    let page = read("docs/reference/events.md");
    let mut written = BTreeSet::new();
    for section in page.split("\n### ").skip(1) {
        let (heading, body) = section.split_once('\n').unwrap();
        written.extend(names(heading).into_iter().filter(|name| !name.ends_with('*')));
        if heading.contains('*') {
            let rows = body.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
            written.extend(rows.map(|(name, _)| name.to_owned()));
        }
    }
    assert_eq!(written, known, "docs/reference/events.md and the names in domain/src/event.rs");
}

/// Every file below a folder whose name ends so.
fn files(folder: PathBuf, ending: &str) -> Vec<PathBuf> {
    let mut folders = vec![folder];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_dir() && !name.starts_with('.') && !["target", "node_modules", "shared"].contains(&name) {
                folders.push(path);
            } else if name.ends_with(ending) {
                found.push(path);
            }
        }
    }
    found
}

#[test]
fn no_link_between_documents_leads_nowhere() {
    let documents = files(root(), ".md");
    assert!(documents.len() > 20, "{documents:?}");
    let mut dead = Vec::new();
    for document in documents {
        let text = fs::read_to_string(&document).unwrap();
        let links = text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link);
        for link in links.filter(|link| !link.contains("://") && !link.starts_with('#') && !link.contains(' ')) {
            let file = link.split('#').next().unwrap();
            if !document.parent().unwrap().join(file).exists() {
                dead.push(format!("{}: {link}", document.display()));
            }
        }
    }
    assert!(dead.is_empty(), "{dead:#?}");
}

#[test]
fn every_decision_says_whether_it_holds() {
    let folder = root().join("docs/decisions");
    let numbers: Vec<String> =
        fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    for name in &numbers {
        let text = fs::read_to_string(folder.join(name)).unwrap();
        let status = text.lines().find_map(|line| line.strip_prefix("Status: "));
        let status = status.unwrap_or_else(|| panic!("{name} has no line `Status: …`"));
        // A decision that was replaced, in part or whole, names the one that did.
        let by = status.split_once("uperseded by [").map(|(_, by)| &by[..4]);
        let holds = by.map_or(status == "Accepted", |by| numbers.iter().any(|number| number.starts_with(by)));
        assert!(holds, "{name}: a status is `Accepted` or names what replaces it: {status}");
    }
}

#[test]
fn every_source_file_that_the_architecture_names_is_there() {
    let sources: Vec<String> = files(root(), ".rs").iter().map(|path| path.display().to_string()).collect();
    let page = read("ARCHITECTURE.md") + &read("docs/mechanisms.md");
    let named = names(&page).into_iter().filter(|name| name.ends_with(".rs") && !name.contains(['{', '<', ' ']));
    let missing: Vec<String> =
        named.filter(|name| !sources.iter().any(|source| source.ends_with(&format!("/{name}")))).collect();
    assert!(missing.is_empty(), "ARCHITECTURE.md or docs/mechanisms.md names {missing:?}");
}

#[test]
fn a_type_says_which_of_its_kind_it_is() {
    let bare = ["Place", "Places", "Answer", "News", "Order", "Report", "Word", "Happening", "Seat"];
    let sources = files(root().join("crates"), ".rs");
    for source in sources.iter().filter(|path| path.components().any(|part| part.as_os_str() == "src")) {
        for line in fs::read_to_string(source).unwrap().lines() {
            let words: Vec<&str> = line.split(|sign: char| !sign.is_alphanumeric() && sign != '_').collect();
            let defined = words.windows(2).find(|pair| ["struct", "enum", "trait", "type", "union"].contains(&pair[0]));
            let is_bare = defined.is_some_and(|pair| bare.contains(&pair[1]));
            assert!(!is_bare, "{}: `{line}`: which one? See the words in ARCHITECTURE.md", source.display());
        }
    }
}
