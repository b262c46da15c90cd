//! Options of other launchers that have no meaning here, and what to do instead.

use fermi_domain::language::Text;

/// What to say of an option, by its name with hyphens; none for one that no launcher has.
pub fn instead(name: &str) -> Option<Text> {
    let text = match name {
        "--hostfile" | "-hostfile" | "--machinefile" | "-machinefile" => Text::new(
            "fermi run 只在本机启动；fermi launch-multi-node --hostfile FILE 在文件中的所有机器上启动",
            "fermi run starts here only; fermi launch-multi-node --hostfile FILE starts on all machines in the file",
        ),
        "--launcher" | "--launcher-args" | "--ssh-port" | "--no-ssh" | "--no-ssh-check" | "--force-multi" => Text::new(
            "去掉它：多台机器用 fermi launch-multi-node（ssh）或 fermi slurm 启动，或在每台机器上执行同一条命令",
            "leave it out: several machines are started by fermi launch-multi-node (ssh) or fermi slurm, or by the same command on each",
        ),
        "--use-env" => Text::new(
            "去掉它：RANK、LOCAL_RANK 等变量总会设置",
            "leave it out: RANK, LOCAL_RANK and the others are always set",
        ),
        "--mca" | "-mca" | "--gmca" | "-gmca" | "--report-bindings" | "--pernode" | "-bind-to" | "-map-by" => {
            Text::new(
                "去掉它：Fermi 不是 MPI，MPI 的设置在这里没有意义；绑核用 --bind-to core",
                "leave it out: Fermi is no MPI, and its settings mean nothing here; --bind-to core binds to cores",
            )
        }
        "--tag-output" | "-tag-output" => {
            Text::new("--tee 3 在每行前加上 [host:rank]", "--tee 3 puts [host:rank] before each line")
        }
        "-N" | "--npernode" | "-npernode" => Text::new("写作 -n N", "write -n N"),
        "-wdir" | "--wdir" | "-wd" => Text::new("先 cd 到该目录", "change to that folder first, with cd"),
        "--min-elastic-nodes" | "--max-elastic-nodes" | "--elastic-training" => {
            Text::new("写作 --nnodes MIN:MAX", "write --nnodes MIN:MAX")
        }
        "--enable-each-rank-log" => Text::new("用 --log-dir DIR", "use --log-dir DIR"),
        "--save-pid" | "--autotuning" | "--venv-script" => {
            Text::new("去掉它：fermi run 没有对应的功能", "leave it out: fermi run has nothing like it")
        }
        "--logs-specs" => Text::new(
            "去掉它：日志总按 torchrun 的默认布局保存，--log-dir 指定位置",
            "leave it out: logs always have torchrun's default layout, and --log-dir says where",
        ),
        _ => return None,
    };
    Some(text)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::commands::run::spellings::Given;

    #[test]
    fn what_is_called_foreign_is_no_option_of_ours() {
        let cli = crate::commands::Cli::command();
        let run = cli.find_subcommand("run").unwrap();
        for name in ["--hostfile", "--use-env", "--mca", "-mca", "-bind-to", "--launcher", "-N", "--logs-specs"] {
            assert!(instead(name).is_some(), "{name}");
            assert!(!Given::read(name).is_known_to(run), "{name}");
        }
        assert!(instead("--nonsense").is_none());
    }
}
