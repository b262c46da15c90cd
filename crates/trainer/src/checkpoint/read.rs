//! Reading one checkpoint, and telling damage from difference.

use std::fs;
use std::path::Path;

use super::header::{Header, Identity, VERSION};
use super::state::State;
use crate::fingerprint::{fingerprint, hexadecimal};

#[derive(Debug)]
pub(crate) enum Damage {
    /// Not what was once written; an older checkpoint may be whole.
    Torn(String),
    /// Whole, but of another training; an older one will not be better.
    Different(String),
}

pub(crate) fn read(path: &Path, step: u64, identity: &Identity) -> Result<State, Damage> {
    let header = fs::read(path.join("header.json")).map_err(|error| Damage::Torn(format!("header.json: {error}")))?;
    let header: Header =
        serde_json::from_slice(&header).map_err(|error| Damage::Torn(format!("header.json: {error}")))?;
    if header.version != VERSION {
        let version = header.version;
        return Err(Damage::Different(format!("it has format version {version}, and this release writes {VERSION}")));
    }
    if header.step != step {
        return Err(Damage::Torn(format!("header.json is of step {}", header.step)));
    }
    if let Some(difference) = header.identity.difference(identity) {
        return Err(Damage::Different(difference));
    }
    let bytes = fs::read(path.join("state.bin")).map_err(|error| Damage::Torn(format!("state.bin: {error}")))?;
    let count = identity.parameters;
    if bytes.len() != 3 * count * 4 {
        return Err(Damage::Torn("state.bin is shorter or longer than its header says".to_owned()));
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
        return Err(Damage::Torn("its checksum is wrong".to_owned()));
    }
    Ok(state)
}
