//! The batch file that starts one launcher per node, with a comment wherever people are known to stumble.

use std::fmt::Write;

use crate::language::Language;

/// The line by which an edited file is told from an untouched one.
const DIGEST: &str = "# fermi:digest ";
/// The launcher's number is in this file of the job's folder while the run lasts.
pub const LAUNCHER_FILE: &str = "launcher.pid";

/// How long before the time limit the run is asked to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StopLeadTime {
    pub seconds: u32,
}

impl StopLeadTime {
    /// Time for the script to save, for the ranks to obey, and some for Slurm, which looks at the clock twice a minute.
    pub fn for_graces(checkpoint_s: u32, stop_s: u32) -> Self {
        Self { seconds: checkpoint_s.saturating_add(stop_s).saturating_add(30).max(60) }
    }
}

/// Everything that stands in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchScript {
    /// The command that wrote it.
    pub command: String,
    pub path: String,
    pub job_name: String,
    pub nodes: u32,
    pub nproc_per_node: u32,
    pub gpus_per_node: Option<u32>,
    pub cpus_per_rank: u32,
    pub memory: Option<String>,
    pub time: Option<String>,
    pub partition: Option<String>,
    pub account: Option<String>,
    pub qos: Option<String>,
    pub array: Option<String>,
    /// Further options of sbatch, as they are.
    pub sbatch: Vec<String>,
    /// Shell lines before the launch.
    pub setup: Vec<String>,
    pub log_dir: String,
    pub requeue: bool,
    pub lead_time: StopLeadTime,
    /// The program that is started on each node.
    pub fermi: String,
    /// Options of `fermi run`.
    pub run_options: Vec<String>,
    pub script: Vec<String>,
    /// Of its comments, and of what it says when it runs.
    pub language: Language,
}

impl BatchScript {
    /// Where sbatch writes, in its own notation.
    pub fn output_pattern(&self) -> String {
        let job = if self.array.is_some() { "%A_%a" } else { "%j" };
        format!("{}/{job}.out", self.log_dir)
    }

    /// The whole file.
    pub fn render(&self) -> String {
        let body = [self.options(), self.preparation(), self.launch(), self.ending()].join("\n");
        let (command, path) = (&self.command, quoted(&self.path));
        let head = match self.language {
            Language::ZhCn => format!(
                "#!/bin/bash\n# 由此命令写出：{command}\n# 在本目录提交：sbatch {path}\n# 可随意修改：Fermi 会发现，只有 fermi slurm script --force 才会覆盖。\n"
            ),
            Language::En => format!(
                "#!/bin/bash\n# Written by: {command}\n# Submit it from this folder: sbatch {path}\n# Edit it as you like: Fermi notices, and only `fermi slurm script --force` overwrites it then.\n"
            ),
        };
        format!("{head}{DIGEST}{:016x}\n\n{body}", digest(&body))
    }

    fn comment(&self, text: &mut String, zh: &str, en: &str) {
        let _ = writeln!(text, "# {}", self.say(zh, en));
    }

    fn say<'a>(&self, zh: &'a str, en: &'a str) -> &'a str {
        match self.language {
            Language::ZhCn => zh,
            Language::En => en,
        }
    }

    fn options(&self) -> String {
        let mut text = String::new();
        option(&mut text, "job-name", &self.job_name);
        for (name, value) in [("partition", &self.partition), ("account", &self.account), ("qos", &self.qos)] {
            option_if(&mut text, name, value.as_deref());
        }
        option(&mut text, "nodes", &self.nodes.to_string());
        self.comment(
            &mut text,
            "每个节点一个任务：启动器，由它启动本节点的各个 rank。",
            "One task per node: the launcher, which starts this node's ranks itself.",
        );
        option(&mut text, "ntasks-per-node", "1");
        option_if(&mut text, "gres", self.gpus_per_node.map(|gpus| format!("gpu:{gpus}")).as_deref());
        self.comment(
            &mut text,
            "启动器的 CPU 即其全部 rank 与数据加载进程的 CPU。",
            "CPUs of the launcher are those of all its ranks and their data loaders.",
        );
        option(&mut text, "cpus-per-task", &self.cpus_per_node().to_string());
        option_if(&mut text, "mem", self.memory.as_deref());
        option_if(&mut text, "time", self.time.as_deref());
        option_if(&mut text, "array", self.array.as_deref());
        self.comment(
            &mut text,
            "须在所有节点可见的磁盘上。目录必须在作业开始前存在，否则 Slurm 会不加说明地",
            "On a disk that all nodes see. The folder must exist before the job starts, or Slurm ends the job",
        );
        self.comment(
            &mut text,
            "结束作业。以追加方式写入，重新排队的作业保留此前的输出。",
            "without a word. Appended to, so that a requeued job keeps what it said before.",
        );
        option(&mut text, "output", &self.output_pattern());
        option(&mut text, "open-mode", "append");
        let seconds = self.lead_time.seconds;
        self.comment(
            &mut text,
            &format!("时限前 {seconds} 秒，只有本 shell（B:）收到 SIGUSR1。"),
            &format!("{seconds} s before the time limit this shell (B:), and no other process, gets SIGUSR1."),
        );
        option(&mut text, "signal", &format!("B:USR1@{}", self.lead_time.seconds));
        self.comment(
            &mut text,
            "节点故障或时间用尽时作业是否重新开始。",
            "Whether the job starts again when a node dies or the time is up.",
        );
        let _ = writeln!(text, "#SBATCH {}", if self.requeue { "--requeue" } else { "--no-requeue" });
        for line in &self.sbatch {
            let _ = writeln!(text, "#SBATCH {line}");
        }
        text
    }

