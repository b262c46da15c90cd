//! Which GPUs the ranks see.

use fermi_domain::messages::run::RunProblem;

use super::flags::RunFlags;

/// The value of CUDA_VISIBLE_DEVICES for the node, when the user's options change it: `--include` names devices among
/// those that are visible now, `--exclude` takes some away.
pub fn visible(flags: &RunFlags, inherited: Option<&str>, gpus: usize) -> Result<Option<Vec<String>>, RunProblem> {
    let now: Vec<String> = match inherited {
        Some(list) => fermi_hardware::gpu::visible_devices(list),
        None => (0..gpus).map(|gpu| gpu.to_string()).collect(),
    };
    if let Some(value) = &flags.include {
        // A machine without devices behind it is all of it, so nothing changes.
        return if is_this_machine(value) { Ok(None) } else { Ok(Some(devices_of("--include", value)?)) };
    }
    if let Some(value) = &flags.exclude {
        let without = devices_of("--exclude", value)?;
        return Ok(Some(now.into_iter().filter(|device| !without.contains(device)).collect()));
    }
    Ok(None)
}

/// Reads `localhost:0,1` or `0,1`.
fn devices_of(flag: &'static str, value: &str) -> Result<Vec<String>, RunProblem> {
    let problem = || RunProblem::BadDeviceList { flag, value: value.to_owned() };
    let list = match value.split_once(':') {
        Some((host, list)) if is_this_machine(host) => list,
        Some((host, _)) => return Err(RunProblem::UnknownHost { value: host.to_owned() }),
        None => value,
    };
    let devices: Vec<String> = list.split(',').map(|device| device.trim().to_owned()).collect();
    if devices.iter().all(|device| device.parse::<u32>().is_ok()) { Ok(devices) } else { Err(problem()) }
}

/// Names by which people call the machine they sit at.
pub fn is_this_machine(host: &str) -> bool {
    ["localhost", "127.0.0.1", "::1"].contains(&host) || nix::unistd::gethostname().is_ok_and(|name| name == *host)
}

/// The device of one rank when each is to see its own alone.
pub fn own_device(visible: Option<&[String]>, local_rank: u32) -> String {
    match visible {
        // Slurm may have given this task its own device already.
        Some([only]) => only.clone(),
        devices => {
            let own = devices.and_then(|devices| devices.get(local_rank as usize).cloned());
            own.unwrap_or_else(|| local_rank.to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(options: &[&str], inherited: Option<&str>) -> Result<Option<Vec<String>>, RunProblem> {
        visible(&RunFlags::parse_for_test(options), inherited, 4)
    }

    #[test]
    fn nothing_changes_unless_asked() {
        assert_eq!(seen(&[], Some("3,2")), Ok(None));
    }

    #[test]
    fn deepspeeds_include_and_exclude_are_understood() {
        assert_eq!(seen(&["--include", "localhost:0,2"], None), Ok(Some(vec!["0".into(), "2".into()])));
        assert_eq!(seen(&["--exclude", "1"], Some("0,1,5")), Ok(Some(vec!["0".into(), "5".into()])));
        assert_eq!(seen(&["--include", "localhost"], None), Ok(None));
    }

    #[test]
    fn another_machine_and_nonsense_are_refused() {
        for another in ["worker-9:0", "worker-0:0"] {
            assert!(matches!(seen(&["--include", another], None), Err(RunProblem::UnknownHost { .. })), "{another}");
        }
        assert!(matches!(seen(&["--include", "a,b"], None), Err(RunProblem::BadDeviceList { .. })));
    }
}
