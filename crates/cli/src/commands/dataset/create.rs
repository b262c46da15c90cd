//! `fermi dataset create`.

use fermi_api::v1::{CreateDataset, CreateDatasetVersion};

use crate::connection::{AskFlags, Outcome};

/// Make a dataset, with a first version if a path is given
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: fermi dataset create corpus --path /data/corpus")]
pub struct CreateFlags {
    name: String,
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Where every node finds the first version
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// The first version's name
    #[arg(long = "dataset-version", value_name = "NAME", default_value = "v1", requires = "path")]
    version: String,
    #[command(flatten)]
    ask: AskFlags,
}

pub fn execute(flags: &CreateFlags) -> Outcome {
    let client = flags.ask.connect()?;
    let request = CreateDataset { name: flags.name.clone(), description: flags.description.clone() };
    let made = client.create_dataset(&request)?;
    if let Some(path) = &flags.path {
        let version = CreateDatasetVersion { version: flags.version.clone(), path: path.clone() };
        client.add_dataset_version(&made.data.id, &version)?;
    }
    flags.ask.made(&made, &made.data.id)
}
