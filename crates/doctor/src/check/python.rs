//! Python and the engines in it, beside the driver.

use fermi_domain::language::Text;
use fermi_domain::preflight::PreflightEngine;

use crate::facts::{EngineAnswer, GpuFacts, JaxFacts, PythonFacts, TorchFacts};
use crate::{Finding, Topic};

pub fn check(python: Option<&PythonFacts>, gpus: Option<&GpuFacts>) -> Vec<Finding> {
    let Some(python) = python else {
        let text = Text::new("没有查询 Python；Fermi 自己不需要它", "no Python was asked; Fermi itself needs none");
        return vec![Finding::skipped("python.version", Topic::Python, text)];
    };
    let path = &python.path;
    if python.is_missing {
        let text = Text::new(
            format!("PYTHON_EXEC 指向的“{path}”不是可执行的程序"),
            format!("PYTHON_EXEC names \"{path}\", which is no program"),
        );
        let fix =
            Text::new("改正它，或不设置：fermi run 也会拒绝", "correct it, or leave it out: fermi run refuses it too");
        return vec![Finding::error("python.version", Topic::Python, text).fix(fix, "unset PYTHON_EXEC")];
    }
    let Some(version) = &python.version else {
        let text = Text::new(format!("{path} 没有应答"), format!("{path} does not answer"));
        let fix = Text::new("看看它能否启动", "see whether it starts");
        return vec![Finding::error("python.version", Topic::Python, text).fix(fix, format!("{path} --version"))];
    };
    let mut findings = vec![Finding::ok(
        "python.version",
        Topic::Python,
        Text::new(format!("Python {version}（{path}）"), format!("Python {version} ({path})")),
    )];
    findings.extend(torch(python, gpus));
    findings.extend(packages(python));
    findings.extend(jax(&python.jax, gpus));
    findings.extend(listed(python));
    findings
}

/// What a person has asked for by `--engine`, as far as it is not said already.
fn listed(python: &PythonFacts) -> Option<Finding> {
    match (python.listed?, &python.torch, &python.jax) {
        (PreflightEngine::Torch, EngineAnswer::Imported(TorchFacts { device_names: Some(names), .. }), _) => {
            let names = counted(names);
            let text = Text::new(format!("torch 看到的设备：{names}"), format!("devices by torch: {names}"));
            Some(Finding::ok("engine.devices", Topic::Python, text))
        }
        (PreflightEngine::Jax, _, EngineAnswer::NotAsked) => {
            let text = Text::new("没有安装 JAX", "JAX is not installed");
            Some(Finding::skipped("python.jax", Topic::Python, text))
        }
        _ => None,
    }
}

/// `8 × NVIDIA H100`, and different ones one after the other.
pub(super) fn counted(devices: &[String]) -> String {
    let mut counted: Vec<(&String, usize)> = Vec::new();
    for device in devices {
        match counted.iter_mut().find(|(name, _)| *name == device) {
            Some((_, count)) => *count += 1,
            None => counted.push((device, 1)),
        }
    }
    let each = counted.into_iter().map(|(name, n)| if n == 1 { name.clone() } else { format!("{n} × {name}") });
    each.collect::<Vec<_>>().join(", ")
}

fn torch(python: &PythonFacts, gpus: Option<&GpuFacts>) -> Vec<Finding> {
    let path = &python.path;
    let name = "python.torch";
    match &python.torch {
        EngineAnswer::NotAsked => {
            let text = Text::new("没有安装 PyTorch", "PyTorch is not installed");
            vec![Finding::skipped(name, Topic::Python, text)]
        }
        EngineAnswer::Late { seconds } => {
            let text = Text::new(
                format!("{seconds} 秒内没能导入 torch"),
                format!("torch could not be imported within {seconds} s"),
            );
            let fix = Text::new(
                "单独导入并计时；环境在网络盘上时常这样",
                "time the import; it is often so where the environment is on a network disk",
            );
            vec![Finding::warning(name, Topic::Python, text).fix(fix, format!("time {path} -c 'import torch'"))]
        }
        EngineAnswer::Failed { reason } => {
            let text = Text::new("torch 无法导入", "torch cannot be imported");
            let fix = Text::new("重新安装 PyTorch", "install PyTorch anew");
            vec![
                Finding::error(name, Topic::Python, text)
                    .seen(Text::new(reason.clone(), reason.clone()))
                    .fix(fix, format!("{path} -m pip install --force-reinstall torch")),
            ]
        }
        EngineAnswer::Imported(torch) => imported(torch, path, gpus),
    }
}

