//! Why nothing is measured, and what to do about it.

use std::path::Path;

use fermi_domain::language::{Notice, Text, reason};

pub fn row_required() -> Notice {
    Notice::new(
        "row_required",
        Text::new(
            "要校准规划器，须说明这条命令训练什么",
            "to teach the planner it has to know what the command trains",
        ),
        Text::new(
            "用 --row 给出文件，形如 {\"model_name\": \"gpt2\", \"seq_len\": 1024, \"precision\": \"bf16\", \"sharding\": \"ddp\"}",
            "name a file by --row, such as {\"model_name\": \"gpt2\", \"seq_len\": 1024, \"precision\": \"bf16\", \"sharding\": \"ddp\"}",
        ),
    )
}

pub fn all_share(devices: u64, has_gpus: bool, (what_zh, what_en): (&str, &str)) -> Notice {
    let (zh, en) = if has_gpus { ("块 GPU", "GPUs") } else { ("个 CPU 核", "CPU cores") };
    Notice::new(
        "devices_shared",
        Text::new(
            format!("只有 {devices} {zh}，所列{what_zh}数都要共用：规划器不从中学习"),
            format!(
                "there are {devices} {en}, and all these numbers of {what_en} share them: the planner learns nothing from that"
            ),
        ),
        Text::new(
            format!("加上更小的{what_zh}数，使每个进程有自己的一份"),
            format!("add a number of {what_en} whose processes have one each"),
        ),
    )
}

pub fn unwritten(folder: &Path, error: &std::io::Error) -> Notice {
    let (folder, why) = (folder.display(), reason::of_io(error));
    Notice::new(
        "results_unwritten",
        Text::new(format!("写不进 {folder}：{}", why.zh), format!("cannot write to {folder}: {}", why.en)),
        Text::new("用 --results-dir 换一个可写的位置", "choose a place that can be written by --results-dir"),
    )
}

pub fn too_many_nodes(asked: u64, there: u64) -> Notice {
    Notice::new(
        "nodes_too_many",
        Text::new(
            format!("--num-nodes-list 中的 {asked} 多于 --nodes 的 {there} 个开发环境"),
            format!("--num-nodes-list has {asked}, and --nodes names {there}"),
        ),
        Text::new(
            "在 --nodes 中加上更多开发环境，或去掉这个数",
            "name more environments by --nodes, or leave that number out",
        ),
    )
}

pub fn words_refused(why: &str) -> Notice {
    Notice::new(
        "words_refused",
        Text::new(format!("-- 之后的内容无法作为任务：{why}"), format!("what follows -- is no task: {why}")),
        Text::new(
            "与 --nodes 一起用时，-- 之后是 fermi task create 的选项和命令，例如 -- --source . train.py --batch-size {batch}",
            "with --nodes it is options of 'fermi task create' and the command, such as -- --source . train.py --batch-size {batch}",
        ),
    )
}
