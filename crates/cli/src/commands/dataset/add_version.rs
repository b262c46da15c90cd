//! `fermi dataset add-version`.

use fermi_api::v1::CreateDatasetVersion;

use super::find;
use crate::connection::{AskFlags, Outcome};

/// Add a version to a dataset
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: fermi dataset add-version corpus --version v2 --path /data/corpus-v2")]
pub struct AddVersionFlags {
    /// The dataset's name or id
    dataset: String,
    /// The version's name
    #[arg(long, value_name = "NAME")]
    version: String,
    /// Where every node finds it
    #[arg(long, value_name = "PATH")]
    path: String,
    #[command(flatten)]
    ask: AskFlags,
}

pub fn execute(flags: &AddVersionFlags) -> Outcome {
    let client = flags.ask.connect()?;
    let dataset = find::dataset(&client, &flags.dataset)?;
    let version = CreateDatasetVersion { version: flags.version.clone(), path: flags.path.clone() };
    let made = client.add_dataset_version(&dataset.id, &version)?;
    flags.ask.made(&made, &made.data.id)
}
