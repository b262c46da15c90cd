//! Settings of the framework: from a training.yaml and from the command line.

use std::fs;
use std::path::Path;

use fermi_domain::language::{Language, Text};
use fermi_frameworks::training_yaml::{self, Facts, Problems, Resolved};
use serde_json::{Map, Value};

use super::{Refused, cluster::Cluster};

/// Reads a training.yaml, and the DeepSpeed file that it names where that one is there.
pub(super) fn training_yaml(path: &Path, cluster: &Cluster) -> Result<Resolved, Refused> {
    let text = fs::read_to_string(path).map_err(|error| Refused {
        text: Text::new(
            format!("无法读取 {}：{error}", path.display()),
            format!("cannot read {}: {error}", path.display()),
        ),
        hint: Text::new("检查路径与权限", "look at the path and its permissions"),
    })?;
    let file = training_yaml::read(&text).map_err(|problems| in_file(path, &problems))?;
    let named = file.get("training.deepspeed.config_path").and_then(Value::as_str);
    let json = named.and_then(|named| fs::read_to_string(named).ok()).and_then(|text| serde_json::from_str(&text).ok());
    let json: Option<Map<String, Value>> = json;
    let facts = Facts {
        ranks: cluster.ranks.world_size(),
        on_gpus: cluster.on_gpus,
        model_parameters: None,
        deepspeed_file: json.as_ref(),
    };
    file.resolve(facts).map_err(|problems| in_file(path, &problems))
}

fn in_file(path: &Path, problems: &Problems) -> Refused {
    let lines = |language| problems.lines(language).join("\n  ");
    Refused {
        text: Text::new(
            format!("{} 有误：\n  {}", path.display(), lines(Language::ZhCn)),
            format!("{} has mistakes:\n  {}", path.display(), lines(Language::En)),
        ),
        hint: Text::new("所有键见 configs/training.schema.json", "configs/training.schema.json has every key"),
    }
}

/// `KEY=VALUE`; a value that is JSON is taken as such, anything else as a text.
pub(in crate::commands) fn given(set: &[String], settings: &mut Map<String, Value>) -> Result<(), Refused> {
    for text in set {
        let (key, value) = text.split_once('=').filter(|(key, _)| !key.is_empty()).ok_or_else(|| Refused {
            text: Text::new(format!("--set {text} 无效"), format!("--set {text} is no setting")),
            hint: Text::new("格式为 键=值，例如 zeroStage=3", "give KEY=VALUE, such as zeroStage=3"),
        })?;
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
        settings.insert(key.to_owned(), value);
    }
    Ok(())
}
