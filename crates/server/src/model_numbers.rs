//! The numbers of a model: those that were given or read when it was created, else those of the catalogue.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fermi_api::v1::ModelArchitecture;
use fermi_domain::dataset::LocationKind;
use fermi_domain::language::Text;
use fermi_domain::model::{ModelShape, ShapeSource};
use fermi_planner::architecture::Architecture;
use fermi_planner::catalogue::{ModelEntry, shape_of_config};
use fermi_planner::plan::Knowledge;
use fermi_store::models::{KnownShape, Model};
use fermi_store::{StoreError, View};
use nix::libc::O_NONBLOCK;
use tokio::sync::Semaphore;

/// A configuration is short; a longer file is none.
const LONGEST_CONFIG: u64 = 1 << 20;
/// A disk that hangs holds no request for longer.
const PATIENCE: Duration = Duration::from_secs(2);
static LOOKS: Semaphore = Semaphore::const_new(4);

/// A model as it is stored.
#[derive(Clone, Debug)]
pub struct KnownModel {
    pub entry: Model,
    pub shape: Option<KnownShape>,
}

pub fn find(view: &View<'_>, id: &str) -> Result<Option<KnownModel>, StoreError> {
    let Some(entry) = view.model(id)? else { return Ok(None) };
    Ok(Some(KnownModel { entry, shape: view.model_shape(id)? }))
}

impl KnownModel {
    /// The catalogue's entry for what its path is called, else for its own name.
    fn listed(&self) -> Option<&'static ModelEntry> {
        let known = &Knowledge::builtin().catalogue;
        let by_path = self.entry.path.as_deref().and_then(|path| known.model(path.trim_end_matches('/')));
        by_path.or_else(|| known.model(&self.entry.name))
    }

    /// What the planner plans with.
    pub fn architecture(&self) -> Option<Architecture> {
        match &self.shape {
            Some(known) => Some(Architecture::of_shape(&known.shape)),
            None => self.listed().map(ModelEntry::architecture),
        }
    }

    pub fn parameters(&self) -> Option<u64> {
        self.architecture().map(|architecture| architecture.params())
    }

    /// As it is shown.
    pub fn shown(&self) -> Option<ModelArchitecture> {
        let total_parameters = self.parameters()?;
        match &self.shape {
            Some(KnownShape { source, shape }) => Some(ModelArchitecture {
                shape: shape.clone(),
                total_parameters,
                source: *source,
                catalogue_name: None,
            }),
            None => self.listed().map(|entry| ModelArchitecture {
                shape: entry.shape(),
                total_parameters,
                source: ShapeSource::Catalogue,
                catalogue_name: Some(entry.name.clone()),
            }),
        }
    }

    /// Where the numbers come from, or what to do for them to be known.
    pub fn planning(&self) -> Text {
        match (&self.shape, self.listed()) {
            (Some(KnownShape { source: ShapeSource::Config, .. }), _) => {
                Text::new("结构取自其目录中的 config.json", "its numbers are those of the config.json in its folder")
            }
            (Some(_), _) => Text::new("结构由登记者给出", "its numbers were given when it was registered"),
            (None, Some(entry)) => Text::new(
                format!("结构取自内置目录的 {}", entry.name),
                format!("its numbers are those of {} in the catalogue", entry.name),
            ),
            (None, None) => Text::new(
                "结构未知，无法预测显存与速度：重新登记并给出 architecture，或让 path 指向服务器可见、含 config.json 的目录",
                "its numbers are not known, so that memory and speed are not predicted: register it again with an \
                 architecture, or with the path of a folder with a config.json that the server sees",
            ),
        }
    }
}

/// The numbers in the config.json of a folder that this machine sees; none where there is none that can be read.
pub async fn read(path: &str) -> Option<ModelShape> {
    if !LocationKind::of(path).can_be_proven() {
        return None;
    }
    let folder = PathBuf::from(path);
    // A disk that hangs keeps its thread: so many at most.
    let turn = LOOKS.try_acquire().ok()?;
    let looking = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        config_of(&folder)
    });
    let text = tokio::time::timeout(PATIENCE, looking).await.ok()?.ok()??;
    shape_of_config(&text).ok().filter(|shape| shape.check().is_ok())
}

fn config_of(folder: &Path) -> Option<String> {
    // Anything but a file, such as a pipe, would be waited for.
    let file = File::options().read(true).custom_flags(O_NONBLOCK).open(folder.join("config.json")).ok()?;
    file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let mut text = String::new();
    file.take(LONGEST_CONFIG).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(name: &str, path: Option<&str>, shape: Option<KnownShape>) -> KnownModel {
        let entry = Model {
            id: "model-001".into(),
            name: name.into(),
            description: None,
            labels: Default::default(),
            path: path.map(str::to_owned),
            created_ms: 0,
        };
        KnownModel { entry, shape }
    }

    #[test]
    fn a_model_is_known_by_its_numbers_then_by_its_path_then_by_its_name() {
        let by_name = model("llama2-7b", None, None).shown().unwrap();
        assert_eq!((by_name.source, by_name.shape.layers), (ShapeSource::Catalogue, 32));
        let by_path = model("base", Some("facebook/opt-350m"), None);
        assert_eq!(by_path.shown().unwrap().catalogue_name.as_deref(), Some("opt-350m"));
        assert!(model("base", Some("/models/llama2-7b/"), None).architecture().is_some());
        let numbers = fermi_domain::model::ModelNumbers {
            layers: Some(2),
            hidden: Some(64),
            heads: Some(4),
            ..Default::default()
        };
        let given = KnownShape { source: ShapeSource::Given, shape: numbers.shape().unwrap() };
        let given = model("llama2-7b", None, Some(given)).shown().unwrap();
        assert_eq!((given.source, given.shape.layers), (ShapeSource::Given, 2));
        let unknown = model("mine", Some("/models/mine"), None);
        assert!(unknown.shown().is_none() && unknown.planning().en.contains("config.json"));
    }

    #[tokio::test]
    async fn numbers_are_read_from_a_folder_that_this_machine_sees() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_str().unwrap();
        assert_eq!(read(path).await, None);
        let config = r#"{"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4,
            "vocab_size": 100}"#;
        std::fs::write(folder.path().join("config.json"), config).unwrap();
        assert_eq!(read(path).await.map(|shape| (shape.layers, shape.vocab)), Some((2, 100)));
        std::fs::write(folder.path().join("config.json"), "{}").unwrap();
        assert_eq!(read(path).await, None);
        assert_eq!(read("facebook/opt-350m").await, None);
    }
}
