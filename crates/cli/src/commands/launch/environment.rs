//! What of the environment here is set on the hosts too.
//!
//! By default the variables that libraries of training read, by their prefixes; then `~/.deepspeed_env` and
//! `./.deepspeed_env`; then `-x`. Later ones win. Paths and devices of this machine (PATH, CUDA_VISIBLE_DEVICES) are not
//! those of the hosts, and stay here unless they are asked for.

use std::ffi::OsString;

use fermi_domain::contract;
use fermi_domain::messages::launch::LaunchProblem;

use super::quote;

const PREFIXES: [&str; 23] = [
    "NCCL_",
    "RCCL_",
    "GLOO_",
    "UCX_",
    "MV2_",
    "TORCH_",
    "PYTORCH_",
    "PYTHON",
    "CUDA_",
    "OMP_",
    "MKL_",
    "OPENBLAS_",
    "HF_",
    "TRANSFORMERS_",
    "TOKENIZERS_",
    "DS_",
    "DEEPSPEED_",
    "XLA_",
    "JAX_",
    "WANDB_",
    "MLFLOW_",
    "TF_",
    "TRITON_",
];
const NAMES: [&str; 3] = [contract::VIRTUAL_ENV, contract::FERMI_STATE_DIR, contract::FERMI_RDZV_SECRET];
/// Set for this machine, and most likely wrong on another.
const STAYS: [&str; 2] = [contract::CUDA_VISIBLE_DEVICES, "DS_ENV_FILE"];

/// A variable that the hosts get.
pub type Variable = (String, OsString);

/// Puts together what the hosts get, sorted by name.
pub fn pass_on(
    here: &[Variable],
    files: &[(String, String)],
    asked: &[String],
) -> Result<Vec<Variable>, LaunchProblem> {
    let mut variables: Vec<Variable> = here.iter().filter(|(name, _)| goes_by_default(name)).cloned().collect();
    let mut set = |name: &str, value: OsString| {
        variables.retain(|(known, _)| known != name);
        variables.push((name.to_owned(), value));
    };
    for (path, text) in files {
        for (name, value) in read_file(path, text)? {
            set(&name, value.into());
        }
    }
    for text in asked {
        let (name, value) = text.split_once('=').map_or((text.as_str(), None), |(name, value)| (name, Some(value)));
        if !quote::is_variable_name(name) {
            return Err(LaunchProblem::BadAssignment { value: text.clone() });
        }
        let inherited = || here.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        let value = value.map(OsString::from).or_else(inherited);
        set(name, value.ok_or_else(|| LaunchProblem::VariableNotSet { name: name.to_owned() })?);
    }
    variables.sort();
    Ok(variables)
}

fn goes_by_default(name: &str) -> bool {
    quote::is_variable_name(name)
        && !STAYS.contains(&name)
        && (NAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix)))
}

/// deepspeed's file: `NAME=VALUE` in each line.
fn read_file(path: &str, text: &str) -> Result<Vec<(String, String)>, LaunchProblem> {
    text.lines()
        .enumerate()
        .map(|(index, line)| (index, line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(|(index, line)| {
            let line_without_export = line.strip_prefix("export ").unwrap_or(line);
            line_without_export
                .split_once('=')
                .filter(|(name, _)| quote::is_variable_name(name.trim()))
                .map(|(name, value)| (name.trim().to_owned(), value.to_owned()))
                .ok_or_else(|| LaunchProblem::BadEnvironmentLine {
                    path: path.to_owned(),
                    line: index + 1,
                    text: line.to_owned(),
                })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn here() -> Vec<Variable> {
        [
            ("NCCL_DEBUG", "INFO"),
            ("HF_TOKEN", "secret"),
            ("PATH", "/bin"),
            ("CUDA_VISIBLE_DEVICES", "3"),
            ("VIRTUAL_ENV", "/venv"),
            ("MY_OWN", "一"),
            ("NCCL_BAD%%", "x"),
        ]
        .map(|(name, value)| (name.to_owned(), value.into()))
        .to_vec()
    }

    fn passed(files: &[(&str, &str)], asked: &[&str]) -> Result<Vec<String>, LaunchProblem> {
        let files: Vec<_> = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        let asked: Vec<_> = asked.iter().map(|text| (*text).to_owned()).collect();
        let variables = pass_on(&here(), &files, &asked)?;
        Ok(variables.into_iter().map(|(name, value)| format!("{name}={}", value.to_string_lossy())).collect())
    }

    #[test]
    fn what_libraries_read_goes_along_and_what_belongs_to_this_machine_stays() {
        assert_eq!(passed(&[], &[]).unwrap(), ["HF_TOKEN=secret", "NCCL_DEBUG=INFO", "VIRTUAL_ENV=/venv"]);
    }

    #[test]
    fn files_beat_what_is_here_and_x_beats_all() {
        let file = ("~/.deepspeed_env", "# mine\nNCCL_DEBUG=WARN\nexport A=b=c\n\n");
        let seen = passed(&[file], &["MY_OWN", "A=x y", "CUDA_VISIBLE_DEVICES"]).unwrap();
        let wanted =
            ["A=x y", "CUDA_VISIBLE_DEVICES=3", "HF_TOKEN=secret", "MY_OWN=一", "NCCL_DEBUG=WARN", "VIRTUAL_ENV=/venv"];
        assert_eq!(seen, wanted);
    }

    #[test]
    fn mistakes_are_named() {
        assert_eq!(passed(&[], &["NOT_SET"]), Err(LaunchProblem::VariableNotSet { name: "NOT_SET".into() }));
        assert_eq!(passed(&[], &["A B=1"]), Err(LaunchProblem::BadAssignment { value: "A B=1".into() }));
        assert!(matches!(
            passed(&[("f", "A=1\nnonsense")], &[]),
            Err(LaunchProblem::BadEnvironmentLine { line: 2, .. })
        ));
    }
}
