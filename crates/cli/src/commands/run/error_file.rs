//! The first failure as torch writes it, for the one that has started this launcher and named a file in
//! TORCHELASTIC_ERROR_FILE, as TorchX does.

use std::fs;
use std::path::Path;

use fermi_domain::verdict::Verdict;
use serde_json::{Value, json};

/// Writes the report, or what the failed rank itself has left there (`own`); a file that cannot be written is no failure.
pub fn write(path: &Path, verdict: &Verdict, own: Option<&Path>, now_ms: u64) {
    let whole = own.and_then(|own| fs::read(own).ok()).filter(|bytes| !bytes.is_empty());
    let bytes = whole.unwrap_or_else(|| report(verdict, now_ms).to_string().into_bytes());
    if let Some(folder) = path.parent() {
        let _ = fs::create_dir_all(folder);
    }
    let _ = fs::write(path, bytes);
}

fn report(verdict: &Verdict, now_ms: u64) -> Value {
    let headline = verdict.headline().en.into_owned();
    let message = match &verdict.diagnosis {
        Some(diagnosis) => format!("{headline}: {}", diagnosis.cause.en),
        None => headline,
    };
    let lines = verdict.traceback.as_ref().map_or(&verdict.evidence, |traceback| &traceback.lines);
    let extra = json!({ "py_callstack": lines.join("\n"), "timestamp": (now_ms / 1000).to_string() });
    json!({ "message": { "message": message, "extraInfo": extra } })
}

#[cfg(test)]
mod tests {
    use fermi_domain::verdict::VerdictKind;

    use super::*;

    #[test]
    fn what_a_rank_has_written_comes_first_and_else_the_verdict() {
        let folder = tempfile::tempdir().unwrap();
        let (path, own) = (folder.path().join("deep/error.json"), folder.path().join("own.json"));
        let verdict = Verdict::of(VerdictKind::NodeLost { node: "gn7".into() });
        let read = || serde_json::from_slice::<Value>(&fs::read(&path).unwrap()).unwrap();
        write(&path, &verdict, Some(&own), 5_000);
        assert_eq!(read()["message"]["message"], "the node gn7 was lost");
        assert_eq!(read()["message"]["extraInfo"]["timestamp"], "5");
        fs::write(&own, r#"{"message":"of the rank"}"#).unwrap();
        write(&path, &verdict, Some(&own), 5_000);
        assert_eq!(read()["message"], "of the rank");
    }
}
