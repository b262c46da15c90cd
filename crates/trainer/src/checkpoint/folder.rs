//! The folder of one run's checkpoints: what is in it, and how much of it is kept.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use fermi_domain::language::{Text, reason};

use super::file::{Damage, Identity, State, read, write, write_latest};

/// The newest and those before it: one may be damaged, and a node that was killed while it saved lacks the newest.
const KEPT: usize = 3;

#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    #[error("the checkpoint folder {} cannot be read", folder.display())]
    Unreadable {
        folder: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the checkpoint of step {step} cannot be written to {}", folder.display())]
    Unwritable {
        folder: PathBuf,
        step: u64,
        #[source]
        source: io::Error,
    },
    #[error("{} belongs to another training: {}; choose another folder or the same settings", path.display(), .difference.en)]
    Different { path: PathBuf, difference: Text },
    #[error("the checkpoint {} is not usable: {}", path.display(), .reason.en)]
    Unusable { path: PathBuf, reason: Text },
    #[error(
        "{} already holds a checkpoint of step {step}; resume from it, or choose an empty folder",
        folder.display()
    )]
    Occupied { folder: PathBuf, step: u64 },
}

impl CheckpointError {
    /// What is so, with what lies behind it.
    pub fn text(&self) -> Text {
        match self {
            Self::Unreadable { folder, source } => {
                let (folder, why) = (folder.display(), reason::of_io(source));
                Text::new(
                    format!("无法读取检查点文件夹 {folder}：{}", why.zh),
                    format!("the checkpoint folder {folder} cannot be read: {}", why.en),
                )
            }
            Self::Unwritable { folder, step, source } => {
                let (folder, why) = (folder.display(), reason::of_io(source));
                Text::new(
                    format!("无法把第 {step} 步的检查点写入 {folder}：{}", why.zh),
                    format!("the checkpoint of step {step} cannot be written to {folder}: {}", why.en),
                )
            }
            Self::Different { path, difference } => {
                let path = path.display();
                Text::new(
                    format!("{path} 属于另一次训练：{}", difference.zh),
                    format!("{path} belongs to another training: {}", difference.en),
                )
            }
            Self::Unusable { path, reason } => {
                let path = path.display();
                Text::new(
                    format!("检查点 {path} 不可用：{}", reason.zh),
                    format!("the checkpoint {path} is not usable: {}", reason.en),
                )
            }
            Self::Occupied { folder, step } => {
                let folder = folder.display();
                Text::new(
                    format!("{folder} 中已有第 {step} 步的检查点"),
                    format!("{folder} already holds a checkpoint of step {step}"),
                )
            }
        }
    }

