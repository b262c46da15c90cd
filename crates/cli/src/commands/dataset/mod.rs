//! `fermi dataset`: named data with versions that never change.

mod inspect;
mod show;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use fermi_api::client::{Client, Query};
use fermi_api::v1::{CreateDataset, CreateDatasetVersion, Dataset, DatasetVersion, MOST_PER_PAGE};
use fermi_domain::dataset::ChecksumKind;
use fermi_domain::language::Text;
use fermi_domain::units::Bytes;

use crate::commands::usage::Expected;
use crate::connection::{self, AskFlags, CommandProblem, Noun, Outcome};
use crate::span;
use crate::speech::pick;
use crate::table::{self, Cell, Colour, Table};

/// Datasets: create, add-version, inspect, list, show, delete
#[derive(Debug, Subcommand)]
pub enum Verb {
    Create(CreateFlags),
    AddVersion(AddVersionFlags),
    Inspect(inspect::InspectFlags),
    /// List the datasets
    #[command(alias = "ls")]
    List(AskFlags),
    /// Show a dataset with its versions
    Show(DatasetName),
    /// Forget a dataset; what its versions point at stays where it is
    #[command(alias = "rm")]
    Delete(DatasetName),
}

pub fn execute(verb: &Verb) -> ExitCode {
    connection::answer(match verb {
        Verb::Create(flags) => create(flags),
        Verb::AddVersion(flags) => add_version(flags),
        Verb::Inspect(flags) => inspect::execute(flags),
        Verb::List(ask) => list(ask),
        Verb::Show(flags) => show(flags),
        Verb::Delete(flags) => delete(flags),
    })
}

/// Make a dataset, with a first version if a path is given
#[derive(Debug, Args)]
#[command(after_help = "Example: fermi dataset create corpus --path /data/corpus")]
pub struct CreateFlags {
    /// Its name
    name: String,
    /// What it is, for people to read
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Where every node finds the first version: an absolute path, or a URI that the training itself reads
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    #[command(flatten)]
    stated: StatedFlags,
    /// The first version's name
    #[arg(long = "dataset-version", value_name = "NAME", default_value = "v1", requires = "path")]
    version: String,
    #[command(flatten)]
    ask: AskFlags,
}

/// Add a version to a dataset
#[derive(Debug, Args)]
#[command(after_help = "Example: fermi dataset add-version corpus --version v2 --path /data/corpus-v2")]
pub struct AddVersionFlags {
    /// The dataset's name or id
    dataset: String,
    /// The version's name
    #[arg(long, value_name = "NAME")]
    version: String,
    /// Where every node finds it: an absolute path, or a URI that the training itself reads
    #[arg(long, value_name = "PATH")]
    path: String,
    #[command(flatten)]
    stated: StatedFlags,
    #[command(flatten)]
    ask: AskFlags,
}

/// What is stated about a version, and compared on each node when a task starts.
#[derive(Debug, Args)]
struct StatedFlags {
    /// Its size, such as 12GB or a number of bytes; compared on each node when a task starts
    #[arg(long, value_name = "SIZE", value_parser = parse_size, requires = "path")]
    size: Option<u64>,
    /// sha256:… of one file, or sampled:… as `fermi dataset inspect` prints it; compared when a task starts
    #[arg(long, value_name = "CHECKSUM", requires = "path")]
    checksum: Option<String>,
    /// Its format, such as jsonl, parquet or arrow; compared when a task starts
    #[arg(long, value_name = "FORMAT", requires = "path")]
    format: Option<String>,
    /// Look at the path on this machine, and state the size, the checksum of samples and the format that are found
    #[arg(long, requires = "path", conflicts_with_all = ["size", "checksum", "format"])]
    measure: bool,
}

impl StatedFlags {
    fn version(&self, name: &str, path: &str) -> Result<CreateDatasetVersion, CommandProblem> {
        let version = CreateDatasetVersion { version: name.to_owned(), path: path.to_owned(), ..Default::default() };
        if self.measure {
            let seen = inspect::look(path, ChecksumKind::Sampled)?;
            return Ok(CreateDatasetVersion {
                size: seen.is_whole.then_some(seen.bytes),
                checksum: seen.checksum.as_ref().map(ToString::to_string),
                format: seen.formats.first().map(ToString::to_string),
                ..version
            });
        }
        let Self { size, checksum, format, .. } = self;
        Ok(CreateDatasetVersion { size: *size, checksum: checksum.clone(), format: format.clone(), ..version })
    }
}

fn parse_size(text: &str) -> Result<u64, Expected> {
    let size = Bytes::parse(text).map(|bytes| bytes.0);
    size.ok_or_else(|| Expected(Text::new("写成 12GB、800MB 或字节数", "write 12GB, 800MB or a number of bytes")))
}

