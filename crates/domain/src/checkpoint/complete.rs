//! Which checkpoints in a folder are whole, by the marks that frameworks leave.

use std::collections::BTreeSet;
use std::ops::Range;

use super::listing::{Entry, EntryKind, Listing, step_in_name};

/// What a step's files are called while they are written.
const UNFINISHED: [&str; 4] = ["tmp", "temp", "part", "draft"];

/// The steps that this folder holds whole, as far as the ranks of this node are concerned: each node answers for the
/// parts of its own ranks, so that those which all nodes name are whole everywhere, in one folder or in many.
pub fn complete_steps(listing: &Listing, ranks: &Range<u32>) -> BTreeSet<u64> {
    let entries = listing.entries.iter();
    entries
        .filter_map(|(name, entry)| step_in_name(name).filter(|step| is_whole(name, *step, entry, listing, ranks)))
        .collect()
}

fn is_whole(name: &str, step: u64, entry: &Entry, listing: &Listing, ranks: &Range<u32>) -> bool {
    if name.starts_with('.') || name.split(['.', '-', '_']).any(|part| UNFINISHED.contains(&part)) {
        return false;
    }
    match &entry.kind {
        // Scripts write it under another name first, as the examples do.
        EntryKind::File { bytes } => name.starts_with("step-") && name.contains('.') && *bytes > 0,
        EntryKind::Folder { names } => {
            let has = |mark: &str| names.contains(mark);
            // torch's distributed checkpoints, Megatron-LM's newer ones too: written when all ranks are done.
            has(".metadata")
                || (name.starts_with("step-") && (has("complete") || (has("header.json") && has("state.bin"))))
                || (name.starts_with("checkpoint-") && has("trainer_state.json"))
                || (name.starts_with("iter_") && is_tracked(step, listing))
                || (name.starts_with("global_step") && has_parts(step, names, listing, ranks))
        }
    }
}

/// Megatron-LM names an iteration when every rank has written its part of it.
fn is_tracked(step: u64, listing: &Listing) -> bool {
    let newest = listing.latest_iteration.as_ref().and_then(|text| text.trim().parse::<u64>().ok());
    newest.is_some_and(|newest| step <= newest)
}

/// DeepSpeed names its latest when rank 0 has written its own part, before the others have: the parts are counted. ZeRO
/// has one of the optimizer's per rank; without ZeRO rank 0 writes everything before it names the step.
fn has_parts(step: u64, names: &BTreeSet<String>, listing: &Listing, ranks: &Range<u32>) -> bool {
    let parts: Vec<&str> = names.iter().filter_map(|name| optimizer_part(name)).collect();
    let has_model = names.iter().any(|name| name.ends_with("_model_states.pt"));
    let is_named = || listing.latest.as_deref().and_then(|tag| step_in_name(tag.trim())).is_some_and(|tag| step <= tag);
    if parts.is_empty() {
        return has_model && is_named();
    }
    let of_one_model = parts.iter().all(|part| part.ends_with("_mp_rank_00"));
    let are_there = if of_one_model {
        ranks.clone().all(|rank| parts.contains(&format!("{rank}_mp_rank_00").as_str()))
    } else {
        // Which rank has which part follows from a layout that is not known here.
        parts.len() >= ranks.len()
    };
    has_model && are_there
}

