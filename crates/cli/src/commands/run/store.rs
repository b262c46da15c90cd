//! `--store`: who hosts the store at which the ranks of a torch program meet.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use fermi_domain::framework::Framework;
use fermi_domain::messages::run::RunProblem;

use super::flags::RunFlags;

/// How much of a script is read.
const MOST_READ: u64 = 256 * 1024;

/// Words of a script that opens a port itself, or whose engine does.
const OPENS: [&str; 7] = ["jax", "create_server(", "start_server(", ".bind((", ".bind(\"", "TCPServer", "tensorflow"];

/// Whether Fermi does. A script for Python may be torch's, as under torchrun; any other program may open the master's port
/// itself, as JAX and Horovod do, and a single rank of a world that others start meets what those have started. A script
/// that by its own words opens a port keeps it for rank 0, which works for torch too.
pub fn is_hosted(flags: &RunFlags, framework: Option<Framework>, script: &str) -> Result<bool, RunProblem> {
    match (flags.store.as_deref(), framework) {
        (Some("rank0"), _) => Ok(false),
        (Some(_), Some(framework @ (Framework::Jax | Framework::Horovod))) => {
            Err(RunProblem::StoreOfFramework { framework: framework.as_str() })
        }
        (Some(_), _) => Ok(true),
        (None, Some(framework)) => Ok(framework.meets_at_torch_store()),
        (None, None) => Ok(!flags.no_python && flags.rank.is_none() && !opens_a_port(script)),
    }
}

fn opens_a_port(script: &str) -> bool {
    let hosts_a_store = script.split("is_master=").skip(1).any(|value| !value.trim_start().starts_with("False"));
    hosts_a_store || OPENS.iter().any(|word| script.contains(word))
}

/// The words of the script that the flags name; none where it is no file that can be read again.
pub fn script_of(flags: &RunFlags) -> String {
    let path = flags.script.first().filter(|_| !flags.module && !flags.no_python && flags.store.is_none());
    let file = path.filter(|path| Path::new(path).is_file()).and_then(|path| File::open(path).ok());
    let mut bytes = Vec::new();
    // What cannot be read says nothing.
    let _ = file.map(|file| file.take(MOST_READ).read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
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
            assert_eq!(is_hosted(&flags, framework, "import torch"), Ok(expected), "{options:?} {framework:?}");
        }
        let wanted = RunFlags::parse_for_test(&["--store", "fermi"]);
        assert!(matches!(is_hosted(&wanted, Some(Framework::Jax), ""), Err(RunProblem::StoreOfFramework { .. })));
    }

    #[test]
    fn a_script_that_opens_a_port_by_its_own_words_keeps_it_for_rank_0() {
        let plain = RunFlags::parse_for_test(&[]);
        for (script, expected) in [
            ("import torch.distributed as dist\ndist.init_process_group()", true),
            ("TCPStore(host, port, is_master=False)", true),
            ("TCPStore(host, port, is_master=rank == 0)", false),
            ("import jax\njax.distributed.initialize()", false),
            ("server = socket.create_server(('', port))", false),
            ("s.bind(('0.0.0.0', port))", false),
            ("", true),
        ] {
            assert_eq!(is_hosted(&plain, None, script), Ok(expected), "{script}");
        }
    }
}