    fn cpus_per_node(&self) -> u32 {
        self.cpus_per_rank.saturating_mul(self.nproc_per_node)
    }

    fn preparation(&self) -> String {
        let mut text = String::new();
        self.comment(
            &mut text,
            "本作业各次运行的目录。每个节点在其中有一个目录；检查点在 outputs/ 中，",
            "Where this job's runs are kept. Each node has a folder in it; checkpoints are in outputs/ and stay",
        );
        self.comment(&mut text, "作业重新排队后仍保留。", "there when the job is requeued.");
        text.push_str("job=\"${SLURM_ARRAY_JOB_ID:+${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}}\"\n");
        let _ = writeln!(text, "logs={}/\"${{job:-$SLURM_JOB_ID}}\"", quoted(&self.log_dir));
        let _ = writeln!(text, "mkdir -p \"$logs\"\nrm -f \"$logs/{LAUNCHER_FILE}\"\n");
        self.comment(
            &mut text,
            "从另一个作业内部提交时，会继承那个作业的绑定与步骤，srun 会照做，",
            "Submitted from inside another job, this one inherits that job's bindings and step, which srun would",
        );
        self.comment(&mut text, "Fermi 也会信以为真，因此清除。", "obey and Fermi would believe.");
        text.push_str("unset \"${!SLURM_CPU_BIND@}\" \"${!SLURM_MEM_BIND@}\" \"${!SLURM_STEP@}\"\n");
        if !self.setup.is_empty() {
            text.push('\n');
        }
        for line in &self.setup {
            let _ = writeln!(text, "{line}");
        }
        text
    }

    fn launch(&self) -> String {
        let mut text = String::new();
        self.comment(
            &mut text,
            "时间将尽：由本节点（第一个）的启动器停止所有节点上的训练。只给它发信号：",
            "The time is nearly up: the launcher of this node, the first one, stops the run on all nodes. It alone",
        );
        self.comment(
            &mut text,
            "srun 与 scancel 会给每个进程发信号，没有处理函数的 rank 会因 SIGUSR1 退出。",
            "is signalled: srun and scancel signal every process, and a rank without a handler dies of SIGUSR1.",
        );
        let said = self.say("fermi: 时限将至，正在停止训练", "fermi: the time limit is near, stopping the run");
        let _ = writeln!(text, "time_is_up=no\non_time_limit() {{\n    time_is_up=yes\n    echo \"{said}\"");
        let _ = writeln!(text, "    kill -TERM \"$(cat \"$logs/{LAUNCHER_FILE}\")\" || kill -TERM \"$step\"");
        text.push_str("}\ntrap on_time_limit USR1\n\n");
        self.comment(
            &mut text,
            "这里不能出现 SLURM_PROCID 或 SLURM_NODEID：本 shell 会代入自己的值，",
            "Nothing here may mention SLURM_PROCID or SLURM_NODEID: this shell would replace them by its own, the",
        );
        self.comment(
            &mut text,
            "各节点都一样；Fermi 在每个节点上读取它们。srun 不沿用 sbatch 的 --cpus-per-task",
            "same for all nodes. Fermi reads them on each node. srun does not take --cpus-per-task over from sbatch",
        );
        self.comment(
            &mut text,
            "（自 22.05 起）；启动器异常退出会结束该步骤（--kill-on-bad-exit）。",
            "(since 22.05); a launcher that ends badly ends the step (--kill-on-bad-exit).",
        );
        let words: Vec<String> = [self.fermi.as_str(), "run", "--mode", "slurm"]
            .into_iter()
            .map(quoted)
            .chain([
                format!("--nproc-per-node={}", self.nproc_per_node),
                format!("--log-dir={}", quoted(&self.log_dir)),
            ])
            .chain(self.run_options.iter().map(|word| quoted(word)))
            .collect();
        let script: Vec<String> = self.script.iter().map(|word| quoted(word)).collect();
        text.push_str(
            "srun --nodes=\"$SLURM_JOB_NUM_NODES\" --ntasks=\"$SLURM_JOB_NUM_NODES\" --ntasks-per-node=1 \\\n",
        );
        text.push_str("    --cpus-per-task=\"$SLURM_CPUS_PER_TASK\" --kill-on-bad-exit=1 --wait=60 --export=ALL \\\n");
        let _ = writeln!(text, "    {} \\\n    {} &\nstep=$!\n", words.join(" "), script.join(" "));
        self.comment(
            &mut text,
            "信号会打断 `wait`；以 srun 的结束方式为准。",
            "A signal interrupts `wait`; what counts is how srun ends.",
        );
        text.push_str("wait \"$step\"\ncode=$?\nwhile [ \"$code\" -gt 128 ] && kill -0 \"$step\" 2>/dev/null; do\n    wait \"$step\"\n    code=$?\ndone\n");
        text
    }

