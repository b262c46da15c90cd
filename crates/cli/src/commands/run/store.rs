//! `--store`: who hosts the store at which the ranks of a torch program meet.

use fermi_domain::framework::Framework;
use fermi_domain::messages::run::RunProblem;

use super::flags::RunFlags;

/// Whether Fermi does. A script for Python may be torch's, as under torchrun; any other program may open the master's port
/// itself, as JAX and Horovod do, and a single rank of a world that others start meets what those have started.
pub fn is_hosted(flags: &RunFlags, framework: Option<Framework>) -> Result<bool, RunProblem> {
    match (flags.store.as_deref(), framework) {
        (Some("rank0"), _) => Ok(false),
        (Some(_), Some(framework @ (Framework::Jax | Framework::Horovod))) => {
            Err(RunProblem::StoreOfFramework { framework: framework.as_str() })
        }
        (Some(_), _) => Ok(true),
        (None, Some(framework)) => Ok(framework.meets_at_torch_store()),
        (None, None) => Ok(!flags.no_python && flags.rank.is_none()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn python_is_served_and_what_opens_the_port_itself_is_not() {
        let table: [(&[&str], Option<Framework>, bool); 11] = [
            (&[], None, true),
            (&["-m"], None, true),
            (&["--no-python"], None, false),
            (&["--rank", "0", "--world-size", "2"], None, false),
            (&["--store", "rank0"], None, false),
            (&["--no-python", "--store", "fermi"], None, true),
            (&[], Some(Framework::Deepspeed), true),
            (&["--store", "rank0"], Some(Framework::PytorchDdp), false),
            (&[], Some(Framework::Jax), false),
            (&[], Some(Framework::Horovod), false),
            (&[], Some(Framework::Builtin), false),
        ];
        for (options, framework, expected) in table {
            let flags = RunFlags::parse_for_test(options);
            assert_eq!(is_hosted(&flags, framework), Ok(expected), "{options:?} {framework:?}");
        }
        let wanted = RunFlags::parse_for_test(&["--store", "fermi"]);
        assert!(matches!(is_hosted(&wanted, Some(Framework::Jax)), Err(RunProblem::StoreOfFramework { .. })));
    }
}
