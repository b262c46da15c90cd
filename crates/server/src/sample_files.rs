//! Means of what machines did, in files that grow by a line each ten seconds and are cut to the last hour: a restart of the
//! server leaves no hole in a chart but the time that it took.
//!
//! `<data>/samples/<environment>.ndjson`, one object per line: `t` Unix milliseconds, `m` the machine, `g` its GPUs. Ranks are
//! left out: they are of tasks, and many.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use fermi_api::link::{GpuSample, MachineSample};
use fermi_domain::ids::EnvironmentId;
use serde::{Deserialize, Serialize};

use crate::samples::Sample;

/// A file with more lines than this is cut to the newest.
const MOST_LINES: usize = 720;
const KEPT_LINES: usize = 360;
const ENDING: &str = "ndjson";

#[derive(Serialize, Deserialize)]
struct Line {
    t: u64,
    m: MachineSample,
    #[serde(default)]
    g: Vec<GpuSample>,
}

impl From<&Sample> for Line {
    fn from(sample: &Sample) -> Self {
        Self { t: sample.time_ms, m: sample.machine.clone(), g: sample.gpus.clone() }
    }
}

/// An id is a word of ours; one that is not has no file.
fn file(folder: &Path, environment: &EnvironmentId) -> Option<PathBuf> {
    let id = environment.as_str();
    let is_plain = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    is_plain.then(|| folder.join(format!("{id}.{ENDING}")))
}

fn lines(path: &Path) -> Vec<Line> {
    let text = fermi_named_file::read_plain(path).unwrap_or_default();
    // A line that was cut by a crash is no loss.
    text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

/// What was kept of all environments.
pub fn read(folder: &Path) -> Vec<(EnvironmentId, Vec<Sample>)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let files = entries.filter(|path| path.extension().is_some_and(|ending| ending == ENDING));
    files
        .filter_map(|path| {
            let id = EnvironmentId(path.file_stem()?.to_str()?.to_owned());
            let sample = |Line { t, m, g }| Sample { time_ms: t, machine: m, gpus: g, ranks: Vec::new() };
            Some((id, lines(&path).into_iter().map(sample).collect()))
        })
        .collect()
}

/// When the newest mean that is kept of an environment was; 0 where none is.
pub fn last(folder: &Path, environment: &EnvironmentId) -> u64 {
    file(folder, environment).and_then(|path| lines(&path).last().map(|line| line.t)).unwrap_or(0)
}

/// Keeps more. A file that has grown long is written anew.
pub fn append(folder: &Path, news: &[(EnvironmentId, Vec<Sample>)]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for (environment, means) in news {
        let Some(path) = file(folder, environment) else { continue };
        // Behind a line that was cut the next one stands alone.
        let mut text = b"\n".to_vec();
        for mean in means {
            serde_json::to_writer(&mut text, &Line::from(mean))?;
            text.push(b'\n');
        }
        File::options().create(true).append(true).open(&path)?.write_all(&text)?;
        let all = lines(&path);
        if all.len() > MOST_LINES {
            rewrite(&path, &all[all.len() - KEPT_LINES..])?;
        }
    }
    Ok(())
}

fn rewrite(path: &Path, kept: &[Line]) -> io::Result<()> {
    let mut text = Vec::new();
    for line in kept {
        serde_json::to_writer(&mut text, line)?;
        text.push(b'\n');
    }
    let draft = path.with_extension("new");
    fs::write(&draft, text)?;
    fs::rename(draft, path)
}

/// Removes the files of environments that are not there any more. Answers with how many files are left, and their bytes.
pub fn tidy(folder: &Path, is_known: impl Fn(&EnvironmentId) -> bool) -> (u64, u64) {
    let (mut files, mut bytes) = (0, 0);
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let id = path.file_stem().and_then(|id| id.to_str()).map(|id| EnvironmentId(id.to_owned()));
        if id.is_some_and(|id| !is_known(&id)) {
            // One that stays is looked at again.
            let _ = fs::remove_file(&path);
        } else {
            files += 1;
            bytes += entry.metadata().map_or(0, |about| about.len());
        }
    }
    (files, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(time_ms: u64) -> Sample {
        Sample { time_ms, machine: MachineSample { cpu: 0.5, ..MachineSample::default() }, ..Sample::default() }
    }

    #[test]
    fn means_come_back_and_a_file_stays_short() {
        let folder = tempfile::tempdir().unwrap();
        let id = EnvironmentId::from("env-001");
        assert_eq!(last(folder.path(), &id), 0);
        for time_ms in 1..=1_000 {
            append(folder.path(), &[(id.clone(), vec![mean(time_ms)])]).unwrap();
        }
        let kept = read(folder.path());
        let times: Vec<u64> = kept[0].1.iter().map(|sample| sample.time_ms).collect();
        assert_eq!((kept[0].0.clone(), times.last().copied()), (id.clone(), Some(1_000)));
        assert!((KEPT_LINES..=MOST_LINES).contains(&times.len()), "{}", times.len());
        assert_eq!(last(folder.path(), &id), 1_000);
        let odd = EnvironmentId::from("../../etc/passwd");
        append(folder.path(), &[(odd, vec![mean(1)])]).unwrap();
        assert_eq!(read(folder.path()).len(), 1, "an id that is none of ours has no file");
        assert_eq!(tidy(folder.path(), |_| false).0, 0);
    }
}
