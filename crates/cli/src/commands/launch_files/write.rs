//! The files on disk, places filled in.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use fermi_domain::language::Text;
use fermi_domain::launch::{Place, TaskLaunch};

use super::{Refused, cluster::Cluster};

/// Writes every file of the launch and `launch.json`; says what was written.
pub(super) fn all(out: &Path, launch: &TaskLaunch, cluster: &Cluster, port: u16) -> Result<Vec<PathBuf>, Refused> {
    let refused = |error: io::Error| Refused {
        text: Text::new(
            format!("无法写入 {}：{error}", out.display()),
            format!("cannot write {}: {error}", out.display()),
        ),
        hint: Text::new("换一个 --out 目录", "give another folder with --out"),
    };
    fs::create_dir_all(out).map_err(refused)?;
    let folder = fs::canonicalize(out).map_err(refused)?;
    let master = cluster.nodes.first().map(|node| node.address.clone().unwrap_or_else(|| node.name.clone()));
    let master = master.unwrap_or_else(|| "127.0.0.1".to_owned());
    let place = |place| match place {
        Place::LaunchFolder => folder.to_string_lossy().into_owned(),
        Place::OutputFolder => "outputs".to_owned(),
        Place::CheckpointFolder => "outputs/checkpoints".to_owned(),
        Place::SourceFolder => ".".to_owned(),
        Place::Fermi => "fermi".to_owned(),
        Place::Python => "python".to_owned(),
        Place::MasterAddress => master.clone(),
        Place::MasterPort => port.to_string(),
        // Each node has its own; what is empty is left to the library's choice.
        Place::Interface => String::new(),
    };
    let mut written = Vec::new();
    for file in &launch.files {
        let path = out.join(&file.path);
        fs::write(&path, file.text.fill(place)).map_err(refused)?;
        written.push(path);
    }
    let path = out.join("launch.json");
    let json = serde_json::to_string_pretty(launch).unwrap_or_default();
    fs::write(&path, json + "\n").map_err(refused)?;
    written.push(path);
    Ok(written)
}
