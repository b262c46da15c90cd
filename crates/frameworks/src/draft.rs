//! A launch while it is being put together.

use fermi_domain::{
    contract,
    contract::engines,
    language::Text,
    launch::{LaunchFile, NodePart, Placeholder, RankLaunch, Serves, TaskLaunch, Template},
    rank_map::RankSlot,
    task::Work,
};

use crate::{backend, network, order::LaunchOrder, refusal::LaunchRefusal, work};

/// What frameworks add to.
#[derive(Debug)]
pub(crate) struct Draft {
    pub backend: &'static str,
    /// What the task itself runs; frameworks add behind it, in `engine_args`.
    program: Vec<Template>,
    pub engine_args: Vec<Template>,
    pub files: Vec<LaunchFile>,
    pub env: Variables,
    /// Of each rank alone, in the order of ranks.
    pub rank_env: Vec<Variables>,
    pub serves: Serves,
    pub hosts_store: bool,
    pub notes: Vec<Text>,
}

/// Variables in the order in which they were set, each once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Variables(Vec<(String, Template)>);

impl Variables {
    /// The later value wins.
    pub(crate) fn set(&mut self, name: &str, value: impl Into<Template>) {
        let value = value.into();
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name.to_owned(), value)),
        }
    }

    /// Numbers and flags as people write them in variables.
    pub(crate) fn set_display(&mut self, name: &str, value: impl std::fmt::Display) {
        self.set(name, value.to_string());
    }
}

impl Draft {
    /// What every framework gets.
    pub(crate) fn begin(order: &LaunchOrder<'_>) -> Result<Self, LaunchRefusal> {
        let (backend, note) = backend::resolve(order)?;
        let mut draft = Self {
            backend,
            program: work::argv(&order.spec.work)?,
            engine_args: Vec::new(),
            files: Vec::new(),
            env: Variables::default(),
            rank_env: vec![Variables::default(); order.ranks.slots().len()],
            serves: Serves::Nothing,
            hosts_store: false,
            notes: note.into_iter().chain(work::nested_launcher(&order.spec.work)).collect(),
        };
        draft.choices(order);
        network::add(order, &mut draft)?;
        Ok(draft)
    }

    /// What the user chose in the form, as variables.
    fn choices(&mut self, order: &LaunchOrder<'_>) {
        let dataset = order.spec.dataset.as_ref();
        let given = [
            (engines::FERMI_DATASET_PATH, order.dataset_path.clone()),
            (engines::FERMI_DATASET_ID, dataset.map(|dataset| dataset.dataset_id.clone())),
            (engines::FERMI_DATASET_VERSION_ID, dataset.map(|dataset| dataset.dataset_version_id.clone())),
            (engines::FERMI_MODEL_PATH, order.model_path.clone()),
            (engines::FERMI_MODEL_ID, order.spec.model_id.clone()),
        ];
        for (name, value) in given {
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                self.env.set(name, value);
            }
        }
        self.env.set(contract::FERMI_BACKEND, self.backend);
        self.env.set(engines::FERMI_LAUNCH_DIR, Template::placeholder(Placeholder::LaunchFolder));
        if let Some(strategy) = order.spec.distributed.strategy {
            self.env.set_display(engines::FERMI_DATA_PARALLEL, strategy.data_parallel);
            self.env.set_display(engines::FERMI_PIPELINE_PARALLEL, strategy.pipeline_parallel);
            self.env.set_display(engines::FERMI_TENSOR_PARALLEL, strategy.tensor_parallel);
        }
    }

    /// Adds a file and says where it will lie.
    pub(crate) fn file(&mut self, path: &str, text: impl Into<Template>) -> Template {
        self.files.push(LaunchFile { path: path.to_owned(), text: text.into() });
        Template::placeholder(Placeholder::LaunchFolder).then(format!("/{path}"))
    }

    /// Sets a variable of each rank.
    pub(crate) fn each_rank(&mut self, order: &LaunchOrder<'_>, mut set: impl FnMut(&RankSlot, &mut Variables)) {
        for (slot, variables) in order.ranks.slots().iter().zip(&mut self.rank_env) {
            set(slot, variables);
        }
    }

    /// Whether the argv is the user's own, so that arguments for an engine make sense behind it.
    pub(crate) fn runs_users_program(order: &LaunchOrder<'_>) -> bool {
        matches!(order.spec.work, Work::Command { .. })
    }

    /// The whole launch; the user's own variables win over all that was decided.
    pub(crate) fn finish(mut self, order: &LaunchOrder<'_>) -> TaskLaunch {
        let mut directory = None;
        if let Work::Command { env, directory: given, .. } | Work::Recipe { env, directory: given, .. } =
            &order.spec.work
        {
            for (name, value) in env {
                self.env.set(name, value.as_str());
                for variables in &mut self.rank_env {
                    variables.0.retain(|(known, _)| known != name);
                }
            }
            directory.clone_from(given);
        }
        let mut rank_env = self.rank_env.into_iter();
        let nodes = order.ranks.nodes().map(|node| NodePart {
            environment: node.environment.clone(),
            name: node.node.to_owned(),
            node_rank: node.node_rank,
            ranks: node.slots.iter().map(|slot| rank(slot, rank_env.next().unwrap_or_default())).collect(),
        });
        TaskLaunch {
            program: self.program,
            engine_args: self.engine_args,
            directory,
            files: self.files,
            env: self.env.0,
            nodes: nodes.collect(),
            serves: self.serves,
            hosts_store: self.hosts_store,
            notes: self.notes,
        }
    }
}

fn rank(slot: &RankSlot, variables: Variables) -> RankLaunch {
    RankLaunch { rank: slot.rank, worker: slot.worker.clone(), gpu: slot.gpu, env: variables.0 }
}
