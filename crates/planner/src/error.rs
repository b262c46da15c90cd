//! Why no plan can be made: a sentence that names the field, and what to do.

use fermi_domain::language::{Explained, Hint, Text};

use crate::precision::Arithmetic;

/// Input that describes no run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{field}: {}", .message.en)]
pub struct PlanError {
    pub field: &'static str,
    pub message: Text,
    pub hint: Hint,
}

impl PlanError {
    pub fn new(field: &'static str, message: Text, hint: impl Into<Hint>) -> Self {
        Self { field, message, hint: hint.into() }
    }

    pub fn missing(field: &'static str) -> Self {
        let example = example(field);
        Self::new(
            field,
            Text::new(
                format!("缺少{}，也无法从其他字段推出", chinese(field)),
                format!("{field} is missing and cannot be derived"),
            ),
            Text::new(
                format!("请补上它，例如 {field} = {example}；目录里的模型只需写名字"),
                format!("add it, such as {field} = {example}; for a model of the catalogue its name is enough"),
            ),
        )
    }

    pub fn zero(field: &'static str) -> Self {
        let example = example(field);
        Self::new(
            field,
            Text::new(format!("{} 必须大于 0", chinese(field).trim_start()), format!("{field} must be above 0")),
            Text::new(format!("请写一个正数，例如 {example}"), format!("use a positive number, such as {example}")),
        )
    }

    pub fn too_large(field: &'static str) -> Self {
        Self::new(
            field,
            Text::new(
                format!("{} 大得不合常理", chinese(field).trim_start()),
                format!("{field} is larger than any machine can hold"),
            ),
            Text::new(
                format!("请检查单位和零的个数；常见的值如 {}", example(field)),
                format!("check its unit and its zeros; a usual value is {}", example(field)),
            ),
        )
    }

    pub fn unknown(field: &'static str, value: &str, near: &[String]) -> Self {
        let list = near.join(", ");
        Self::new(
            field,
            Text::new(format!("不认识的{}：{value}", chinese(field)), format!("unknown {field}: {value}")),
            if near.is_empty() {
                by_numbers(field)
            } else {
                Hint::new(format!("是否想写：{list}？"), format!("did you mean {list}?"))
            },
        )
    }

    /// A closed list, of which something else was written.
    pub fn not_among(field: &'static str, value: &str, list: &[&str]) -> Self {
        let list = list.join(", ");
        let error = Self::unknown(field, value, &[]);
        Self { hint: Hint::new(format!("可选：{list}"), format!("choose one of {list}")), ..error }
    }

    /// Fewer sequences than GPUs: no layout gives every GPU something to do.
    pub fn too_small_a_batch() -> Self {
        Self::new(
            "global-batch",
            Text::new("没有布局能用这个全局批次铺满这些 GPU", "no layout spreads this global batch over these GPUs"),
            Text::new("请让 --global-batch 不小于 GPU 数", "let --global-batch be no smaller than the number of GPUs"),
        )
    }

    /// A precision whose products these GPUs do not have.
    pub fn not_multiplied(arithmetic: Arithmetic) -> Self {
        let (bits, gpus) = if arithmetic == Arithmetic::Four { (4, "B200, MI355X") } else { (8, "H100, L40S, MI300X") };
        Self::new(
            "precision",
            Text::new(format!("这些 GPU 不支持 {bits} 位乘法"), format!("these GPUs do not multiply in {bits} bits")),
            Text::new(
                format!("请用 bf16 或 fp16；{gpus} 等 GPU 支持 {bits} 位乘法"),
                format!("use bf16 or fp16; GPUs such as {gpus} multiply in {bits} bits"),
            ),
        )
    }

    /// A width that does not split evenly over so many heads.
    pub fn indivisible(field: &'static str, width: u64, heads: u64) -> Self {
        let below = width.saturating_sub(width % heads.max(1)).max(heads);
        Self::new(
            field,
            Text::new(
                format!("{field} 不能整除：{width} 无法平均分给 {heads} 个头"),
                format!("{field} does not divide: {width} cannot be split evenly over {heads}"),
            ),
            Text::new(
                format!("请改用能整除的数，例如 {below} 配 {heads}"),
                format!("use numbers that divide, such as {below} over {heads}"),
            ),
        )
    }
}

impl Explained for PlanError {
    fn id(&self) -> &'static str {
        "plan_invalid"
    }

    fn field(&self) -> Option<String> {
        Some(self.field.to_owned())
    }

    fn text(&self) -> Text {
        self.message.clone()
    }

    fn hint(&self) -> Option<Hint> {
        Some(self.hint.clone())
    }
}

/// What a field is called in Chinese, with its own name beside it where that helps to find it.
fn chinese(field: &str) -> String {
    let word = match field {
        "gpu" => return " GPU".to_owned(),
        "model" => return "模型".to_owned(),
        "precision" => return "精度".to_owned(),
        "optimizer" => return "优化器".to_owned(),
        "sharding" => return "分片方式".to_owned(),
        "network" => return "网络".to_owned(),
        "gpus" => "GPU 数",
        "layers" => "层数",
        "hidden" => "隐藏维度",
        "heads" => "注意力头数",
        "kv_heads" => "KV 头数",
        "ffn" => "前馈宽度",
        "vocab" => "词表大小",
        "seq_len" => "序列长度",
        "global-batch" => "全局批次",
        "micro_batch" => "微批",
        "params" => "参数量",
        _ => return format!(" {field}"),
    };
    format!("{word}（{field}）")
}

/// A value that a field usually has, to show what kind of number is meant.
fn example(field: &str) -> &'static str {
    match field {
        "gpus" => "8",
        "gpu" => "H100-SXM",
        "layers" | "num_hidden_layers" | "heads" | "num_attention_heads" => "32",
        "hidden" | "hidden_size" => "4096",
        "seq_len" => "2048",
        "vocab" | "vocab_size" => "32000",
        "ffn" => "11008",
        "global-batch" | "gpus, global_batch" => "256",
        "gbps-list" => "100",
        "lora_rank" => "16",
        "params" => "7e9",
        "jitter" => "4",
        "learning-rate" => "5e-5",
        "zone-rtt" => "10",
        "gpu-memory" => "80",
        field if field.contains("tflops") => "312",
        _ => "1",
    }
}

/// What to do about a name that resembles none.
fn by_numbers(field: &str) -> Hint {
    match field {
        "gpu" => Hint::new("常用名如 A100-80G、H100、RTX-4090", "usual names are A100-80G, H100, RTX-4090")
            .on_command_line(
                "请用 --gpu-tflops 和 --gpu-memory 给出它的参数，或用 --catalogue FILE 加入目录；常用名如 A100-80G、H100、RTX-4090",
                "give its numbers with --gpu-tflops and --gpu-memory, or add it by --catalogue FILE; usual names are A100-80G, H100, RTX-4090",
            ),
        "model" => Hint::new("常用名如 llama2-7b、gpt2、opt-1.3b", "usual names are llama2-7b, gpt2, opt-1.3b")
            .on_command_line(
                "请用 --model-config config.json，或用 --layers、--hidden、--heads 描述它；常用名如 llama2-7b、gpt2、opt-1.3b",
                "describe it by --model-config config.json, or by --layers, --hidden and --heads; usual names are llama2-7b, gpt2, opt-1.3b",
            ),
        _ => Hint::new("请检查它的写法", "check how it is written")
            .on_command_line("请查看 fermi plan --help 里的写法", "see fermi plan --help for what can be written"),
    }
}
