//! What this machine has, as a hello says it.

use std::fs;
use std::path::Path;

use fermi_api::link::{ABILITY_INTERFACE, ABILITY_PREFLIGHT, Hello, LINK_VERSION};
use fermi_attempt::launch::PythonSearch;
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
        newest_task: None,
        abilities: [ABILITY_PREFLIGHT, ABILITY_INTERFACE].map(str::to_owned).into(),
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
    let python = PythonSearch::by_variables().usual().ok();
    let installed = python.as_deref().and_then(installed_beside).unwrap_or_default();
    Versions {
        agent: Some(env!("CARGO_PKG_VERSION").to_owned()),
        python: installed.python,
        torch: installed.torch,
        cuda: gpus.and_then(gpu::Gpus::cuda_version),
        driver: gpus.and_then(gpu::Gpus::driver_version),
        nccl: None,
    }
}

/// The versions of an interpreter and of the torch that it imports.
#[derive(Debug, Default, PartialEq, Eq)]
struct Installed {
    python: Option<String>,
    torch: Option<String>,
}

/// What lies around an interpreter: in the environment in whose `bin` it stands, else where its links lead.
fn installed_beside(python: &Path) -> Option<Installed> {
    let environment = prefix(python)?;
    if python_version(environment).is_some() {
        return Some(Installed { python: python_version(environment), torch: torch_version(environment) });
    }
    let real = fs::canonicalize(python).ok()?;
    let installation = prefix(&real)?;
    // Debian keeps what pip installs for the system's Python apart from the system's own packages.
    let torch = torch_version(installation).or_else(|| torch_version(&installation.join("local")));
    Some(Installed { python: python_version(installation), torch })
}

/// The folder that has `bin/python`.
fn prefix(python: &Path) -> Option<&Path> {
    python.parent()?.parent()
}

/// As a virtual environment, a conda environment or a Python's own header says it.
fn python_version(prefix: &Path) -> Option<String> {
    of_virtual_environment(prefix).or_else(|| of_conda(prefix)).or_else(|| of_header(prefix))
}

fn of_virtual_environment(prefix: &Path) -> Option<String> {
    let config = fs::read_to_string(prefix.join("pyvenv.cfg")).ok()?;
    let value = |name: &str| {
        config.lines().find_map(|line| {
            let (key, value) = line.split_once('=')?;
            (key.trim() == name).then(|| value.trim().to_owned())
        })
    };
    value("version").or_else(|| value("version_info"))
}

/// `conda-meta/python-3.11.7-h955ad1f_0.json`.
fn of_conda(prefix: &Path) -> Option<String> {
    names_in(&prefix.join("conda-meta")).find_map(|name| {
        let (version, build) = name.strip_prefix("python-")?.split_once('-')?;
        let is_version = version.starts_with(|c: char| c.is_ascii_digit()) && build.ends_with(".json");
        is_version.then(|| version.to_owned())
    })
}

/// `include/python3.11/patchlevel.h`, where a Python was built or its headers are installed; of several, none is sure.
fn of_header(prefix: &Path) -> Option<String> {
    let include = prefix.join("include");
    let mut found = names_in(&include).filter_map(|name| {
        let header = fs::read_to_string(include.join(name).join("patchlevel.h")).ok()?;
        let line = header.lines().find(|line| line.starts_with("#define PY_VERSION "))?;
        line.split('"').nth(1).map(str::to_owned)
    });
    found.next().filter(|_| found.next().is_none())
}

fn torch_version(prefix: &Path) -> Option<String> {
    let lib = prefix.join("lib");
    let text = names_in(&lib).find_map(|python| {
        let packages = ["site-packages", "dist-packages"].map(|packages| lib.join(&python).join(packages));
        packages.iter().find_map(|packages| fs::read_to_string(packages.join("torch/version.py")).ok())
    })?;
    let line = text.lines().find(|line| line.starts_with("__version__"))?;
    line.split(['\'', '"']).nth(1).map(str::to_owned)
}

/// Those that begin with `python`, where there is such a folder.
fn names_in(folder: &Path) -> impl Iterator<Item = String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).filter(|name| name.starts_with("python"))
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
        let python = folder.path().join("bin/python");
        let found = || installed_beside(&python).unwrap_or_default();
        let whole = |version: &str| Installed { python: Some(version.into()), torch: Some("2.9.0+cu128".into()) };
        fs::write(folder.path().join("pyvenv.cfg"), "home = /usr/bin\nversion = 3.11.2\n").unwrap();
        assert_eq!(found(), whole("3.11.2"), "a virtual environment");
        fs::remove_file(folder.path().join("pyvenv.cfg")).unwrap();
        fs::create_dir(folder.path().join("conda-meta")).unwrap();
        for name in ["python-dateutil-2.9.0-py_0.json", "python-3.11.7-h955ad1f_0.json"] {
            fs::write(folder.path().join("conda-meta").join(name), "{}").unwrap();
        }
        assert_eq!(found(), whole("3.11.7"), "a conda environment");
        fs::remove_dir_all(folder.path().join("conda-meta")).unwrap();
        assert_eq!(found(), Installed::default(), "there is no interpreter at all");
    }

    #[test]
    fn an_interpreter_that_is_a_link_is_known_by_where_it_leads() {
        let folder = tempfile::tempdir().unwrap();
        let [real, link] = ["opt/bin/python3.11", "usr/bin/python"].map(|name| folder.path().join(name));
        let headers = folder.path().join("opt/include/python3.11");
        let torch = folder.path().join("opt/local/lib/python3.11/dist-packages/torch");
        for made in [real.parent().unwrap(), link.parent().unwrap(), &headers, &torch] {
            fs::create_dir_all(made).unwrap();
        }
        fs::write(&real, "").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        fs::write(headers.join("patchlevel.h"), "#define PY_MINOR 11\n#define PY_VERSION      \"3.11.9\"\n").unwrap();
        fs::write(torch.join("version.py"), "__version__ = \"2.9.0\"\n").unwrap();
        let found = installed_beside(&link).unwrap();
        assert_eq!(found, Installed { python: Some("3.11.9".into()), torch: Some("2.9.0".into()) });
        let other = folder.path().join("opt/include/python3.12");
        fs::create_dir(&other).unwrap();
        fs::write(other.join("patchlevel.h"), "#define PY_VERSION \"3.12.1\"\n").unwrap();
        assert_eq!(installed_beside(&link).unwrap().python, None, "one of two");
    }
}
