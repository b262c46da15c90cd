//! Reading and writing the files of the planner.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use fermi_domain::language::{Text, reason};
use fermi_planner::calibrate::{Calibration, MODEL};
use fermi_planner::catalogue::Catalogue;
use fermi_planner::constants::Constants;
use fermi_planner::run::{Run, Runs};

use super::{KnowledgeFlags, PlanRefusal};

/// The catalogue and constants that a command works with.
pub fn knowledge(flags: &KnowledgeFlags) -> Result<(Catalogue, Constants), PlanRefusal> {
    let mut catalogue = Catalogue::builtin();
    for path in &flags.catalogue {
        let text = read(path)?;
        catalogue.extend(&text).map_err(|error| {
            unreadable(
                path,
                &reason::of_json(&error),
                Text::new(
                    "文件形如 {\"gpus\": […], \"models\": […]}，字段与内置目录相同",
                    "the file has the form {\"gpus\": […], \"models\": […]} with the fields of the built-in catalogue",
                ),
            )
        })?;
    }
    let constants = match &flags.calibration {
        None => Constants::builtin(),
        Some(path) => {
            let text = read(path)?;
            calibrated(&text).map_err(|why| {
                unreadable(
                    path,
                    &why,
                    Text::new("请用 fermi plan calibrate 重新生成", "write it anew with fermi plan calibrate"),
                )
            })?
        }
    };
    Ok((catalogue, constants))
}

/// The constants of a calibration, or why they are not taken.
fn calibrated(text: &str) -> Result<Constants, Text> {
    let stored: Calibration = serde_json::from_str(text).map_err(|error| reason::of_json(&error))?;
    if stored.version != MODEL {
        return Err(Text::new(
            "它由另一版本的规划器学得，其常数在本版本中含义不同",
            "another version of the planner has learned it, and its constants mean something else in this one",
        ));
    }
    if !stored.constants.are_plausible() {
        return Err(Text::new("其中的常数不属于任何集群", "its constants are those of no cluster"));
    }
    Ok(stored.constants)
}

/// Rows of a file of runs; a file that is a plain list will do.
pub fn runs(path: &Path) -> Result<Vec<Run>, PlanRefusal> {
    let text = read(path)?;
    serde_json::from_str::<Runs>(&text).map(|runs| runs.rows).or_else(|first| {
        serde_json::from_str::<Vec<Run>>(&text).map_err(|_| {
            unreadable(
                path,
                &reason::of_json(&first),
                Text::new("文件形如 {\"rows\": [{…}, …]}", "the file has the form {\"rows\": [{…}, …]}"),
            )
        })
    })
}

pub fn read(path: &Path) -> Result<String, PlanRefusal> {
    fermi_named_file::read_text(path).map_err(|error| {
        let hint = match error.kind() {
            ErrorKind::NotFound => Text::new("没有这个文件，请检查路径", "there is no such file: check the path"),
            ErrorKind::IsADirectory => Text::new("这是目录，请写其中的文件", "this is a folder: name a file in it"),
            ErrorKind::InvalidData => Text::new("请把文件存为 UTF-8 编码", "save the file in UTF-8"),
            ErrorKind::FileTooLarge => Text::new("请检查路径：这不是该文件", "check the path: this is another file"),
            ErrorKind::PermissionDenied => Text::new("请检查文件权限", "check the permissions of the file"),
            _ => Text::new("请检查路径和权限", "check the path and its permissions"),
        };
        unreadable(path, &reason::of_io(&error), hint)
    })
}

fn unreadable(path: &Path, why: &Text, hint: Text) -> PlanRefusal {
    let path = path.display();
    PlanRefusal::new(Text::new(format!("读不了 {path}：{}", why.zh), format!("cannot read {path}: {}", why.en)), hint)
}

pub fn write(path: &Path, content: &[u8]) -> Result<(), PlanRefusal> {
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
    let written = parent.map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::write(path, content));
    written.map_err(|error| unwritten(path, &error))
}

pub fn unwritten(path: &Path, error: &std::io::Error) -> PlanRefusal {
    let (path, why) = (path.display(), reason::of_io(error));
    PlanRefusal::new(
        Text::new(format!("写不了 {path}：{}", why.zh), format!("cannot write {path}: {}", why.en)),
        Text::new("请换一个可写的位置", "choose a place that can be written"),
    )
}

/// Where a calibration goes without --out: the user's configuration.
pub fn default_calibration() -> PathBuf {
    let configured = std::env::var_os("XDG_CONFIG_HOME").filter(|v| !v.is_empty()).map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".config"));
    configured.or_else(home).unwrap_or_default().join("fermi").join("planner-calibration.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_of_another_model_are_refused() {
        let constants = Constants::builtin();
        let file = |version: u32| {
            let stored =
                Calibration { version, runs: 5, error_before: 9.0, error_after: 4.0, constants: constants.clone() };
            serde_json::to_string(&stored).unwrap()
        };
        assert!(calibrated(&file(MODEL)).is_ok());
        for version in [MODEL - 1, MODEL + 1] {
            assert!(calibrated(&file(version)).unwrap_err().en.contains("another version"), "{version}");
        }
        assert!(calibrated("{}").is_err());
        for odd in ["1e300", "-1e300"] {
            let broken = file(MODEL).replacen("\"gemm\":", &format!("\"gemm\":{odd},\"was\":"), 1);
            assert!(calibrated(&broken).unwrap_err().en.contains("no cluster"), "{odd}");
        }
    }
}
