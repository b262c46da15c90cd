//! The command for each situation.

use fermi_domain::language::Text;
use fermi_domain::messages::quickstart::{QuickstartNews, Scenario, explanation};

/// What the user said, or would say by default.
#[derive(Clone, Debug, clap::Args)]
pub struct Answers {
    /// Training script
    #[arg(long, value_name = "FILE", default_value = "train.py")]
    pub script: String,
    /// Processes on each machine: a number, gpu or auto
    #[arg(long, value_name = "N", default_value = "auto")]
    pub gpus: String,
    /// Machines
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub nodes: u32,
    /// Number of this machine
    #[arg(long, value_name = "R", default_value_t = 0)]
    pub node_rank: u32,
    /// The master's address
    #[arg(long, value_name = "HOST", default_value = "192.168.1.100")]
    pub master: String,
    /// The port at which the machines meet
    #[arg(long, default_value_t = 29_500)]
    pub port: u16,
    /// Hosts for ssh: a:4,b:4 [default: the file hostfile]
    #[arg(long, value_name = "LIST", default_value = "")]
    pub hosts: String,
}

/// Which other commands there are to build on.
#[derive(Clone, Copy, Debug)]
pub struct Abilities {
    pub slurm: bool,
    pub doctor: bool,
}

impl Abilities {
    pub fn has(self, scenario: Scenario) -> bool {
        scenario != Scenario::Slurm || self.slurm
    }
}

pub fn command(scenario: Scenario, answers: &Answers, abilities: Abilities) -> Vec<String> {
    let Answers { script, gpus, nodes, node_rank, master, port, hosts } = answers;
    let (nodes, node_rank, port) = (nodes.to_string(), node_rank.to_string(), port.to_string());
    let words: Vec<&str> = match scenario {
        Scenario::Single => vec!["run", "--nproc-per-node", gpus, script],
        Scenario::Several => vec![
            "run",
            "--nnodes",
            &nodes,
            "--node-rank",
            &node_rank,
            "--nproc-per-node",
            gpus,
            "--master-addr",
            master,
            "--master-port",
            &port,
            script,
        ],
        Scenario::Ssh if hosts.is_empty() => {
            vec!["launch-multi-node", master, &nodes, gpus, "--master-port", &port, script]
        }
        Scenario::Ssh => {
            vec!["launch-multi-node", master, &nodes, gpus, "--hosts", hosts, "--master-port", &port, script]
        }
        // What the cluster's nodes have is not known here; without GPUs a rank per node is started.
        Scenario::Slurm if gpus_of_job(answers).is_none() => {
            vec!["run", "--mode", "create_slurm", "--num-nodes", &nodes, script]
        }
        Scenario::Slurm => {
            vec!["run", "--mode", "create_slurm", "--num-nodes", &nodes, "--gpus-per-node", gpus, script]
        }
        Scenario::Trouble => vec!["quickstart", "--scenario", "trouble"],
        Scenario::Test if abilities.doctor => vec!["doctor"],
        Scenario::Test => vec!["run", "--nproc-per-node", "2", "--no-python", "fermi", "trainer", "--steps", "20"],
    };
    ["fermi"].into_iter().chain(words).map(str::to_owned).collect()
}

/// The GPUs for which a Slurm job asks on each node.
pub fn gpus_of_job(answers: &Answers) -> Option<u32> {
    answers.gpus.parse().ok()
}

/// What is said of an answer that has no place in the command.
pub fn left_out(scenario: Scenario, answers: &Answers) -> Option<Text> {
    let is_left_out = scenario == Scenario::Slurm && gpus_of_job(answers).is_none();
    is_left_out.then(|| QuickstartNews::SlurmWithoutGpus { given: answers.gpus.clone() }.text())
}

/// As one would type it.
pub fn line(command: &[String]) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:=,+@%".contains(c);
    let quoted = |word: &String| match !word.is_empty() && word.chars().all(plain) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    };
    command.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// The words that deserve an explanation, with it.
pub fn reasons(command: &[String]) -> Vec<(String, Text)> {
    command.iter().filter_map(|word| explanation(word).map(|text| (word.clone(), text))).collect()
}

#[cfg(test)]
mod tests {
    use clap::{Args, FromArgMatches};

    use super::*;

    pub fn answers(line: &str) -> Answers {
        let command = Answers::augment_args(clap::Command::new("quickstart"));
        let words = ["quickstart"].into_iter().chain(line.split_whitespace());
        Answers::from_arg_matches(&command.get_matches_from(words)).unwrap()
    }

    #[test]
    fn every_command_is_one_that_fermi_takes() {
        use clap::CommandFactory;
        let cli = crate::commands::Cli::command();
        let given = answers("--gpus 4 --master gn6 --hosts gn6:4,gn7:4");
        for scenario in Scenario::ALL {
            let words = command(scenario, &given, Abilities { slurm: true, doctor: false });
            let words: Vec<std::ffi::OsString> = words.into_iter().map(Into::into).collect();
            let words = crate::commands::spelling::unify(&cli, words);
            let read = cli.clone().try_get_matches_from(&words);
            assert!(read.is_ok(), "{scenario:?}: {words:?} {:?}", read.err());
        }
    }

    #[test]
    fn the_defaults_of_every_scenario_are_taken() {
        let all = Abilities { slurm: true, doctor: false };
        let slurm = line(&command(Scenario::Slurm, &answers(""), all));
        assert_eq!(slurm, "fermi run --mode create_slurm --num-nodes 2 train.py");
        for (gpus, is_said) in [("auto", true), ("gpu", true), ("4", false)] {
            let told = left_out(Scenario::Slurm, &answers(&format!("--gpus {gpus}")));
            assert_eq!(told.is_some_and(|text| text.en.contains(&format!("'{gpus}'"))), is_said);
            let words = command(Scenario::Slurm, &answers(&format!("--gpus {gpus}")), all);
            let options: Vec<&str> = words[2..words.len() - 1].iter().map(String::as_str).collect();
            let flags = crate::commands::run::RunFlags::parse_for_test(&options);
            assert!(crate::commands::slurm::takes(&flags), "{words:?}");
        }
    }

    #[test]
    fn the_lines() {
        let given = answers("--gpus 4 --master gn6 --script 我的.py");
        let all = Abilities { slurm: true, doctor: true };
        let lines: Vec<String> = Scenario::ALL.iter().map(|scenario| line(&command(*scenario, &given, all))).collect();
        insta::assert_snapshot!(lines.join("\n"), @r"
        fermi run --nproc-per-node 4 我的.py
        fermi run --nnodes 2 --node-rank 0 --nproc-per-node 4 --master-addr gn6 --master-port 29500 我的.py
        fermi launch-multi-node gn6 2 4 --master-port 29500 我的.py
        fermi run --mode create_slurm --num-nodes 2 --gpus-per-node 4 我的.py
        fermi doctor
        fermi quickstart --scenario trouble
        ");
    }
}
