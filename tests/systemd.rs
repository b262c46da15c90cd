//! The units that are shipped: systemd understands them, and an agent's restart leaves its ranks alone.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

fn unit(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../packaging/systemd").join(name)
}

#[test]
fn systemd_understands_the_units() {
    let Ok(version) = Command::new("systemd-analyze").arg("--version").output() else {
        eprintln!("left out: systemd-analyze is not installed, so that the units were not parsed");
        return;
    };
    assert!(version.status.success());
    for name in ["fermi-agent.service", "fermi-server.service"] {
        let folder = tempfile::tempdir().unwrap();
        // The binary is where the package puts it; here it is anywhere.
        let text = fs::read_to_string(unit(name)).unwrap().replace("/usr/bin/fermi", env!("CARGO_BIN_EXE_fermi"));
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        let verified = Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&path).output().unwrap();
        let said = String::from_utf8_lossy(&verified.stderr);
        let ours: Vec<&str> = said.lines().filter(|line| line.contains(name)).collect();
        assert!(ours.is_empty(), "{ours:#?}");
    }
}

#[test]
fn a_restart_of_the_agents_unit_ends_no_rank() {
    let text = fs::read_to_string(unit("fermi-agent.service")).unwrap();
    for line in ["KillMode=process", "Delegate=yes", "OOMPolicy=continue"] {
        assert!(text.lines().any(|found| found == line), "{line}");
    }
}