fn imported(torch: &TorchFacts, path: &str, gpus: Option<&GpuFacts>) -> Vec<Finding> {
    let version = &torch.version;
    if !torch.has_distributed {
        let text = Text::new(
            format!("torch {version} 不含 torch.distributed，无法分布式训练"),
            format!("torch {version} is built without torch.distributed: it cannot train in several processes"),
        );
        let fix = Text::new("安装官方构建", "install an official build");
        return vec![
            Finding::error("python.torch", Topic::Python, text)
                .fix(fix, format!("{path} -m pip install --force-reinstall torch")),
        ];
    }
    let backends = [(torch.has_nccl, "nccl"), (torch.has_gloo, "gloo")];
    let backends: Vec<&str> = backends.into_iter().filter(|(has, _)| *has).map(|(_, name)| name).collect();
    let backends = backends.join(", ");
    let nccl = torch.nccl.as_deref().map(|it| format!(", NCCL {it}")).unwrap_or_default();
    let cuda = torch.cuda.as_deref().map_or_else(|| "CPU".to_owned(), |cuda| format!("CUDA {cuda}"));
    let shown = format!("torch {version} ({cuda}{nccl}), torch.distributed: {backends}");
    let mut findings = vec![Finding::ok("python.torch", Topic::Python, Text::new(shown.clone(), shown))];
    findings.extend(gpus.and_then(|gpus| beside_driver(torch, path, gpus)));
    findings
}

fn beside_driver(torch: &TorchFacts, path: &str, gpus: &GpuFacts) -> Option<Finding> {
    let count = gpus.gpus.len();
    let Some(cuda) = &torch.cuda else {
        let text = Text::new(
            format!("torch 是 CPU 版，用不上 {count} 块 GPU"),
            format!("torch is built for the CPU and does not use the {count} GPUs"),
        );
        let fix = Text::new("安装带 CUDA 的构建", "install a build with CUDA");
        return Some(
            Finding::error("python.cuda", Topic::Python, text)
                .fix(fix, format!("{path} -m pip install --force-reinstall torch")),
        );
    };
    let major = |version: &str| version.split('.').next().and_then(|it| it.parse::<u32>().ok());
    let driver = gpus.cuda.as_deref().unwrap_or_default();
    let is_too_new = major(cuda).zip(major(driver)).is_some_and(|(of_torch, most)| of_torch > most);
    if torch.devices == 0 && is_too_new {
        let text = Text::new(
            format!("torch 需要 CUDA {cuda}，驱动只支持到 {driver}"),
            format!("torch wants CUDA {cuda}, the driver goes up to {driver}"),
        );
        let fix = Text::new(
            format!("升级驱动，或安装为 CUDA {driver} 构建的 torch"),
            format!("upgrade the driver, or install a torch that was built for CUDA {driver}"),
        );
        return Some(
            Finding::error("python.cuda", Topic::Python, text)
                .fix(fix, "nvidia-smi --query-gpu=driver_version --format=csv"),
        );
    }
    (torch.devices < count).then(|| {
        let seen = torch.devices;
        let text = Text::new(
            format!("torch 只看到 {count} 块 GPU 中的 {seen} 块"),
            format!("torch sees {seen} of {count} GPUs"),
        );
        let fix = Text::new("检查 CUDA_VISIBLE_DEVICES 与驱动", "look at CUDA_VISIBLE_DEVICES and the driver");
        let finding = if seen == 0 { Finding::error } else { Finding::warning }("python.cuda", Topic::Python, text);
        finding.fix(fix, format!("{path} -c 'import torch; torch.cuda.init()'"))
    })
}

/// Versions of what else is installed, for people to compare.
fn packages(python: &PythonFacts) -> Option<Finding> {
    let named = python.packages.iter().filter(|(name, _)| *name != "torch");
    let shown = named.map(|(name, version)| format!("{name} {version}")).collect::<Vec<_>>().join(", ");
    (!shown.is_empty()).then(|| Finding::ok("python.packages", Topic::Python, Text::new(shown.clone(), shown)))
}

