//! The API's resources, each request by its name.

use std::io::{BufRead, BufReader, Read};

use serde::Serialize;
use serde_json::Value;
use ureq::http::header;

use super::follow::SILENCE;
use super::{API, ApiAnswer, Client, ClientError, Follower, Query, segment};
use crate::v1::{
    BulkAnswer, BulkRequest, ChangeGroup, Check, CloneRequest, CreateAnswer, CreateDataset, CreateDatasetVersion,
    CreateGroup, CreateModel, DIGEST_HEADER, Dataset, Environment, Event, Explanation, Group, GroupRanks, Id, Launch,
    LogPiece, LogSearch, Logs, Metrics, Model, MoveAnswer, MoveWorkers, Page, Preflight, Preview, Rank, RankStart,
    ServerStatus, Snapshot, Stacks, StartGroup, StartGroupAnswer, StartPreflight, StopRequest, Stray, Stream, Task,
    TaskRow, Version, WorkerRow,
};

type Got<T> = Result<ApiAnswer<T>, ClientError>;

/// Which part of what ranks wrote is wanted.
#[derive(Clone, Debug, Default)]
pub struct LogQuery {
    /// All where none is given.
    pub rank: Option<u32>,
    pub stream: Option<Stream>,
    /// The newest where none is given.
    pub attempt: Option<u32>,
    /// Only the last lines of each stream.
    pub tail: Option<u64>,
}

impl LogQuery {
    fn query(&self) -> Query {
        Query::new()
            .with_some("rank", self.rank)
            .with_some("stream", self.stream.map(Stream::as_str))
            .with_some("attempt", self.attempt)
            .with_some("tail", self.tail)
    }
}

/// What an operator says of an environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnvironmentWord {
    Lost,
    Replace,
    Drain,
    Resume,
    Revoke,
    Rotate,
}

impl EnvironmentWord {
    fn as_str(self) -> &'static str {
        match self {
            Self::Lost => "lost",
            Self::Replace => "replace",
            Self::Drain => "drain",
            Self::Resume => "resume",
            Self::Revoke => "revoke",
            Self::Rotate => "rotate",
        }
    }
}

fn group_path(id: &str, rest: &str) -> String {
    format!("{API}/groups/{}{rest}", segment(id))
}

fn task_path(id: &str, rest: &str) -> String {
    format!("{API}/training-tasks/{}{rest}", segment(id))
}

impl Client {
    pub fn version(&self) -> Got<Version> {
        self.get("/version", &Query::new())
    }

    pub fn server_status(&self) -> Got<ServerStatus> {
        self.get(&format!("{API}/server/status"), &Query::new())
    }

    /// The runs that the server's database has never launched.
    pub fn strays(&self) -> Got<Page<Stray>> {
        self.get(&format!("{API}/server/strays"), &Query::new())
    }

    pub fn end_stray(&self, run: &str) -> Got<Value> {
        self.post(&format!("{API}/server/strays/{}/end", segment(run)), &serde_json::json!({}))
    }

    pub fn start_preflight(&self, request: &StartPreflight) -> Got<Preflight> {
        self.post(&format!("{API}/preflights"), request)
    }

    pub fn preflight(&self, id: &str) -> Got<Preflight> {
        self.get(&format!("{API}/preflights/{}", segment(id)), &Query::new())
    }

    pub fn environments(&self, query: &Query) -> Got<Page<Environment>> {
        self.get(&format!("{API}/environments"), query)
    }

    pub fn environment(&self, id: &str) -> Got<Environment> {
        self.get(&format!("{API}/environments/{}", segment(id)), &Query::new())
    }

    /// Tells the server what an operator knows of an environment.
    pub fn say_of_environment(&self, id: &str, word: EnvironmentWord) -> Got<Value> {
        self.post(&format!("{API}/environments/{}/{}", segment(id), word.as_str()), &serde_json::json!({}))
    }

    pub fn delete_environment(&self, id: &str) -> Got<Value> {
        self.delete(&format!("{API}/environments/{}", segment(id)), &Query::new())
    }

    pub fn tasks(&self, query: &Query) -> Got<Page<TaskRow>> {
        self.get(&format!("{API}/training-tasks"), query)
    }

    pub fn task(&self, id: &str) -> Got<Task> {
        self.get(&task_path(id, ""), &Query::new())
    }

