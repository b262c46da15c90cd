//! How much an agent may say. What it sends is kept, in rows or in memory, and what is kept has a bound.

use fermi_api::link::{Heartbeat, Hello};
use fermi_domain::environment::MOST_WORKERS;
use fermi_domain::unseen;

use super::admission::AdmissionRefusal;

/// Of a name, an address or a version.
const LONGEST_TEXT: usize = 1_024;
/// Of a text that is refused.
const SHOWN: usize = 64;
const MOST_LABELS: usize = 64;
const MOST_MODELS: usize = 64;
const MOST_CORES: u32 = 65_536;
/// 1 PiB.
const MOST_MEMORY: u64 = 1 << 50;
const MOST_RUNS: usize = 10_000;
const MOST_SEALS: usize = 1_024;
const MOST_ABILITIES: usize = 64;

/// GPUs and ranks of one heartbeat that are kept; ranks beyond have no series.
const MOST_GPUS: usize = 256;
const MOST_RANKS: usize = 1_024;
const LONGEST_ID: usize = 64;

/// Refuses a hello with numbers that no machine has, before anything of it is stored.
pub fn check(hello: &Hello) -> Result<(), AdmissionRefusal> {
    let within = |what: &'static str, found: u64, most: u64| match found <= most {
        true => Ok(()),
        false => Err(AdmissionRefusal::TooMuch { what, found, most }),
    };
    let texts = [Some(&hello.instance), Some(&hello.fermi), Some(&hello.boot)];
    let optional = [&hello.zone, &hello.image, &hello.address].map(Option::as_ref);
    let shown = [&hello.machine, &hello.process, &hello.credential, &hello.seal, &hello.next_seal, &hello.cluster];
    let versions = &hello.versions;
    let versions =
        [&versions.agent, &versions.python, &versions.torch, &versions.cuda, &versions.driver, &versions.nccl];
    let labels = hello.labels.iter().flat_map(|(key, value)| [Some(key), Some(value)]);
    let models = hello.gpus.iter().map(|gpus| Some(&gpus.model));
    let abilities = hello.abilities.iter().map(Some);
    let all_texts = texts
        .into_iter()
        .chain(optional)
        .chain(shown.map(Option::as_ref))
        .chain(hello.pending_seals.iter().map(Some))
        .chain(versions.map(Option::as_ref))
        .chain(labels)
        .chain(models)
        .chain(abilities);
    let all_texts: Vec<&String> = all_texts.flatten().collect();
    let longest = all_texts.iter().map(|text| text.len()).max().unwrap_or(0);
    // They are shown on terminals, and tasks choose machines by them.
    let is_unfit = |text: &&String| text.contains(char::is_control) || unseen::find(text).is_some();
    if let Some(text) = all_texts.into_iter().find(is_unfit) {
        return Err(AdmissionRefusal::UnfitText { text: text.chars().take(SHOWN).collect() });
    }
    let gpus: u64 = hello.gpus.iter().map(|gpus| u64::from(gpus.count)).sum();
    let memory = hello.gpus.iter().map(|gpus| gpus.memory.0).chain([hello.memory.0]).max().unwrap_or(0);
    within("cpuWorkers", hello.cpu_workers.into(), MOST_WORKERS.into())?;
    within("gpus.count", gpus, MOST_WORKERS.into())?;
    within("gpus", hello.gpus.len() as u64, MOST_MODELS as u64)?;
    within("cpuCores", hello.cpu_cores.into(), MOST_CORES.into())?;
    within("memory", memory, MOST_MEMORY)?;
    within("labels", hello.labels.len() as u64, MOST_LABELS as u64)?;
    within("abilities", hello.abilities.len() as u64, MOST_ABILITIES as u64)?;
    within("runs", hello.runs.len() as u64, MOST_RUNS as u64)?;
    within("seen", hello.seen.as_ref().map_or(0, Vec::len) as u64, MOST_RUNS as u64)?;
    within("pendingSeals", hello.pending_seals.len() as u64, MOST_SEALS as u64)?;
    within("text", longest as u64, LONGEST_TEXT as u64)
}

/// Leaves out of a heartbeat what is beyond the bounds.
pub fn within(mut beat: Heartbeat) -> Heartbeat {
    beat.gpus.truncate(MOST_GPUS);
    beat.ranks.retain(|rank| rank.task.as_str().len() <= LONGEST_ID);
    beat.ranks.truncate(MOST_RANKS);
    // What was read has the room that it needed on the wire.
    beat.gpus.shrink_to_fit();
    beat.ranks.shrink_to_fit();
    beat
}

#[cfg(test)]
mod tests {
    use fermi_api::link::RankSample;
    use fermi_domain::ids::TaskId;
    use fermi_domain::language::Explained;
    use serde_json::json;

    use super::*;

    fn hello(changes: serde_json::Value) -> Hello {
        let mut hello = json!({
            "version": 1, "fermi": "0.1.0", "instance": "a", "name": "gn6", "kind": "custom",
            "cpuWorkers": 4096, "cpuCores": 96, "memory": 1, "boot": "b"
        });
        for (key, value) in changes.as_object().unwrap() {
            hello[key] = value.clone();
        }
        serde_json::from_value(hello).unwrap()
    }

