//! Requests and answers of `/api/v1`, one file per resource.
//!
//! Field names are camelCase. Every answer stands in an [`Envelope`]; sentences inside `data` come in both languages as a
//! `Text`, those in the envelope itself in the caller's. Fields are added, never renamed or removed within a version.

mod access;
mod action;
mod dataset;
mod envelope;
mod environment;
mod event;
mod explain;
mod framework;
mod group;
mod health;
mod launch;
mod ledger;
mod log;
mod metric;
mod model;
mod overview;
mod page;
mod plan;
mod plans;
mod preflight;
mod preview;
mod principal;
mod rank;
mod server_status;
mod snapshot;
mod stacks;
mod start;
mod task;
mod verdict;
mod warning;
mod webhook;

pub use access::{
    ChangeUser, CreateToken, CreateUser, DeniedDeed, LinkUser, LogIn, LoggedOut, MadeToken, Secret, Session,
    SetPassword, SetSecret, Token, User,
};
pub use action::{Action, AllowedAction, BulkAnswer, BulkRequest, BulkResult, BulkVerb, CloneRequest, StopRequest};
pub use dataset::{CreateDataset, CreateDatasetVersion, Dataset, DatasetVersion, DatasetVisibility};
pub use envelope::{Empty, Envelope, ErrorBody, Failure, Id};
pub use environment::{Environment, EnvironmentMetrics, GpuNow, MachineNow, MachinePoint, Worker};
pub use event::Event;
pub use explain::{Explanation, NodeWish, QueuePlace, QueuedTask, ReservedWorkers, WaitingFor};
pub use fermi_domain::validation::{CreateRequest, RequestedCommand, RequestedNodes, RequestedRecipe};
pub use framework::{FrameworkCard, FrameworkSetting, StrategyCard};
pub use group::{
    ChangeGroup, Check, CreateGroup, Group, GroupConfig, GroupConfigChange, GroupProblem, GroupRank, GroupRanks,
    GroupTask, MoveAnswer, MoveWorkers, StartGroup, StartGroupAnswer, WorkerRow, WorkerStatus,
};
pub use health::{BackgroundLoop, LastRun, Readiness, Version};
pub use launch::{Launch, LaunchFile, LaunchNode, LaunchRank};
pub use ledger::{Ledger, LedgerCause};
pub use log::{LogChunk, LogGap, LogMatch, LogPiece, LogSearch, Logs, Stream};
pub use metric::{Metrics, Point, Series};
pub use model::{CreateModel, Model, ModelArchitecture};
pub use overview::{EnvironmentCounts, Overview, WorkerCounts};
pub use page::{MOST_PER_PAGE, Page, USUAL_PER_PAGE};
pub use plan::{Plan, PlanId, PlanSuggestion};
pub use plans::{PlanChoice, PlanPoint, PlanRemedy, PlanReport, PlanRequest, PlannedLayout, PlannedMemory};
pub use preflight::{Preflight, PreflightNode, StartPreflight};
pub use preview::{CardLine, Preview};
pub use principal::{Principal, PrincipalKind};
pub use rank::{Rank, RankState};
pub use server_status::{DiskStatus, KeptKind, ServerStatus, Stray};
pub use snapshot::{DIGEST_HEADER, Snapshot};
pub use stacks::Stacks;
pub use start::RankStart;
pub use task::{Attempt, CreateAnswer, DistributedInfo, Progress, Task, TaskCourse, TaskNode, TaskRow, TaskStatus};
pub use verdict::{FailedRank, OtherFailure, Verdict};
pub use warning::Warning;
pub use webhook::{CreateWebhook, Webhook};