    /// The request is a [`CreateRequest`](crate::v1::CreateRequest), or an object with its fields.
    pub fn create_task(&self, request: &impl Serialize) -> Got<CreateAnswer> {
        self.post(&format!("{API}/training-tasks"), request)
    }

    pub fn preview_task(&self, request: &impl Serialize) -> Got<Preview> {
        self.post(&format!("{API}/training-tasks/preview"), request)
    }

    pub fn stop_task(&self, id: &str, request: &StopRequest) -> Got<Value> {
        self.post(&task_path(id, "/stop"), request)
    }

    pub fn restart_task(&self, id: &str) -> Got<Value> {
        self.post(&task_path(id, "/restart"), &serde_json::json!({}))
    }

    pub fn clone_task(&self, id: &str, request: &CloneRequest) -> Got<CreateAnswer> {
        self.post(&task_path(id, "/clone"), request)
    }

    /// `force`: also while the rest of its logs is still to come.
    pub fn delete_task(&self, id: &str, force: bool) -> Got<Value> {
        self.delete(&task_path(id, ""), &Query::new().with_some("force", force.then_some(true)))
    }

    pub fn bulk(&self, request: &BulkRequest) -> Got<BulkAnswer> {
        self.post(&format!("{API}/training-tasks/bulk"), request)
    }

    pub fn ranks(&self, id: &str, attempt: Option<u32>) -> Got<Page<Rank>> {
        self.get(&task_path(id, "/ranks"), &Query::new().with_some("attempt", attempt))
    }

    pub fn task_metrics(&self, id: &str, query: &Query) -> Got<Metrics> {
        self.get(&task_path(id, "/metrics"), query)
    }

    pub fn task_events(&self, id: &str, query: &Query) -> Got<Page<Event>> {
        self.get(&task_path(id, "/events"), query)
    }

    pub fn explain(&self, id: &str) -> Got<Explanation> {
        self.get(&task_path(id, "/explain"), &Query::new())
    }

    pub fn stacks(&self, id: &str) -> Got<Stacks> {
        self.post(&task_path(id, "/stacks"), &serde_json::json!({}))
    }

    pub fn launch(&self, id: &str) -> Got<Launch> {
        self.get(&task_path(id, "/launch"), &Query::new())
    }

    pub fn rank_start(&self, id: &str, rank: u32, attempt: Option<u32>) -> Got<RankStart> {
        self.get(&task_path(id, "/start"), &Query::new().with("rank", rank).with_some("attempt", attempt))
    }

    pub fn logs(&self, id: &str, query: &LogQuery) -> Got<Logs> {
        self.get(&task_path(id, "/logs"), &query.query())
    }

    /// What one rank wrote to one stream, from a byte of it on.
    pub fn logs_from(&self, id: &str, attempt: u32, rank: u32, stream: Stream, offset: u64) -> Got<Logs> {
        let query = LogQuery { rank: Some(rank), stream: Some(stream), attempt: Some(attempt), tail: None }.query();
        self.get(&task_path(id, "/logs"), &query.with("offset", offset))
    }

    /// Lines with a text; a page that is empty and has a token means: not yet, look on.
    pub fn search_logs(&self, id: &str, text: &str, query: &LogQuery, token: Option<&str>) -> Got<LogSearch> {
        let query = LogQuery { tail: None, ..query.clone() }.query().with("query", text);
        self.get(&task_path(id, "/logs/search"), &query.with("limit", 1_000).with_some("pageToken", token))
    }

    /// All that was written until now, piece by piece; `hear` says whether to go on.
    pub fn read_logs(
        &self,
        id: &str,
        query: &LogQuery,
        mut hear: impl FnMut(LogPiece) -> bool,
    ) -> Result<(), ClientError> {
        let headers = [(header::ACCEPT, "application/x-ndjson".to_owned())];
        let path = format!("{}{}", task_path(id, "/logs"), query.query());
        let response = self.open_stream(&path, &headers, SILENCE)?;
        if response.status().as_u16() >= 400 {
            return self.open::<Value>(response).map(|_| ());
        }
        let cut = |error: std::io::Error| self.broken(error.into());
        for line in BufReader::new(response.into_body().into_with_config().limit(u64::MAX).reader()).lines() {
            let line = line.map_err(cut)?;
            if line.is_empty() {
                continue;
            }
            let piece = serde_json::from_str(&line).map_err(|error| self.not_understood(error))?;
            if !hear(piece) {
                break;
            }
        }
        Ok(())
    }