/// `3_mp_rank_00` of `bf16_zero_pp_rank_3_mp_rank_00_optim_states.pt`.
fn optimizer_part(name: &str) -> Option<&str> {
    let (_, rest) = name.split_once("zero_pp_rank_")?;
    rest.strip_suffix("_optim_states.pt")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(names: &[&str]) -> EntryKind {
        EntryKind::Folder { names: names.iter().map(|name| (*name).to_owned()).collect() }
    }

    fn file(bytes: u64) -> EntryKind {
        EntryKind::File { bytes }
    }

    fn listing<const N: usize>(entries: [(&str, EntryKind); N]) -> Listing {
        let entries = entries.map(|(name, kind)| (name.to_owned(), Entry { modified_ns: 0, kind }));
        Listing { entries: entries.into(), ..Listing::default() }
    }

    const ZERO: [&str; 3] = [
        "mp_rank_00_model_states.pt",
        "zero_pp_rank_0_mp_rank_00_optim_states.pt",
        "bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt",
    ];

    #[test]
    fn each_format_is_whole_by_its_own_mark() {
        let cases: [(&str, Listing, &[u64]); 15] = [
            ("nothing", listing([]), &[]),
            ("files by rename", listing([("step-000032.pt", file(9)), ("step-64.npz", file(9))]), &[32, 64]),
            ("an empty file", listing([("step-32.pt", file(0))]), &[]),
            ("drafts", listing([("draft.pt", file(9)), ("step-32.tmp", file(9)), (".step-5.pt", file(9))]), &[]),
            ("a file of another name", listing([("model-7.bin", file(9))]), &[]),
            ("a mark", listing([("step-20", folder(&["complete"])), ("step-40", folder(&["tensor-0.pt"]))]), &[20]),
            ("the trainer", listing([("step-5", folder(&["header.json", "state.bin"]))]), &[5]),
            ("half of the trainer", listing([("step-5", folder(&["header.json"]))]), &[]),
            (
                "torch",
                listing([
                    ("step-1", folder(&[".metadata"])),
                    ("2", folder(&[".metadata"])),
                    ("3", folder(&["__0_0.distcp"])),
                ]),
                &[1, 2],
            ),
            (
                "transformers",
                listing([
                    ("checkpoint-500", folder(&["trainer_state.json"])),
                    ("checkpoint-600", folder(&["model.safetensors"])),
                ]),
                &[500],
            ),
            ("transformers, unfinished", listing([("tmp-checkpoint-500", folder(&["trainer_state.json"]))]), &[]),
            ("megatron, not named", listing([("iter_0000010", folder(&["mp_rank_00"]))]), &[]),
            ("zero, all parts", listing([("global_step10", folder(&ZERO))]), &[10]),
            ("zero, a part is missing", listing([("global_step10", folder(&ZERO[..2]))]), &[]),
            ("no zero, not named", listing([("global_step10", folder(&ZERO[..1]))]), &[]),
        ];
        for (what, listing, steps) in cases {
            assert_eq!(complete_steps(&listing, &(0..2)).into_iter().collect::<Vec<_>>(), steps, "{what}");
        }
    }

    #[test]
    fn megatron_and_deepspeed_without_zero_are_whole_up_to_the_one_that_is_named() {
        let iterations = ["iter_0000010", "iter_0000020", "iter_0000030"].map(|name| (name, folder(&["mp_rank_00"])));
        let megatron = Listing { latest_iteration: Some("20\n".into()), ..listing(iterations) };
        assert_eq!(complete_steps(&megatron, &(0..2)), [10, 20].into());
        let release = Listing { latest_iteration: Some("release".into()), ..megatron };
        assert_eq!(complete_steps(&release, &(0..2)), [].into());
        let plain = ["global_step5", "global_step9"].map(|name| (name, folder(&ZERO[..1])));
        let plain = Listing { latest: Some("global_step5".into()), ..listing(plain) };
        assert_eq!(complete_steps(&plain, &(0..2)), [5].into());
        // DeepSpeed's latest is no proof for the parts of other ranks.
        let early =
            Listing { latest: Some("global_step10".into()), ..listing([("global_step10", folder(&ZERO[..2]))]) };
        assert_eq!(complete_steps(&early, &(0..2)), [].into());
    }

    #[test]
    fn a_node_answers_for_the_parts_of_its_own_ranks() {
        let own = listing([("global_step10", folder(&[ZERO[0], "zero_pp_rank_3_mp_rank_00_optim_states.pt"]))]);
        assert_eq!(complete_steps(&own, &(3..4)), [10].into());
        assert_eq!(complete_steps(&own, &(2..4)), [].into());
        let divided = listing([(
            "global_step10",
            folder(&[
                ZERO[0],
                "mp_rank_01_model_states.pt",
                "zero_pp_rank_0_mp_rank_00_optim_states.pt",
                "zero_pp_rank_0_mp_rank_01_optim_states.pt",
            ]),
        )]);
        assert_eq!(complete_steps(&divided, &(0..2)), [10].into());
        assert_eq!(complete_steps(&divided, &(0..4)), [].into());
    }
}
