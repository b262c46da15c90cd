//! One checkpoint: what is in it, how it is written, and how reading tells damage from difference.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use fermi_domain::language::{Text, reason};
use serde::{Deserialize, Serialize};

use crate::config::TrainerConfig;
use crate::fingerprint::{fingerprint, hexadecimal};

const VERSION: u32 = 1;

/// The readable part of a checkpoint.
const HEADER: &str = "header.json";
const STATE: &str = "state.bin";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Header {
    pub version: u32,
    pub step: u64,
    pub identity: Identity,
    pub first_loss: f32,
    pub last_loss: f32,
    /// Over all of `state.bin`.
    pub checksum: String,
}

/// What must be the same for a run to be continued; anything else, such as the number of ranks, may change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Identity {
    pub preset: String,
    pub seq_len: usize,
    pub global_batch: usize,
    pub seed: u64,
    pub parameters: usize,
}

impl Identity {
    pub fn new(config: &TrainerConfig, parameters: usize) -> Self {
        Self {
            preset: config.preset.to_string(),
            seq_len: config.sequence_length(),
            global_batch: config.global_batch,
            seed: config.seed,
            parameters,
        }
    }

    /// The first difference, as a sentence about the checkpoint and this run.
    pub fn difference(&self, wanted: &Identity) -> Option<Text> {
        let fields = [
            ("预设", "preset", self.preset.clone(), wanted.preset.clone()),
            ("序列长度", "sequence length", self.seq_len.to_string(), wanted.seq_len.to_string()),
            ("全局批次", "global batch", self.global_batch.to_string(), wanted.global_batch.to_string()),
            ("种子", "seed", self.seed.to_string(), wanted.seed.to_string()),
            ("参数量", "parameter count", self.parameters.to_string(), wanted.parameters.to_string()),
        ];
        let (zh, en, theirs, ours) = fields.into_iter().find(|(.., theirs, ours)| theirs != ours)?;
        Some(Text::new(
            format!("其{zh}为 {theirs}，本次运行要求 {ours}"),
            format!("it has {en} {theirs}, and this run asks for {ours}"),
        ))
    }
}

/// All that training changes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct State {
    /// The steps done so far.
    pub step: u64,
    /// The losses of the run's first and newest step; NaN before there is one.
    pub first_loss: f32,
    pub last_loss: f32,
    pub parameters: Vec<f32>,
    /// The optimizer's running mean of each gradient, and of its square.
    pub first: Vec<f32>,
    pub second: Vec<f32>,
}

impl State {
    pub fn new(parameters: Vec<f32>) -> Self {
        let zeros = vec![0.0; parameters.len()];
        Self { step: 0, first_loss: f32::NAN, last_loss: f32::NAN, first: zeros.clone(), second: zeros, parameters }
    }

    pub fn tensors(&self) -> [&[f32]; 3] {
        [&self.parameters, &self.first, &self.second]
    }

    pub fn tensors_mut(&mut self) -> [&mut Vec<f32>; 3] {
        [&mut self.parameters, &mut self.first, &mut self.second]
    }
}

/// Why a checkpoint cannot be used.
#[derive(Debug)]
pub(crate) enum Damage {
    /// Not what was once written; an older checkpoint may be whole.
    Torn(Text),
    /// Whole, but of another training; an older one will not be better.
    Different(Text),
}

pub(crate) fn read(path: &Path, step: u64, identity: &Identity) -> Result<State, Damage> {
    let torn =
        |file: &str, why: Text| Damage::Torn(Text::new(format!("{file}：{}", why.zh), format!("{file}: {}", why.en)));
    let header = fs::read(path.join(HEADER)).map_err(|error| torn(HEADER, reason::of_io(&error)))?;
    let header: Header = serde_json::from_slice(&header).map_err(|error| torn(HEADER, reason::of_json(&error)))?;
    if header.version != VERSION {
        let version = header.version;
        return Err(Damage::Different(Text::new(
            format!("其格式版本为 {version}，本版本写的是 {VERSION}"),
            format!("it has format version {version}, and this release writes {VERSION}"),
        )));
    }
    if header.step != step {
        let of = header.step;
        return Err(Damage::Torn(Text::new(format!("{HEADER} 是第 {of} 步的"), format!("{HEADER} is of step {of}"))));
    }
    if let Some(difference) = header.identity.difference(identity) {
        return Err(Damage::Different(difference));
    }
    let bytes = fs::read(path.join(STATE)).map_err(|error| torn(STATE, reason::of_io(&error)))?;
    let count = identity.parameters;
    if bytes.len() != 3 * count * 4 {
        return Err(Damage::Torn(Text::new(
            format!("{STATE} 的长度与其文件头所述不符"),
            format!("{STATE} is shorter or longer than its header says"),
        )));
    }
    let decode = |part: usize| -> Vec<f32> {
        let bytes = bytes[part * count * 4..(part + 1) * count * 4].chunks_exact(4);
        bytes.map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])).collect()
    };
    let state = State {
        step,
        first_loss: header.first_loss,
        last_loss: header.last_loss,
        parameters: decode(0),
        first: decode(1),
        second: decode(2),
    };
    if hexadecimal(fingerprint(state.tensors())) != header.checksum {
        return Err(Damage::Torn(Text::new("其校验和不对", "its checksum is wrong")));
    }
    Ok(state)
}

/// Writes one checkpoint so that a crash at any moment leaves it whole or absent.
pub(crate) fn write(folder: &Path, path: &Path, state: &State, identity: &Identity) -> io::Result<()> {
    let header = Header {
        version: VERSION,
        step: state.step,
        identity: identity.clone(),
        first_loss: state.first_loss,
        last_loss: state.last_loss,
        checksum: hexadecimal(fingerprint(state.tensors())),
    };
    fs::create_dir_all(folder)?;
    let unfinished = folder.join(".unfinished");
    remove(&unfinished)?;
    fs::create_dir(&unfinished)?;
    write_synced(&unfinished.join("header.json"), |file| {
        serde_json::to_writer_pretty(&mut *file, &header)?;
        file.write_all(b"\n")
    })?;
    write_synced(&unfinished.join("state.bin"), |file| {
        state.tensors().into_iter().flatten().try_for_each(|value| file.write_all(&value.to_le_bytes()))
    })?;
    sync(&unfinished)?;
    // A folder of this name can only be a damaged one that the run had to fall back behind.
    remove(path)?;
    fs::rename(&unfinished, path)?;
    sync(folder)
}

pub(crate) fn write_latest(folder: &Path, step: u64) -> io::Result<()> {
    let unfinished = folder.join(".latest");
    write_synced(&unfinished, |file| writeln!(file, "step-{step}"))?;
    fs::rename(&unfinished, folder.join("latest"))?;
    sync(folder)
}

fn write_synced(path: &Path, content: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> io::Result<()> {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    content(&mut file)?;
    file.into_inner()?.sync_all()
}

/// Without this a crash of the machine may forget names that were just made or moved.
fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
