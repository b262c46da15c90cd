//! Writing one checkpoint so that a crash at any moment leaves it whole or absent.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::header::{Header, Identity, VERSION};
use super::state::State;
use crate::fingerprint::{fingerprint, hexadecimal};

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
