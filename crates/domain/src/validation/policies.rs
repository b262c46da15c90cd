//! The checks of a task's policies: spans of time that mean something, and signals that a script can obey.

use crate::{
    messages::RequestRefusal,
    task::{LaunchOptions, OnDisconnect, OnHang, Policies, Warm},
    units::Seconds,
};

/// Ten years. Who wants to wait for longer waits for ever, and clocks count on beyond a span of this length.
pub const LONGEST_SPAN: Seconds = Seconds(315_360_000);
/// The signals of Linux end here.
const GREATEST_SIGNAL: i32 = 64;
const SIGKILL: i32 = 9;
const SIGSTOP: i32 = 19;

pub(super) fn check(policies: &Policies, options: &LaunchOptions) -> Result<(), RequestRefusal> {
    if policies.node_lost_after < Policies::SHORTEST_NODE_LOST {
        return Err(RequestRefusal::NodeLostAfterTooShort);
    }
    if policies.on_hang == OnHang::Restart && options.hook == Some(false) {
        return Err(RequestRefusal::HangWithoutHook);
    }
    if policies.warm != Warm::Off && options.hook == Some(false) {
        return Err(RequestRefusal::WarmWithoutHook);
    }
    if policies.start_timeout == Some(Seconds(0)) {
        return Err(RequestRefusal::StartTimeoutInvalid);
    }
    if policies.time_limit.is_some_and(|limit| limit == Seconds(0) || limit > LONGEST_SPAN) {
        return Err(RequestRefusal::TimeLimitInvalid);
    }
    let longest_ms = LONGEST_SPAN.as_millis();
    if let Some((field, _)) = spans(policies).into_iter().find(|(_, ms)| ms.is_some_and(|ms| ms > longest_ms)) {
        return Err(RequestRefusal::SpanTooLong { field });
    }
    if let Some(rung) = policies.stop.checkpoint
        && (!(1..=GREATEST_SIGNAL).contains(&rung.signal) || matches!(rung.signal, SIGKILL | SIGSTOP))
    {
        return Err(RequestRefusal::CheckpointSignalInvalid { signal: rung.signal });
    }
    match policies.on_disconnect {
        OnDisconnect::Keep => Ok(()),
        OnDisconnect::StopAfter(after) if after < OnDisconnect::SHORTEST => Err(RequestRefusal::StopAfterTooShort),
        OnDisconnect::StopAfter(_) => Ok(()),
    }
}

/// What is added to a clock somewhere, in milliseconds, by its path in the request.
fn spans(policies: &Policies) -> [(&'static str, Option<u64>); 7] {
    let ms = |span: Option<Seconds>| span.map(Seconds::as_millis);
    let stop = &policies.stop;
    [
        ("policies.nodeLostAfter", Some(policies.node_lost_after.as_millis())),
        ("policies.onDisconnect.stopAfter", policies.server_lease_ms()),
        ("policies.startTimeout", ms(policies.start_timeout)),
        ("policies.hangAfter", ms(policies.hang_after)),
        ("policies.stop.plannedGraceMs", Some(stop.planned_grace_ms)),
        ("policies.stop.failureGraceMs", Some(stop.failure_grace_ms)),
        ("policies.stop.checkpoint.graceMs", stop.checkpoint.map(|rung| rung.grace_ms)),
    ]
}