    pub fn hint(&self) -> Text {
        match self {
            Self::Unreadable { .. } | Self::Unwritable { .. } => Text::new(
                "检查它的权限与磁盘，或用 --checkpoint-dir 换一个",
                "look at its permissions and its disk, or name another with --checkpoint-dir",
            ),
            Self::Different { .. } => {
                Text::new("换一个文件夹，或用相同的设置", "choose another folder or the same settings")
            }
            Self::Unusable { .. } => {
                Text::new("从另一步继续，或换一个文件夹", "resume from another step, or choose another folder")
            }
            Self::Occupied { .. } => Text::new(
                "用 --resume 从它继续，或换一个空文件夹",
                "resume from it with --resume, or choose an empty folder",
            ),
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Folder {
    path: PathBuf,
}

/// The newest usable checkpoint, and a sentence for each newer one that was not usable.
#[derive(Debug)]
pub(crate) struct Newest {
    pub state: Option<State>,
    pub warnings: Vec<Text>,
}

impl Folder {
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    pub fn path_of(&self, step: u64) -> PathBuf {
        self.path.join(format!("step-{step}"))
    }

    /// A fresh run must not mix its checkpoints with those of an earlier one: it would not be clear later which is newer.
    pub fn require_empty(&self) -> Result<(), CheckpointError> {
        match self.steps()?.first() {
            None => Ok(()),
            Some(step) => Err(CheckpointError::Occupied { folder: self.path.clone(), step: *step }),
        }
    }

    pub fn newest(&self, identity: &Identity) -> Result<Newest, CheckpointError> {
        let mut warnings = Vec::new();
        for step in self.steps()? {
            let path = self.path_of(step);
            match read(&path, step, identity) {
                Ok(state) => return Ok(Newest { state: Some(state), warnings }),
                Err(Damage::Different(difference)) => return Err(CheckpointError::Different { path, difference }),
                Err(Damage::Torn(reason)) => {
                    let path = path.display();
                    warnings.push(Text::new(
                        format!("警告：{path} 不可用（{}），尝试它之前的一个", reason.zh),
                        format!("warning: {path} is not usable ({}), trying the one before", reason.en),
                    ));
                }
            }
        }
        Ok(Newest { state: None, warnings })
    }

    /// The checkpoint of this step and no other: all nodes were told the same.
    pub fn exactly(&self, step: u64, identity: &Identity) -> Result<State, CheckpointError> {
        let path = self.path_of(step);
        read(&path, step, identity).map_err(|damage| match damage {
            Damage::Different(difference) => CheckpointError::Different { path, difference },
            Damage::Torn(reason) => CheckpointError::Unusable { path, reason },
        })
    }

    /// Writes a checkpoint and then drops those that are no longer needed, in this order.
    pub fn save(&self, state: &State, identity: &Identity) -> Result<PathBuf, CheckpointError> {
        let unwritable = |source| CheckpointError::Unwritable { folder: self.path.clone(), step: state.step, source };
        let path = self.path_of(state.step);
        write(&self.path, &path, state, identity).map_err(unwritable)?;
        write_latest(&self.path, state.step).map_err(unwritable)?;
        for step in self.steps()?.into_iter().filter(|step| *step <= state.step).skip(KEPT) {
            // One too many is no reason to end a training.
            let _ = fs::remove_dir_all(self.path_of(step));
        }
        Ok(path)
    }

    /// The steps that have a folder, newest first. What is still being written has another name.
    fn steps(&self) -> Result<Vec<u64>, CheckpointError> {
        let unreadable = |source| CheckpointError::Unreadable { folder: self.path.clone(), source };
        let entries = match fs::read_dir(&self.path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(unreadable(error)),
        };
        let mut steps: Vec<u64> = Vec::new();
        for entry in entries {
            let name = entry.map_err(unreadable)?.file_name();
            let step =
                name.to_str().and_then(|name| name.strip_prefix("step-")).and_then(|step| step.parse::<u64>().ok());
            steps.extend(step);
        }
        steps.sort_unstable_by(|left, right| right.cmp(left));
        Ok(steps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(parameters: usize) -> Identity {
        Identity { preset: "tiny".into(), seq_len: 8, global_batch: 4, seed: 1, parameters }
    }

    fn state(step: u64) -> State {
        let mut state = State::new(vec![step as f32, 0.1, -2.5e-30]);
        state.step = step;
        state.first_loss = 5.5;
        state.last_loss = 3.000_000_2;
        state.first = vec![1e-9, 2.0, 3.0];
        state.second = vec![4.0, 5.0, f32::MIN_POSITIVE];
        state
    }

    fn saved(steps: &[u64]) -> (tempfile::TempDir, Folder) {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::new(&root.path().join("checkpoints"));
        for step in steps {
            folder.save(&state(*step), &identity(3)).unwrap();
        }
        (root, folder)
    }

    #[test]
    fn what_was_saved_comes_back_bit_for_bit() {
        let (_root, folder) = saved(&[7]);
        let newest = folder.newest(&identity(3)).unwrap();
        assert_eq!((newest.state, newest.warnings), (Some(state(7)), vec![]));
    }

    #[test]
    fn the_newest_three_are_kept_and_latest_names_the_newest() {
        let (_root, folder) = saved(&[8, 9, 10, 100]);
        assert_eq!(folder.steps().unwrap(), [100, 10, 9]);
        assert_eq!(fs::read_to_string(folder.path.join("latest")).unwrap(), "step-100\n");
        let names = fs::read_dir(&folder.path).unwrap().count();
        assert_eq!(names, 4, "nothing unfinished is left behind");
    }

    #[test]
    fn the_step_that_was_asked_for_is_read_and_newer_ones_stay_when_it_goes_on_from_there() {
        let (_root, folder) = saved(&[10, 20, 30]);
        assert_eq!(folder.exactly(10, &identity(3)).unwrap(), state(10));
        assert!(matches!(folder.exactly(15, &identity(3)), Err(CheckpointError::Unusable { .. })));
        assert!(matches!(folder.exactly(20, &identity(4)), Err(CheckpointError::Different { .. })));
        folder.save(&state(11), &identity(3)).unwrap();
        assert_eq!(folder.steps().unwrap(), [30, 20, 11, 10]);
    }

    #[test]
    fn a_torn_or_corrupt_checkpoint_falls_back_to_the_one_before_with_a_warning() {
        type Harm = fn(&Path);
        let harms: [(&str, Harm); 4] = [
            ("is shorter or longer than its header says", |path| {
                let bytes = fs::read(path.join("state.bin")).unwrap();
                fs::write(path.join("state.bin"), &bytes[..20]).unwrap();
            }),
            ("its checksum is wrong", |path| {
                let mut bytes = fs::read(path.join("state.bin")).unwrap();
                bytes[17] ^= 4;
                fs::write(path.join("state.bin"), bytes).unwrap();
            }),
            ("header.json", |path| fs::remove_file(path.join("header.json")).unwrap()),
            ("header.json", |path| fs::write(path.join("header.json"), "{\"version\":").unwrap()),
        ];
        for (reason, harm) in harms {
            let (_root, folder) = saved(&[1, 2]);
            harm(&folder.path_of(2));
            let newest = folder.newest(&identity(3)).unwrap();
            assert_eq!(newest.state.unwrap().step, 1);
            assert!(newest.warnings[0].en.contains(reason), "{:?}", newest.warnings);
        }
    }

    #[test]
    fn another_shape_is_an_error_that_says_what_differs() {
        let (_root, folder) = saved(&[5]);
        let error = folder.newest(&Identity { seq_len: 16, ..identity(3) }).unwrap_err().to_string();
        assert!(error.contains("it has sequence length 8, and this run asks for 16"), "{error}");
    }

    #[test]
    fn a_fresh_run_refuses_a_folder_that_is_taken() {
        let (_root, folder) = saved(&[5]);
        assert!(folder.require_empty().unwrap_err().to_string().contains("already holds a checkpoint of step 5"));
        assert!(Folder::new(&folder.path.join("elsewhere")).require_empty().is_ok());
    }

    #[test]
    fn a_step_that_is_reached_again_replaces_its_checkpoint() {
        let (_root, folder) = saved(&[4]);
        fs::write(folder.path_of(4).join("state.bin"), "torn").unwrap();
        folder.save(&state(4), &identity(3)).unwrap();
        assert_eq!(folder.newest(&identity(3)).unwrap().state, Some(state(4)));
    }
}
