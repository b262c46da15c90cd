//! Why a create request was refused: what is wrong, in which field, and what to do (`told.rs`).

mod told;

use thiserror::Error;

use crate::{
    ids::EnvironmentId,
    language::{Explained, Hint, Text},
    task::Strategy,
    unseen::UnseenLetter,
};

/// The first mistake of a request.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", self.text().en)]
pub enum RequestRefusal {
    NameRequired,
    NameTooLong {
        letters: usize,
        most: usize,
    },
    NameWithControlCharacters,
    NameWithUnseenLetter(UnseenLetter),
    /// It would be taken for an id, or for a word that stands for one.
    NameReserved {
        name: String,
    },
    DatasetRequired,
    /// The form chooses a dataset with its version, so the sentence is the same.
    DatasetVersionRequired,
    EnvironmentRequired,
    EnvironmentTwice {
        id: EnvironmentId,
    },
    EnvironmentUnknown {
        id: EnvironmentId,
    },
    EnvironmentOffline {
        name: String,
    },
    DistributedDisabled {
        nodes: usize,
    },
    MasterInvalid,
    FrameworkRequired,
    FrameworkUnknown {
        value: String,
    },
    StrategyZero,
    CommandEmpty,
    CommandInvalid,
    CommandAndRecipe,
    VariableInvalid {
        name: String,
    },
    /// A variable and a secret of the same name.
    VariableTwice {
        name: String,
    },
    SecretUnknown {
        name: String,
    },
    RecipeUnknown {
        name: String,
    },
    RecipeSettings {
        has_both: bool,
    },
    WorkersUnknown {
        name: String,
        count: u32,
    },
    LabelsInvalid,
    LabelWithUnseenLetter(UnseenLetter),
    /// Port 0 cannot be reached.
    MasterPortInvalid,
    CheckpointFolderInvalid {
        path: String,
    },
    /// A path that no node has, and a terminal would obey.
    PathWithControlCharacters {
        field: &'static str,
    },
    MasterAddressInvalid {
        given: String,
    },
    /// The launch mode `auto` picks by something that is no word.
    AutoWordInvalid {
        field: &'static str,
    },
    /// The launch mode `auto` with numbers that mean nothing.
    AutoInvalid {
        most: u32,
    },
    /// The launch mode `auto`, and environments by name.
    AutoWithEnvironments,
    /// `policies.timeLimit` of 0, or longer than anything lasts.
    TimeLimitInvalid,
    /// The launch mode `new`: machines are not made.
    NewNotSupported,
    /// `policies.onDisconnect.stopAfter` of less than [`OnDisconnect::SHORTEST`](crate::task::OnDisconnect::SHORTEST).
    StopAfterTooShort,
    StartTimeoutInvalid,
    NodeLostAfterTooShort,
    /// A span of the policies that is longer than [`LONGEST_SPAN`](crate::validation::LONGEST_SPAN).
    SpanTooLong {
        field: &'static str,
    },
    /// `policies.stop.checkpoint.signal` that no script can obey.
    CheckpointSignalInvalid {
        signal: i32,
    },
    /// `policies.onHang` says restart, and `options.hook` leaves the ranks alone.
    HangWithoutHook,
    /// `policies.warm` asks for parked interpreters, and `options.hook` leaves the ranks alone.
    WarmWithoutHook,
    DatasetUnknown {
        id: String,
    },
    DatasetVersionUnknown {
        id: String,
    },
    ModelUnknown {
        id: String,
    },
    SnapshotUnknown {
        digest: String,
    },
    LayoutMismatch {
        strategy: Strategy,
        ranks: u32,
        fitting: Vec<Strategy>,
    },
}

