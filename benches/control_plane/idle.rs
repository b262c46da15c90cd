//! What a server costs that has nothing to do.

use std::time::Duration;

use serde_json::json;

use super::fleet::Fleet;
use super::outside::{CpuMeter, pss_mb};
use crate::Trouble;
use crate::report::{Bound, Report, Table};

const HOW_LONG: Duration = Duration::from_secs(5);

pub fn measure(report: &mut Report) -> Result<(), Trouble> {
    let fleet = Fleet::server()?;
    let meter = CpuMeter::start(fleet.server_pid());
    std::thread::sleep(HOW_LONG);
    let (cpu, pss) = (meter.percent(), pss_mb(fleet.server_pid()));
    let mut table = Table::new("An idle server, 5 s", &["", ""]);
    table.row(["memory (PSS), MB".to_owned(), format!("{pss:.1}")]);
    table.row(["CPU, % of one core".to_owned(), format!("{cpu:.2}")]);
    table.print();
    report.promise("idle server, memory (PSS)", Bound::AtMost(40.0), pss, "MB");
    report.keep("idle", json!({ "pssMb": pss, "cpuPercent": cpu }));
    Ok(())
}