    fn ending(&self) -> String {
        let mut text = String::new();
        if self.requeue {
            self.comment(
                &mut text,
                "重新排队；下次启动时 FERMI_RESUME=1，FERMI_CHECKPOINT_DIR 不变。",
                "Back into the queue; the next start has FERMI_RESUME=1 and the same FERMI_CHECKPOINT_DIR.",
            );
            text.push_str("if [ \"$time_is_up\" = yes ] && [ \"$code\" -ne 0 ]; then\n    scontrol requeue \"$SLURM_JOB_ID\" && sleep 60\nfi\n");
        } else {
            let said = self.say(
                "fermi: 因时限停止；加 --requeue 可让作业重新开始",
                "fermi: stopped by the time limit; --requeue would start the job again",
            );
            let _ = writeln!(text, "if [ \"$time_is_up\" = yes ]; then\n    echo \"{said}\"\nfi");
        }
        text.push_str("exit \"$code\"\n");
        text
    }
}

fn option(text: &mut String, name: &str, value: &str) {
    let _ = writeln!(text, "#SBATCH --{name}={}", quoted(value));
}

fn option_if(text: &mut String, name: &str, value: Option<&str>) {
    if let Some(value) = value {
        option(text, name, value);
    }
}

/// As one would type it into a shell.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:=,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Whether a file is just as Fermi wrote it.
pub fn is_untouched(text: &str) -> bool {
    let Some((_, rest)) = text.split_once(DIGEST) else { return false };
    let Some((written, body)) = rest.split_once("\n\n") else { return false };
    u64::from_str_radix(written.trim(), 16).is_ok_and(|written| written == digest(body))
}

/// FNV-1a: tells an edit from none, and guards against nothing else.
fn digest(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain() -> BatchScript {
        BatchScript {
            command: "fermi slurm script --nodes 2 -- train.py".into(),
            path: "slurm_scripts/run_slurm.sh".into(),
            job_name: "train".into(),
            nodes: 2,
            nproc_per_node: 4,
            gpus_per_node: Some(4),
            cpus_per_rank: 8,
            memory: None,
            time: None,
            partition: None,
            account: None,
            qos: None,
            array: None,
            sbatch: Vec::new(),
            setup: Vec::new(),
            log_dir: "fermi-logs".into(),
            requeue: false,
            lead_time: StopLeadTime::for_graces(0, 30),
            fermi: "fermi".into(),
            run_options: Vec::new(),
            script: vec!["train.py".into(), "--name".into(), "it's $HOME".into()],
            language: Language::En,
        }
    }

    fn full() -> BatchScript {
        BatchScript {
            memory: Some("64G".into()),
            time: Some("1-12:00:00".into()),
            partition: Some("gpu".into()),
            account: Some("lab".into()),
            qos: Some("high".into()),
            array: Some("1-4%2".into()),
            sbatch: vec!["--constraint=a100".into()],
            setup: vec!["module load cuda".into(), "source venv/bin/activate".into()],
            log_dir: "my logs".into(),
            requeue: true,
            lead_time: StopLeadTime::for_graces(60, 30),
            run_options: vec!["--max-restarts=2".into(), "--checkpoint-signal=SIGUSR1".into(), "--env=A=b c".into()],
            ..plain()
        }
    }

    #[test]
    fn the_batch_file_is_as_people_should_write_it() {
        insta::assert_snapshot!("plain", plain().render());
        insta::assert_snapshot!("full", full().render());
        for script in [plain(), full()] {
            let chinese = BatchScript { language: Language::ZhCn, ..script.clone() }.render();
            let code = |text: &str| -> Vec<String> {
                let lines = text.lines().filter(|line| line.starts_with("#SBATCH") || !line.starts_with('#'));
                lines.filter(|line| !line.contains("echo \"fermi:")).map(str::to_owned).collect()
            };
            assert_eq!(code(&chinese), code(&script.render()), "the languages differ in comments alone");
            let comments = chinese.lines().filter(|line| line.starts_with("# ") && !line.starts_with("# fermi:digest"));
            for line in comments {
                assert!(!line.is_ascii(), "{line}");
            }
            assert!(is_untouched(&chinese));
        }
    }

    #[test]
    fn an_edit_is_noticed() {
        let text = plain().render();
        assert!(is_untouched(&text));
        assert!(!is_untouched(&text.replace("--nodes=2", "--nodes=3")));
        assert!(!is_untouched("#!/bin/bash\necho mine\n"));
        // Another command line may stand above the same file.
        assert!(is_untouched(&text.replace("Written by", "Geschrieben von")));
    }

    #[test]
    fn the_lead_leaves_time_for_every_rung() {
        assert_eq!(StopLeadTime::for_graces(0, 30).seconds, 60);
        assert_eq!(StopLeadTime::for_graces(60, 30).seconds, 120);
        assert_eq!(StopLeadTime::for_graces(600, 30).seconds, 660);
    }
}
