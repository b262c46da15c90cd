//! The shipped constants against runs measured on one H200, and what calibration does with five of them.
#![allow(clippy::unwrap_used, clippy::panic)]

use fermi_planner::calibrate::{calibrate, mean_error, samples};
use fermi_planner::catalogue::Catalogue;
use fermi_planner::constants::Constants;
use fermi_planner::evaluate::{compare, report};
use fermi_planner::run::{Run, Runs};

fn runs() -> Vec<Run> {
    serde_json::from_str::<Runs>(include_str!("../data/measured_h200.json")).unwrap().rows
}

#[test]
fn memory_and_time_of_measured_runs_are_met() {
    let (catalogue, constants) = (Catalogue::builtin(), Constants::builtin());
    let compared: Vec<_> = runs().iter().filter_map(|run| compare(run, &catalogue, &constants)).collect();
    let report = report(&compared, 0);
    assert!(report.peak_memory.median < 2.0, "{:?}", report.peak_memory);
    assert!(report.step_one_node < 12.0, "{}", report.step_one_node);
    assert_eq!(report.out_of_memory_called_fitting, 0);
    assert_eq!(report.ran_called_not_fitting, 0);
}

#[test]
fn five_runs_of_a_slower_cluster_teach_its_constants() {
    let (catalogue, constants) = (Catalogue::builtin(), Constants::builtin());
    let mut all = samples(&runs(), &catalogue);
    // The same cluster with everything a third slower.
    all.iter_mut().for_each(|s| s.seconds *= 1.33);
    let few: Vec<_> = all.iter().step_by(all.len() / 5).take(5).cloned().collect();
    let learned = calibrate(&few, &constants).unwrap();
    assert!(learned.error_after < learned.error_before);
    assert!(mean_error(&all, &learned.constants) < mean_error(&all, &constants));
    let stored = serde_json::to_string(&learned).unwrap();
    let back: fermi_planner::calibrate::Calibration = serde_json::from_str(&stored).unwrap();
    assert!((mean_error(&all, &back.constants) - mean_error(&all, &learned.constants)).abs() < 0.05);
    assert!(calibrate(&[], &constants).is_none());
}
