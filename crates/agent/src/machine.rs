//! What this machine has, as a hello says it.

use std::fs;
use std::path::{Path, PathBuf};

use fermi_api::link::{ABILITY_PREFLIGHT, Hello, LINK_VERSION};
use fermi_domain::contract;
use fermi_domain::environment::{Gpus, Versions};
use fermi_domain::units::Bytes;
use fermi_hardware::gpu::{self, Gpu};
use fermi_hardware::{cpu, memory};
use fermi_process::procfs;

use crate::identity;
use crate::options::AgentOptions;

/// Looks at the machine. The runs are filled in at each hello.
pub fn hello(options: &AgentOptions, instance: &str, gpus: Option<&gpu::Gpus>) -> Hello {
    let declared = options.declared.clone().unwrap_or_default();
    let found = gpus.map(gpu::Gpus::list).unwrap_or_default();
    let visible = std::env::var(contract::CUDA_VISIBLE_DEVICES).ok();
    Hello {
        version: LINK_VERSION,
        fermi: env!("CARGO_PKG_VERSION").to_owned(),
        instance: instance.to_owned(),
        machine: identity::machine(),
        process: identity::random().ok(),
        credential: None,
        seal: None,
        next_seal: None,
        pending_seals: Vec::new(),
        name: options.name.clone(),
        kind: options.kind,
        zone: options.zone.clone(),
        image: options.image.clone(),
        labels: options.labels.clone(),
        cpu_workers: options.cpu_workers,
        gpus: declared.gpus.clone().unwrap_or_else(|| by_model(&usable(found, visible.as_deref()))),
        cpu_cores: declared.cpus.unwrap_or_else(|| u32::try_from(cpu::allowed().len()).unwrap_or(u32::MAX)),
        memory: declared.memory.unwrap_or_else(|| Bytes(memory::measure().total)),
        declared: options.declared.is_some(),
        address: options.address.clone(),
        versions: versions(gpus),
        boot: procfs::boot_id().unwrap_or_default(),
        runs: Vec::new(),
        cluster: None,
        seen: None,
        abilities: vec![ABILITY_PREFLIGHT.to_owned()],
    }
}

/// The GPUs that CUDA_VISIBLE_DEVICES leaves us, in its order. Names other than numbers are counted, not looked up.
fn usable(found: Vec<Gpu>, visible: Option<&str>) -> Vec<Gpu> {
    let Some(list) = visible else { return found };
    let named = gpu::visible_devices(list);
    named
        .iter()
        .filter_map(|name| match name.parse::<usize>() {
            Ok(index) => found.get(index).cloned(),
            Err(_) => found.first().cloned(),
        })
        .collect()
}

/// Neighbours of one model together: a worker's number is its GPU's place in this list.
fn by_model(gpus: &[Gpu]) -> Vec<Gpus> {
    let mut groups: Vec<Gpus> = Vec::new();
    for gpu in gpus {
        match groups.last_mut() {
            Some(last) if last.model == gpu.model && last.memory == Bytes(gpu.memory) => last.count += 1,
            _ => groups.push(Gpus { model: gpu.model.clone(), memory: Bytes(gpu.memory), count: 1 }),
        }
    }
    groups
}

/// What can be known without starting anything: asking Python itself would take seconds.
fn versions(gpus: Option<&gpu::Gpus>) -> Versions {
    let environment = std::env::var_os(contract::VIRTUAL_ENV).map(PathBuf::from);
    Versions {
        agent: Some(env!("CARGO_PKG_VERSION").to_owned()),
        python: environment.as_deref().and_then(python_version),
        torch: environment.as_deref().and_then(torch_version),
        cuda: gpus.and_then(gpu::Gpus::cuda_version),
        driver: gpus.and_then(gpu::Gpus::driver_version),
        nccl: None,
    }
}

fn python_version(environment: &Path) -> Option<String> {
    let config = fs::read_to_string(environment.join("pyvenv.cfg")).ok()?;
    let value = |name: &str| {
        config.lines().find_map(|line| {
            let (key, value) = line.split_once('=')?;
            (key.trim() == name).then(|| value.trim().to_owned())
        })
    };
    value("version").or_else(|| value("version_info"))
}

fn torch_version(environment: &Path) -> Option<String> {
    let pythons = fs::read_dir(environment.join("lib")).ok()?.flatten();
    let text = pythons
        .into_iter()
        .find_map(|python| fs::read_to_string(python.path().join("site-packages/torch/version.py")).ok())?;
    let line = text.lines().find(|line| line.starts_with("__version__"))?;
    line.split(['\'', '"']).nth(1).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpu(index: u32, model: &str) -> Gpu {
        Gpu { index, model: model.into(), memory: 80 << 30 }
    }

    #[test]
    fn gpus_are_grouped_without_changing_their_order() {
        let gpus = [gpu(0, "A100"), gpu(1, "A100"), gpu(2, "T4"), gpu(3, "A100")];
        let counts: Vec<(String, u32)> = by_model(&gpus).into_iter().map(|g| (g.model, g.count)).collect();
        assert_eq!(counts, [("A100".into(), 2), ("T4".into(), 1), ("A100".into(), 1)]);
    }

    #[test]
    fn only_the_visible_ones_count() {
        let found = vec![gpu(0, "A"), gpu(1, "B"), gpu(2, "C")];
        let names =
            |visible: Option<&str>| usable(found.clone(), visible).into_iter().map(|gpu| gpu.model).collect::<Vec<_>>();
        assert_eq!(names(None), ["A", "B", "C"]);
        assert_eq!(names(Some("2,0")), ["C", "A"]);
        assert_eq!(names(Some("")), Vec::<String>::new());
        assert_eq!(names(Some("1,9")), ["B"]);
    }

    #[test]
    fn versions_are_read_without_starting_python() {
        let folder = tempfile::tempdir().unwrap();
        let torch = folder.path().join("lib/python3.11/site-packages/torch");
        fs::create_dir_all(&torch).unwrap();
        fs::write(torch.join("version.py"), "from typing import Optional\n__version__ = '2.9.0+cu128'\n").unwrap();
        fs::write(folder.path().join("pyvenv.cfg"), "home = /usr/bin\nversion = 3.11.2\n").unwrap();
        assert_eq!(torch_version(folder.path()).as_deref(), Some("2.9.0+cu128"));
        assert_eq!(python_version(folder.path()).as_deref(), Some("3.11.2"));
    }
}
