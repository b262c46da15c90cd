//! Durable creates: 64 callers at once, each answered when its task is on the disk.

use std::time::Duration;

use serde_json::json;

use super::disk;
use super::fleet::Fleet;
use super::load::{self, Callers, Enough, Pace};
use super::outside::{CpuMeter, pss_mb};
use super::wire;
use crate::Trouble;
use crate::report::{Bound, Report, Table, ms};

const CLIENTS: usize = 64;
const HOW_LONG: Duration = Duration::from_secs(10);
const DISK: Duration = Duration::from_secs(2);

pub fn measure(report: &mut Report) -> Result<(), Trouble> {
    let fleet = Fleet::of(&[("held", 1)])?;
    fleet.hold_workers()?;
    let disk = disk::row_by_row(fleet.folder(), DISK)?;
    let request = wire::request("POST", "/api/v1/training-tasks", Some(&fleet.task(&["/bin/true"])?));
    let callers = Callers {
        pace: Pace::Answered,
        connections: CLIENTS,
        request: Box::new(move || request.clone()),
        look: Box::new(|_| {}),
    };
    let (server, own) = (CpuMeter::start(fleet.server_pid()), CpuMeter::start(std::process::id()));
    let outcomes = load::drive(fleet.address(), vec![callers], Enough::After(HOW_LONG))?;
    let (server, own) = (server.percent(), own.percent());
    let outcome = outcomes.first().ok_or("nobody called")?;
    if outcome.refused > 0 {
        return Err(format!("{} creates were refused: {}", outcome.refused, outcome.first_refusal).into());
    }
    let alone = disk.count() as f64 / DISK.as_secs_f64();

    let mut table = Table::new("Durable creates, 64 clients, 10 s", &["", "creates/s", "p50 ms", "p99 ms", "max ms"]);
    let [_, p50, p99, most] = outcome.latency.cells();
    table.row(["fermi server".to_owned(), format!("{:.0}", outcome.per_second), p50, p99, most]);
    let [_, p50, p99, most] = disk.cells();
    table.row(["this disk, one row per fdatasync".to_owned(), format!("{alone:.0}"), p50, p99, most]);
    table.print();
    println!(
        "  CPU of the server {server:.0} % and of the callers {own:.0} % of one core; memory {:.1} MB; fdatasync {} ms",
        pss_mb(fleet.server_pid()),
        ms(disk.p50()),
    );
    report.promise("durable creates, 64 clients", Bound::AtLeast(4_000.0), outcome.per_second, "/s");
    report.promise("durable creates, 64 clients, p99", Bound::AtMost(50.0), outcome.latency.p99(), "ms");
    report.keep(
        "creates",
        json!({
            "perSecond": outcome.per_second,
            "ms": outcome.latency.json(),
            "diskMs": disk.json(),
            "diskPerSecond": alone,
            "serverCpuPercent": server,
            "callersCpuPercent": own,
        }),
    );
    Ok(())
}