    #[test]
    fn numbers_that_no_machine_has_are_refused() {
        assert_eq!(check(&hello(json!({}))), Ok(()));
        let gpus = |count: u32| json!([{ "model": "A100", "memory": 1, "count": count }, { "model": "A100", "memory": 1, "count": 4096 }]);
        let cases = [
            json!({ "cpuWorkers": u32::MAX }),
            json!({ "gpus": gpus(u32::MAX) }),
            json!({ "gpus": gpus(1) }),
            json!({ "cpuCores": u32::MAX }),
            json!({ "memory": u64::MAX }),
            json!({ "zone": "z".repeat(2_000) }),
            json!({ "labels": { "a": "b".repeat(2_000) } }),
            json!({ "machine": "m".repeat(2_000) }),
            json!({ "process": "p".repeat(2_000) }),
            json!({ "credential": "c".repeat(2_000) }),
            json!({ "pendingSeals": ["s".repeat(2_000)] }),
            json!({ "seen": vec!["task-1-g1-n0-i1"; 20_000] }),
        ];
        for changes in cases {
            let refusal = check(&hello(changes.clone())).unwrap_err();
            assert_eq!(refusal.id(), "too_much", "{changes}");
        }
    }

    #[test]
    fn a_text_that_a_terminal_would_obey_is_refused() {
        let escape = "\u{1b}]0;title\u{7}";
        for changes in [
            json!({ "zone": escape }),
            json!({ "image": escape }),
            json!({ "address": escape }),
            json!({ "fermi": escape }),
            json!({ "labels": { "team": escape } }),
            json!({ "labels": { escape: "nlp" } }),
            json!({ "versions": { "torch": escape } }),
            json!({ "gpus": [{ "model": escape, "memory": 1, "count": 1 }] }),
        ] {
            let refusal = check(&hello(changes.clone())).unwrap_err();
            assert_eq!(refusal.id(), "text_invalid", "{changes}");
            assert!(!refusal.text().en.contains(char::is_control) && refusal.hint().is_some());
        }
        assert_eq!(check(&hello(json!({ "zone": "北京可用区A" }))), Ok(()));
    }

    #[test]
    fn a_text_that_is_read_as_another_one_is_refused_by_its_letter() {
        for changes in [
            json!({ "zone": "zone\u{200b}-a" }),
            json!({ "labels": { "team": "n\u{202e}lp" } }),
            json!({ "labels": { "te\u{2060}am": "nlp" } }),
            json!({ "gpus": [{ "model": "A100\u{feff}", "memory": 1, "count": 1 }] }),
        ] {
            let refusal = check(&hello(changes.clone())).unwrap_err();
            assert_eq!(refusal.id(), "text_invalid", "{changes}");
            assert!(refusal.text().en.contains("holds U+") && refusal.text().zh.contains("含有 U+"), "{refusal:?}");
        }
    }

    #[test]
    fn strangers_hellos_that_pass_are_small() {
        let sample = serde_json::to_vec(&hello(json!({
            "labels": { "team": "nlp" }, "gpus": [{ "model": "A100", "memory": 85899345920_u64, "count": 8 }],
            "runs": [{ "run": "task-1-g1-n0-i1", "alive": true }], "address": "10.0.0.6", "versions": { "torch": "2.9" }
        })))
        .unwrap();
        fermi_mutator::try_all(&[&sample], 3_000, |case| {
            let Ok(hello) = serde_json::from_slice::<Hello>(case) else { return };
            if check(&hello).is_ok() {
                let gpus: u64 = hello.gpus.iter().map(|gpus| u64::from(gpus.count)).sum();
                assert!(hello.cpu_workers <= MOST_WORKERS && gpus <= u64::from(MOST_WORKERS));
            }
        });
    }

    #[test]
    fn a_heartbeat_of_a_megabyte_is_kept_as_a_small_one() {
        let rank = r#"{"task":"task-1","attempt":1,"rank":7,"cpus":1.5,"memory":4096},"#;
        let ranks = rank.repeat((1 << 20) / rank.len());
        let text = format!(r#"{{"ranks":[{}],"gpus":[{}]}}"#, ranks.trim_end_matches(','), "{},".repeat(999) + "{}");
        let kept = within(serde_json::from_str(&text).unwrap());
        let bytes = kept.ranks.capacity() * size_of::<RankSample>() + kept.ranks.len() * LONGEST_ID;
        assert!(text.len() > 1 << 20 && bytes < 200 << 10, "{bytes}");
        assert_eq!(kept.gpus.len(), MOST_GPUS);
    }

    #[test]
    fn a_heartbeat_is_kept_within_bounds() {
        let rank = |rank: u32| RankSample { task: TaskId::from("task-1"), attempt: 1, rank, cpus: 0.0, memory: 0 };
        let odd = RankSample { task: TaskId("x".repeat(1_000)), ..rank(0) };
        let beat = Heartbeat { ranks: [odd].into_iter().chain((0..5_000).map(rank)).collect(), ..Heartbeat::default() };
        let kept = within(beat);
        assert_eq!((kept.ranks.len(), kept.ranks[0].rank), (MOST_RANKS, 0));
    }
}
