//! A server without a socket: its core on a fresh folder, three environments with agents that answer, a dataset and a
//! model; requests go straight into its router.

#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response, StatusCode};
use data_encoding::HEXLOWER;
use fermi_api::link::{Heartbeat, ServerMessage};
use fermi_domain::environment::{Environment, EnvironmentKind, EnvironmentStatus, Gpus, Versions};
use fermi_domain::fleet::Identity;
use fermi_domain::ids::EnvironmentId;
use fermi_domain::units::Bytes;
use fermi_server::Vault;
use fermi_server::agents;
use fermi_server::core::{Core, CoreSettings};
use fermi_server::guard::Guard;
use fermi_server::http;
use fermi_store::chunks::LocalChunks;
use fermi_store::environments::Registration;
use fermi_store::{Store, StoreError, WriteError};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::sync::mpsc;
use tower::ServiceExt;

pub struct Cluster {
    pub core: Core,
    pub app: Router,
    /// One per environment: whom it is, the number of its line, and what the server says over it.
    lines: Vec<(EnvironmentId, u64, mpsc::Receiver<ServerMessage>)>,
    _folder: tempfile::TempDir,
}

/// What came back.
pub struct Came {
    pub status: StatusCode,
    pub headers: axum::http::HeaderMap,
    pub bytes: Vec<u8>,
}

impl Came {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap_or(Value::Null)
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

impl Cluster {
    /// The three environments of the specification as env-001 to env-003, dataset-001 with version-001, model-001.
    pub async fn start() -> Self {
        Self::start_with(CoreSettings::default()).await
    }