impl RequestRefusal {
    /// The path in the request.
    fn path(&self) -> &'static str {
        match self {
            Self::NameRequired
            | Self::NameTooLong { .. }
            | Self::NameWithControlCharacters
            | Self::NameReserved { .. }
            | Self::NameWithUnseenLetter(_) => "taskName",
            Self::DatasetRequired => "datasetId",
            Self::DatasetVersionRequired => "datasetVersionId",
            Self::EnvironmentRequired
            | Self::EnvironmentTwice { .. }
            | Self::EnvironmentUnknown { .. }
            | Self::EnvironmentOffline { .. } => "distributedConfig.nodeIds",
            Self::DistributedDisabled { .. } => "distributedConfig.enabled",
            Self::MasterInvalid => "distributedConfig.masterNode",
            Self::FrameworkRequired | Self::FrameworkUnknown { .. } => "distributedConfig.framework",
            Self::StrategyZero | Self::LayoutMismatch { .. } => "distributedConfig.strategy",
            Self::CommandEmpty | Self::CommandInvalid => "command.argv",
            Self::CommandAndRecipe => "recipe",
            Self::VariableInvalid { .. } => "command.env",
            Self::VariableTwice { .. } | Self::SecretUnknown { .. } => "command.secrets",
            Self::RecipeUnknown { .. } => "recipe.name",
            Self::RecipeSettings { .. } => "options.training",
            Self::WorkersUnknown { .. } => "distributedConfig.workers",
            Self::LabelsInvalid | Self::LabelWithUnseenLetter(_) => "labels",
            Self::MasterPortInvalid => "options.masterPort",
            Self::CheckpointFolderInvalid { .. } => "options.checkpointDir",
            Self::PathWithControlCharacters { field } | Self::SpanTooLong { field } => field,
            Self::MasterAddressInvalid { .. } => "options.masterAddress",
            Self::AutoInvalid { .. } | Self::AutoWordInvalid { .. } | Self::NewNotSupported => "launchMode",
            Self::AutoWithEnvironments => "distributedConfig.nodeIds",
            Self::TimeLimitInvalid => "policies.timeLimit",
            Self::StopAfterTooShort => "policies.onDisconnect",
            Self::StartTimeoutInvalid => "policies.startTimeout",
            Self::NodeLostAfterTooShort => "policies.nodeLostAfter",
            Self::CheckpointSignalInvalid { .. } => "policies.stop.checkpoint.signal",
            Self::HangWithoutHook => "policies.onHang",
            Self::WarmWithoutHook => "policies.warm",
            Self::DatasetUnknown { .. } => "datasetId",
            Self::DatasetVersionUnknown { .. } => "datasetVersionId",
            Self::ModelUnknown { .. } => "modelId",
            Self::SnapshotUnknown { .. } => "source.snapshot",
        }
    }
}

impl Explained for RequestRefusal {
    fn id(&self) -> &'static str {
        match self {
            Self::NameRequired => "name_required",
            Self::NameTooLong { .. } => "name_too_long",
            Self::NameWithControlCharacters => "name_control_characters",
            Self::NameWithUnseenLetter(letter) => letter.id(),
            Self::NameReserved { .. } => "name_reserved",
            Self::DatasetRequired | Self::DatasetVersionRequired => "dataset_required",
            Self::EnvironmentRequired => "environment_required",
            Self::EnvironmentTwice { .. } => "environment_duplicate",
            Self::EnvironmentUnknown { .. } => "environment_unknown",
            Self::EnvironmentOffline { .. } => "environment_offline",
            Self::DistributedDisabled { .. } => "distributed_disabled",
            Self::MasterInvalid => "master_invalid",
            Self::FrameworkRequired => "framework_required",
            Self::FrameworkUnknown { .. } => "framework_unknown",
            Self::StrategyZero => "strategy_invalid",
            Self::CommandEmpty => "command_required",
            Self::CommandInvalid => "command_invalid",
            Self::CommandAndRecipe => "command_and_recipe",
            Self::VariableInvalid { .. } => "variable_invalid",
            Self::VariableTwice { .. } => "variable_twice",
            Self::SecretUnknown { .. } => "secret_unknown",
            Self::RecipeUnknown { .. } => "recipe_unknown",
            Self::RecipeSettings { .. } => "recipe_settings",
            Self::WorkersUnknown { .. } => "workers_unknown",
            Self::LabelsInvalid | Self::LabelWithUnseenLetter(_) => "labels_invalid",
            Self::MasterPortInvalid => "master_port_invalid",
            Self::CheckpointFolderInvalid { .. } => "checkpoint_folder_invalid",
            Self::PathWithControlCharacters { .. } => "path_invalid",
            Self::MasterAddressInvalid { .. } => "master_address_invalid",
            Self::AutoInvalid { .. } => "auto_invalid",
            Self::AutoWordInvalid { .. } => "auto_word_invalid",
            Self::AutoWithEnvironments => "auto_with_environments",
            Self::TimeLimitInvalid => "time_limit_invalid",
            Self::NewNotSupported => "new_not_supported",
            Self::StopAfterTooShort => "stop_after_too_short",
            Self::StartTimeoutInvalid => "start_timeout_invalid",
            Self::NodeLostAfterTooShort => "node_lost_after_too_short",
            Self::SpanTooLong { .. } => "span_too_long",
            Self::CheckpointSignalInvalid { .. } => "checkpoint_signal_invalid",
            Self::HangWithoutHook => "hang_without_hook",
            Self::WarmWithoutHook => "warm_without_hook",
            Self::DatasetUnknown { .. } => "dataset_unknown",
            Self::DatasetVersionUnknown { .. } => "dataset_version_unknown",
            Self::ModelUnknown { .. } => "model_unknown",
            Self::SnapshotUnknown { .. } => "snapshot_unknown",
            Self::LayoutMismatch { .. } => "layout_mismatch",
        }
    }

    fn field(&self) -> Option<String> {
        Some(self.path().to_owned())
    }

    fn text(&self) -> Text {
        self.told().0
    }

    fn hint(&self) -> Option<Hint> {
        Some(self.told().1)
    }
}
