//! The arguments of every rank.

use fermi_domain::{
    language::Text,
    launch::{Placeholder, Template},
    task::Work,
};

use crate::refusal::LaunchRefusal;

/// Programs that start ranks themselves; each rank would start the whole world again.
const LAUNCHERS: [&str; 7] = ["torchrun", "deepspeed", "horovodrun", "mpirun", "mpiexec", "accelerate", "srun"];

/// What runs, before the framework adds anything.
pub(crate) fn argv(work: &Work) -> Result<Vec<Template>, LaunchRefusal> {
    match work {
        Work::Command { argv, .. } => command(argv),
        Work::Builtin { args } => {
            let mut words = vec![Template::placeholder(Placeholder::Fermi), Template::text("trainer")];
            words.extend(args.iter().map(|arg| Template::text(arg.as_str())));
            Ok(words)
        }
        // The node's own binary brings the recipes, and becomes Python.
        Work::Recipe { name, config, args, .. } => {
            let mut words = vec![Template::placeholder(Placeholder::Fermi), Template::text("recipe")];
            words.push(Template::placeholder(Placeholder::Python));
            words.extend(["--algorithm", name.as_str()].map(Template::text));
            words.extend(config.iter().flat_map(|path| ["--config", path.as_str()]).map(Template::text));
            words.extend(args.iter().map(|arg| Template::text(arg.as_str())));
            Ok(words)
        }
    }
}

fn command(argv: &[String]) -> Result<Vec<Template>, LaunchRefusal> {
    let (first, rest) = argv.split_first().ok_or(LaunchRefusal::CommandEmpty)?;
    let python = Template::placeholder(Placeholder::Python);
    let mut words = match first.as_str() {
        "" => return Err(LaunchRefusal::CommandEmpty),
        "python" | "python3" => vec![python],
        "-m" => vec![python, Template::text("-u"), Template::text("-m")],
        script if script.ends_with(".py") => vec![python, Template::text("-u"), Template::text(script)],
        program => vec![Template::text(program)],
    };
    words.extend(rest.iter().map(|arg| Template::text(arg.as_str())));
    Ok(words)
}

/// Says so when the command is itself a launcher.
pub(crate) fn nested_launcher(work: &Work) -> Option<Text> {
    let Work::Command { argv, .. } = work else { return None };
    let program = argv.first()?.rsplit('/').next()?;
    LAUNCHERS.contains(&program).then(|| {
        Text::new(
            format!("{program} 会在每个 rank 中再次启动所有进程；请直接填写脚本"),
            format!("{program} would start the whole world again in every rank; give the script itself"),
        )
    })
}

#[cfg(test)]
mod tests {
    use fermi_domain::language::Explained;

    use super::*;

    fn shown(words: &[&str]) -> String {
        let argv = words.iter().map(|word| (*word).to_owned()).collect();
        let work = Work::Command {
            argv,
            directory: None,
            env: Default::default(),
            secrets: Default::default(),
            interpreter: None,
        };
        let words = super::argv(&work).unwrap();
        words.iter().map(Template::shown).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn scripts_and_pythons_run_under_the_tasks_python() {
        assert_eq!(shown(&["train.py", "--epochs", "3"]), "<python> -u train.py --epochs 3");
        assert_eq!(shown(&["python3", "-m", "pkg.train"]), "<python> -m pkg.train");
        assert_eq!(shown(&["-m", "pkg.train"]), "<python> -u -m pkg.train");
        assert_eq!(shown(&["/opt/bin/python", "x.py"]), "/opt/bin/python x.py");
        assert_eq!(shown(&["./训练 脚本.py", "a b", "$HOME"]), "<python> -u ./训练 脚本.py a b $HOME");
        assert_eq!(shown(&["bash", "-c", "echo '<python>'"]), "bash -c echo '<python>'");
    }

    #[test]
    fn the_built_in_trainer_is_fermi_itself() {
        let words = argv(&Work::Builtin { args: vec!["--steps".into(), "5".into()] }).unwrap();
        assert_eq!(words.iter().map(Template::shown).collect::<Vec<_>>(), ["<fermi>", "trainer", "--steps", "5"]);
    }

    #[test]
    fn a_recipe_is_brought_by_fermi_and_run_by_the_nodes_python() {
        let recipe = |config: Option<&str>| Work::Recipe {
            name: "sft".into(),
            config: config.map(str::to_owned),
            args: vec!["--trainer".into(), "mine:Trainer".into()],
            directory: None,
            env: Default::default(),
            interpreter: None,
        };
        let shown = |work: Work| argv(&work).unwrap().iter().map(Template::shown).collect::<Vec<_>>().join(" ");
        assert_eq!(shown(recipe(None)), "<fermi> recipe <python> --algorithm sft --trainer mine:Trainer");
        let with_file = "<fermi> recipe <python> --algorithm sft --config /a b.yaml --trainer mine:Trainer";
        assert_eq!(shown(recipe(Some("/a b.yaml"))), with_file);
    }

    #[test]
    fn nothing_to_run_is_refused() {
        let empty = Work::Command {
            argv: vec![],
            directory: None,
            env: Default::default(),
            secrets: Default::default(),
            interpreter: None,
        };
        assert_eq!(argv(&empty).unwrap_err().id(), "command_required");
    }
}