    /// The same, as operators have settled it.
    pub async fn start_with(settings: CoreSettings) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("snapshots")).unwrap();
        let store = Store::open(folder.path()).unwrap();
        let chunks = LocalChunks::open(&folder.path().join("streams")).unwrap();
        let (secret, vault) = ("secret".to_owned(), Vault::new("key"));
        let core = Core::new(store, chunks, secret, vault, folder.path().to_owned(), settings);
        let mut cluster = Self {
            app: Guard::default().protect(http::router(core.clone()).merge(agents::router(core.clone()))),
            core,
            lines: Vec::new(),
            _folder: folder,
        };
        for (name, gpus, zone) in [
            ("pytorch-dev-env", 2, "北京可用区A"),
            ("llm-training-env", 4, "深圳可用区C"),
            ("nlp-research-lab", 8, "上海可用区A"),
        ] {
            cluster.join(name, gpus, zone).await;
        }
        for (path, body) in [
            ("/api/v1/datasets", r#"{"name":"wiki"}"#),
            ("/api/v1/datasets/dataset-001/versions", r#"{"version":"v1","path":"/data/wiki"}"#),
            ("/api/v1/models", r#"{"name":"gpt"}"#),
        ] {
            assert_eq!(cluster.post(path, body).await.status, 200);
        }
        cluster
    }

    /// An agent comes.
    pub async fn join(&mut self, name: &str, gpus: u32, zone: &str) -> EnvironmentId {
        self.join_as(name, gpus, zone, None).await
    }

    /// One that was given this credential.
    pub async fn join_with(&mut self, name: &str, credential: &str) -> EnvironmentId {
        let digest = HEXLOWER.encode(&Sha256::digest(credential));
        let identity = Identity { instance: name.to_owned(), credential: Some(digest), ..Identity::default() };
        self.join_as(name, 1, "A", Some(identity)).await
    }

    async fn join_as(&mut self, name: &str, gpus: u32, zone: &str, identity: Option<Identity>) -> EnvironmentId {
        let environment = Environment {
            id: EnvironmentId::from(""),
            name: name.to_owned(),
            kind: EnvironmentKind::Jupyter,
            zone: Some(zone.to_owned()),
            image: Some("pytorch".to_owned()),
            gpus: vec![Gpus { model: "A100".to_owned(), memory: Bytes::from_gib(80), count: gpus }],
            cpu_cores: gpus * 8,
            memory: Bytes::from_gib(u64::from(gpus) * 64),
            address: Some("127.0.0.1".to_owned()),
            versions: Versions::default(),
            cpu_workers: 1,
            labels: Default::default(),
            declared: true,
            status: EnvironmentStatus::Running,
        };
        let new = Registration { environment, identity, labels: Default::default() };
        let written = self.core.store().write(move |tx| tx.register_environment(&new, 1)).await;
        let row = written.map_err(WriteError::<StoreError>::flatten).unwrap();
        let (words, line) = mpsc::channel(64);
        let number = self.core.hub().connect(&row.environment.id, Some("process"), &[], words).number;
        self.lines.push((row.environment.id.clone(), number, line));
        self.core.refresh_environments().await.unwrap();
        row.environment.id
    }

    /// Waits until something is so, while all agents go on living.
    pub async fn wait<T>(&mut self, what: &str, mut look: impl AsyncFnMut(&mut Self) -> Option<T>) -> T {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            for (environment, line, _) in &self.lines {
                self.core.hub().beat(environment, *line, Heartbeat::default());
            }
            if let Some(found) = look(self).await {
                return found;
            }
            assert!(Instant::now() < deadline, "{what}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// The next word to an environment.
    pub async fn word(&mut self, environment: &str) -> ServerMessage {
        self.wait("nothing was said", async |cluster: &mut Self| cluster.heard(environment)).await
    }

    /// The next word to an environment, if there is one.
    pub fn heard(&mut self, environment: &str) -> Option<ServerMessage> {
        let line = self.lines.iter_mut().find(|(id, _, _)| id.as_str() == environment);
        line.and_then(|(_, _, words)| words.try_recv().ok())
    }

    /// A piece that an agent sends.
    pub async fn piece(&self, environment: Option<&str>, path: &str, bytes: &[u8]) -> Came {
        let mut request = Request::post(path);
        if let Some(environment) = environment {
            request = request.header("x-fermi-environment", environment);
        }
        self.send(request.body(Body::from(bytes.to_vec())).unwrap()).await
    }

    pub async fn send(&self, request: Request<Body>) -> Came {
        let response: Response<Body> = self.app.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = axum::body::to_bytes(body, 64 << 20).await.unwrap().to_vec();
        Came { status: parts.status, headers: parts.headers, bytes }
    }

    /// A body that goes on.
    pub async fn stream(&self, path: &str, headers: &[(&str, &str)]) -> axum::body::BodyDataStream {
        let mut request = Request::get(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = self.app.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        assert_eq!(response.status(), 200);
        response.into_body().into_data_stream()
    }

    pub async fn get(&self, path: &str) -> Came {
        self.send(Request::get(path).body(Body::empty()).unwrap()).await
    }

    pub async fn delete(&self, path: &str) -> Came {
        self.send(Request::delete(path).body(Body::empty()).unwrap()).await
    }

    pub async fn patch(&self, path: &str, body: &str) -> Came {
        let request = Request::patch(path).header("content-type", "application/json");
        self.send(request.body(Body::from(body.to_owned())).unwrap()).await
    }

    pub async fn post(&self, path: &str, body: &str) -> Came {
        let request = Request::post(path).header("content-type", "application/json");
        self.send(request.body(Body::from(body.to_owned())).unwrap()).await
    }

    /// How much there is of everything, and the newest event.
    pub async fn picture(&self) -> Vec<u64> {
        let read: Result<_, StoreError> = self
            .core
            .store()
            .read(|view| {
                let tasks: u64 = view.count_by_phase()?.values().sum();
                let size = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
                let snapshots = size(view.snapshots()?.len());
                let environments = size(view.environments()?.len());
                Ok(vec![view.last_cursor()?, tasks, snapshots, environments])
            })
            .await;
        let mut picture = read.unwrap();
        for path in ["/api/v1/datasets?pageSize=1000", "/api/v1/models?pageSize=1000"] {
            let items = self.get(path).await.json()["data"]["items"].to_string();
            picture.push(items.len() as u64);
        }
        picture
    }
}

/// The request of the specification, word by word.
pub const CREATE: &str = r#"{
  "taskName": "gpt3-pretraining",
  "datasetId": "dataset-001",
  "datasetVersionId": "version-001",
  "modelId": "model-001",
  "launchMode": "existing",
  "distributedConfig": {
    "enabled": true,
    "nodeIds": ["env-001", "env-002", "env-003"],
    "masterNode": "env-001",
    "framework": "deepspeed",
    "strategy": {
      "dataParallel": 2,
      "pipelineParallel": 4,
      "tensorParallel": 8
    }
  }
}"#;
