//! Words, variables and files of ranks that hold rank 0's port, which is not known before the supervisor has leased it.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use fermi_domain::launch::{Placeholder, Template};
use fermi_process::account::SystemAccount;
use serde::{Deserialize, Serialize};

/// What is filled in when an attempt starts. All other placeholders were known when the bundle was made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Deferred {
    /// What the other placeholders are on this node.
    pub known: Vec<(Placeholder, String)>,
    /// Words of every rank's command, by their number.
    pub words: Vec<(usize, Template)>,
    /// Variables of the rank with this local number; they win over those of the plan.
    pub env: Vec<(u32, String, Template)>,
    pub files: Vec<(PathBuf, Template)>,
}

impl Deferred {
    /// A template with everything in it.
    pub fn fill(&self, template: &Template, master_port: u16) -> String {
        template.fill(|placeholder| match placeholder {
            Placeholder::MasterPort => master_port.to_string(),
            other => self.known.iter().find(|(known, _)| *known == other).map_or_else(String::new, |(_, v)| v.clone()),
        })
    }

    /// The whole command of a rank.
    pub fn argv(&self, words: &[OsString], master_port: u16) -> Vec<OsString> {
        let mut argv = words.to_vec();
        for (index, template) in &self.words {
            if let Some(word) = argv.get_mut(*index) {
                *word = self.fill(template, master_port).into();
            }
        }
        argv
    }

    /// The variables of one rank that hold the port.
    pub fn variables(&self, local_rank: u32, master_port: u16) -> impl Iterator<Item = (String, String)> + '_ {
        self.env
            .iter()
            .filter(move |(rank, ..)| *rank == local_rank)
            .map(move |(_, name, template)| (name.clone(), self.fill(template, master_port)))
    }

    /// Writes the files that hold the port, for the account of the ranks. A rank that misses one says so itself.
    pub fn write_files(&self, master_port: u16, account: Option<&SystemAccount>) {
        for (path, template) in &self.files {
            let _ = fs::write(path, self.fill(template, master_port));
            let _ = account.map(|account| account.own(path));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_is_filled_in_among_known_places_and_strange_texts() {
        let deferred = Deferred {
            known: vec![(Placeholder::MasterAddress, "10.0.0.6".into())],
            env: vec![
                (
                    1,
                    "URL".into(),
                    Template::text("训'\"$ ")
                        .then_placeholder(Placeholder::MasterAddress)
                        .then(":")
                        .then_placeholder(Placeholder::MasterPort),
                ),
                (0, "OTHER".into(), Template::placeholder(Placeholder::MasterPort)),
            ],
            ..Deferred::default()
        };
        let variables: Vec<_> = deferred.variables(1, 29_500).collect();
        assert_eq!(variables, [("URL".to_owned(), "训'\"$ 10.0.0.6:29500".to_owned())]);
    }

    #[test]
    fn files_with_the_port_are_written_when_it_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.json");
        let deferred = Deferred {
            files: vec![(path.clone(), Template::placeholder(Placeholder::MasterPort))],
            ..Deferred::default()
        };
        deferred.write_files(4711, None);
        assert_eq!(fs::read_to_string(path).unwrap(), "4711");
    }
}