/// Flags of a verb that takes one dataset.
#[derive(Debug, Args)]
pub struct DatasetName {
    /// Its name or id
    dataset: String,
    #[command(flatten)]
    ask: AskFlags,
}

fn create(flags: &CreateFlags) -> Outcome {
    let client = flags.ask.connect()?;
    let version = flags.path.as_ref().map(|path| flags.stated.version(&flags.version, path)).transpose()?;
    let request = CreateDataset { name: flags.name.clone(), description: flags.description.clone() };
    let made = client.create_dataset(&request)?;
    if let Some(version) = version
        && let Err(refused) = client.add_dataset_version(&made.data.id, &version)
    {
        // What was asked for is a dataset with this version: one without it would only take the name.
        let _ = client.delete_dataset(&made.data.id);
        return Err(refused.into());
    }
    flags.ask.made(&made, &made.data.id)
}

fn add_version(flags: &AddVersionFlags) -> Outcome {
    let client = flags.ask.connect()?;
    let dataset = find(&client, &flags.dataset)?;
    let version = flags.stated.version(&flags.version, &flags.path)?;
    let made = client.add_dataset_version(&dataset.id, &version)?;
    flags.ask.made(&made, &made.data.id)
}

fn list(ask: &AskFlags) -> Outcome {
    let answer = ask.connect()?.datasets(&Query::new().with("pageSize", MOST_PER_PAGE))?;
    let none = pick("还没有数据集。", "There are no datasets yet.");
    ask.list(&answer, none, "fermi dataset create corpus --path /data/corpus", |datasets| {
        let mut table = Table::new([pick("名称", "NAME"), "ID", pick("版本", "VERSIONS"), pick("创建", "CREATED")]);
        for dataset in datasets {
            let versions: Vec<&str> = dataset.versions.iter().map(|version| version.version.as_str()).collect();
            table.row([
                Cell::coloured(&dataset.name, Colour::Strong),
                Cell::coloured(&dataset.id, Colour::Faint),
                if versions.is_empty() { "-".into() } else { versions.join(", ").into() },
                span::ago(dataset.created_at).into(),
            ]);
        }
        table
    })
}

fn show(flags: &DatasetName) -> Outcome {
    let client = flags.ask.connect()?;
    let answer = client.dataset(&find(&client, &flags.dataset)?.id)?;
    flags.ask.show(&answer, |dataset, paint| {
        let created = Some(span::ago(dataset.created_at));
        let facts = [
            ("ID", Some(dataset.id.clone())),
            (pick("说明", "description"), dataset.description.clone()),
            (pick("创建", "created"), created),
        ];
        let versions = show::versions(&dataset.versions, paint);
        format!("{}\n\n{}{versions}", paint.bold(&dataset.name), table::facts(facts, paint))
    })
}

fn delete(flags: &DatasetName) -> Outcome {
    let client = flags.ask.connect()?;
    let answer = client.delete_dataset(&find(&client, &flags.dataset)?.id)?;
    flags.ask.done(&answer)
}

/// The dataset that is meant; an id wins over a name.
pub fn find(client: &Client, text: &str) -> Result<Dataset, CommandProblem> {
    let by_id = client.dataset(text);
    let noun = Noun { zh: "数据集", en: "dataset", list: "fermi dataset list" };
    connection::find(text, noun, by_id, |query| client.datasets(query), |dataset| &dataset.name)
}

/// The version that is meant, or the newest where none is.
pub fn version<'a>(dataset: &'a Dataset, text: Option<&str>) -> Result<&'a DatasetVersion, CommandProblem> {
    let found = match text {
        Some(text) => dataset.versions.iter().find(|version| version.id == text || version.version == text),
        // The newest is the first.
        None => dataset.versions.first(),
    };
    found.ok_or_else(|| {
        let name = &dataset.name;
        let message = match text {
            Some(text) => Text::new(
                format!("数据集 {name} 没有版本 “{text}”"),
                format!("the dataset {name} has no version '{text}'"),
            ),
            None => Text::new(format!("数据集 {name} 还没有版本"), format!("the dataset {name} has no version yet")),
        };
        let known: Vec<&str> = dataset.versions.iter().map(|version| version.version.as_str()).collect();
        let hint = if known.is_empty() {
            let line = format!("fermi dataset add-version {name} --version v1 --path DIR");
            Text::new(line.clone(), line)
        } else {
            Text::new(format!("可用的版本：{}", known.join("、")), format!("use one of: {}", known.join(", ")))
        };
        CommandProblem::not_found(message, hint)
    })
}