    /// Everything that ranks write from now on, and before that what the query asks for. Of many streams the server does not say
    /// where one reads on: opened again it begins with the last line of each, and what came before that is
    /// [`Client::logs_from`]'s.
    pub fn follow_logs(&self, id: &str, query: &LogQuery) -> Follower {
        let path = task_path(id, "/logs");
        let again = LogQuery { tail: Some(1), ..query.clone() }.query();
        self.follow(&path, &query.query(), None).again_by(format!("{path}{again}"))
    }

    /// What happens to a task, from its beginning.
    pub fn follow_task_events(&self, id: &str) -> Follower {
        self.follow(&task_path(id, "/events"), &Query::new(), None)
    }

    pub fn groups(&self, query: &Query) -> Got<Page<Group>> {
        self.get(&format!("{API}/groups"), query)
    }

    pub fn group(&self, id: &str) -> Got<Group> {
        self.get(&group_path(id, ""), &Query::new())
    }

    pub fn create_group(&self, request: &CreateGroup) -> Got<Group> {
        self.post(&format!("{API}/groups"), request)
    }

    pub fn change_group(&self, id: &str, request: &ChangeGroup) -> Got<Group> {
        self.patch(&group_path(id, ""), request)
    }

    pub fn delete_group(&self, id: &str) -> Got<Value> {
        self.delete(&group_path(id, ""), &Query::new())
    }

    pub fn move_workers(&self, id: &str, request: &MoveWorkers) -> Got<MoveAnswer> {
        self.post(&group_path(id, "/workers"), request)
    }

    pub fn group_ranks(&self, id: &str) -> Got<GroupRanks> {
        self.get(&group_path(id, "/ranks"), &Query::new())
    }

    /// Asks the nodes of a group what they find.
    pub fn check_group(&self, id: &str) -> Got<Page<Check>> {
        self.post(&group_path(id, "/check"), &serde_json::json!({}))
    }

    pub fn start_group(&self, id: &str, request: &StartGroup) -> Got<StartGroupAnswer> {
        self.post(&group_path(id, "/start"), request)
    }

    pub fn stop_group(&self, id: &str, request: &StopRequest) -> Got<BulkAnswer> {
        self.post(&group_path(id, "/stop"), request)
    }

    pub fn workers(&self, query: &Query) -> Got<Page<WorkerRow>> {
        self.get(&format!("{API}/workers"), query)
    }

    pub fn datasets(&self, query: &Query) -> Got<Page<Dataset>> {
        self.get(&format!("{API}/datasets"), query)
    }

    pub fn dataset(&self, id: &str) -> Got<Dataset> {
        self.get(&format!("{API}/datasets/{}", segment(id)), &Query::new())
    }

    pub fn create_dataset(&self, request: &CreateDataset) -> Got<Id> {
        self.post(&format!("{API}/datasets"), request)
    }

    pub fn add_dataset_version(&self, id: &str, request: &CreateDatasetVersion) -> Got<Id> {
        self.post(&format!("{API}/datasets/{}/versions", segment(id)), request)
    }

    pub fn delete_dataset(&self, id: &str) -> Got<Value> {
        self.delete(&format!("{API}/datasets/{}", segment(id)), &Query::new())
    }

    pub fn models(&self, query: &Query) -> Got<Page<Model>> {
        self.get(&format!("{API}/models"), query)
    }

    pub fn model(&self, id: &str) -> Got<Model> {
        self.get(&format!("{API}/models/{}", segment(id)), &Query::new())
    }

    pub fn create_model(&self, request: &CreateModel) -> Got<Id> {
        self.post(&format!("{API}/models"), request)
    }

    pub fn delete_model(&self, id: &str) -> Got<Value> {
        self.delete(&format!("{API}/models/{}", segment(id)), &Query::new())
    }

    /// Sends a packed folder, which the server keeps under its digest.
    pub fn upload_snapshot(&self, digest: &str, length: u64, archive: impl Read) -> Got<Snapshot> {
        let headers = [
            (header::CONTENT_TYPE, "application/gzip".to_owned()),
            (header::CONTENT_LENGTH, length.to_string()),
            (header::HeaderName::from_static(DIGEST_HEADER), digest.to_owned()),
        ];
        self.send_stream(&format!("{API}/snapshots"), &headers, archive)
    }
}