fn jax(answer: &EngineAnswer<JaxFacts>, gpus: Option<&GpuFacts>) -> Option<Finding> {
    let name = "python.jax";
    match answer {
        EngineAnswer::NotAsked => None,
        EngineAnswer::Imported(jax) => {
            let devices = jax.devices.join(", ");
            let shown = format!("jax {}: {devices}", jax.version);
            let is_on_cpu = jax.devices.iter().all(|device| device.to_ascii_lowercase().contains("cpu"));
            if gpus.is_some() && is_on_cpu {
                let text =
                    Text::new(format!("JAX 没有用上 GPU（{shown}）"), format!("JAX does not use the GPUs ({shown})"));
                let fix = Text::new("安装带 CUDA 的 JAX", "install JAX with CUDA");
                return Some(
                    Finding::error(name, Topic::Python, text).fix(fix, "python -m pip install -U 'jax[cuda12]'"),
                );
            }
            Some(Finding::ok(name, Topic::Python, Text::new(shown.clone(), shown)))
        }
        EngineAnswer::Failed { reason } => {
            let text = Text::new("JAX 无法使用", "JAX cannot be used");
            let fix = Text::new("看看它怎么说", "see what it says");
            Some(
                Finding::error(name, Topic::Python, text)
                    .seen(Text::new(reason.clone(), reason.clone()))
                    .fix(fix, "python -c 'import jax; print(jax.devices())'"),
            )
        }
        EngineAnswer::Late { seconds } => {
            let text = Text::new(
                format!("JAX 在 {seconds} 秒内没有列出设备"),
                format!("JAX did not list its devices within {seconds} s"),
            );
            let fix = Text::new("单独运行并计时", "time it alone");
            Some(
                Finding::warning(name, Topic::Python, text)
                    .fix(fix, "time python -c 'import jax; print(jax.devices())'"),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use fermi_hardware::gpu_health::GpuHealth;

    use super::super::tests::states;
    use super::*;
    use crate::State::{self, Error, Ok, Skipped, Warning};

    fn python(torch: EngineAnswer<TorchFacts>) -> PythonFacts {
        PythonFacts { path: "/venv/bin/python".into(), version: Some("3.11.2".into()), torch, ..PythonFacts::default() }
    }

    fn torch(cuda: Option<&str>, devices: usize) -> EngineAnswer<TorchFacts> {
        EngineAnswer::Imported(TorchFacts {
            version: "2.9.0".into(),
            cuda: cuda.map(str::to_owned),
            devices,
            has_distributed: true,
            has_gloo: true,
            ..TorchFacts::default()
        })
    }

    fn found(torch: EngineAnswer<TorchFacts>, gpu_count: usize) -> Vec<(&'static str, State)> {
        let gpus =
            GpuFacts { cuda: Some("12.4".into()), gpus: vec![GpuHealth::default(); gpu_count], ..GpuFacts::default() };
        states(&check(Some(&python(torch)), (gpu_count > 0).then_some(&gpus)))[1..].to_vec()
    }

    #[test]
    fn torch_is_judged_beside_the_driver() {
        assert_eq!(found(torch(None, 0), 0), [("python.torch", Ok)]);
        assert_eq!(found(torch(Some("12.4"), 8), 8), [("python.torch", Ok)]);
        for (case, state) in [
            (torch(None, 0), Error),
            (torch(Some("13.0"), 0), Error),
            (torch(Some("12.8"), 0), Error),
            (torch(Some("12.4"), 4), Warning),
        ] {
            assert_eq!(found(case.clone(), 8), [("python.torch", Ok), ("python.cuda", state)], "{case:?}");
        }
    }

    #[test]
    fn the_devices_of_the_engine_that_is_asked_for_are_listed() {
        let with = |names: Option<&[&str]>, listed| {
            let names = names.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
            let facts = TorchFacts { has_distributed: true, device_names: names, ..TorchFacts::default() };
            let python = PythonFacts { listed, ..python(EngineAnswer::Imported(facts)) };
            let last = check(Some(&python), None).pop().unwrap();
            (last.check.to_string(), last.text.en.to_string())
        };
        let torch = Some(PreflightEngine::Torch);
        assert_eq!(
            with(Some(&["H200", "H200"]), torch),
            ("engine.devices".into(), "devices by torch: 2 × H200".into())
        );
        assert_eq!(with(Some(&["cpu"]), torch).1, "devices by torch: cpu");
        assert_eq!(with(None, None).0, "python.torch");
        assert_eq!(with(None, Some(PreflightEngine::Jax)), ("python.jax".into(), "JAX is not installed".into()));
        let missing = PythonFacts { path: "/no/such".into(), is_missing: true, ..PythonFacts::default() };
        assert!(check(Some(&missing), None)[0].text.en.contains("PYTHON_EXEC names \"/no/such\""));
    }

    #[test]
    fn what_is_missing_late_or_broken_is_told_apart() {
        assert_eq!(found(EngineAnswer::NotAsked, 0), [("python.torch", Skipped)]);
        assert_eq!(found(EngineAnswer::Late { seconds: 30 }, 0), [("python.torch", Warning)]);
        assert_eq!(found(EngineAnswer::Failed { reason: "OSError".into() }, 0), [("python.torch", Error)]);
        let without = EngineAnswer::Imported(TorchFacts::default());
        assert_eq!(found(without, 0), [("python.torch", Error)]);
        assert_eq!(states(&check(None, None)), [("python.version", Skipped)]);
        assert_eq!(states(&check(Some(&PythonFacts::default()), None)), [("python.version", Error)]);
    }
}
