//! What it costs that a server asks who comes: a token with each request, and TLS with each command.

use std::time::Instant;

use serde_json::json;

use super::fleet::Fleet;
use super::spread::Spread;
use super::wire::{self, Wire};
use crate::Trouble;
use crate::report::{Bound, Report, Table};

/// Both take turns, so that whatever else the machine does hits both.
const ROUNDS: usize = 20;
const REQUESTS: usize = 500;
const COMMANDS: usize = 40;

pub fn measure(report: &mut Report) -> Result<(), Trouble> {
    let (open, closed, encrypted) = (Fleet::server()?, Fleet::behind(&[])?, Fleet::behind(&["--tls"])?);
    let token = closed.token()?;
    let unasked = wire::request("GET", "/api/v1/frameworks", None);
    let head = "GET /api/v1/frameworks HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept-Language: en\r\n";
    let asked = format!("{head}Authorization: Bearer {token}\r\n\r\n").into_bytes();
    let (mut to_open, mut to_closed) = (open.wire()?, closed.wire()?);
    let (mut without, mut with) = (Spread::default(), Spread::default());
    for _ in 0..ROUNDS {
        for (wire, request, spread) in [(&mut to_open, &unasked, &mut without), (&mut to_closed, &asked, &mut with)] {
            for _ in 0..REQUESTS {
                spread.push(microseconds(wire, request)?);
            }
        }
    }
    let (mut plain, mut tls) = (Spread::default(), Spread::default());
    for _ in 0..COMMANDS {
        plain.push(closed.typed(&["task", "list"])?.as_secs_f64() * 1e3);
        tls.push(encrypted.typed(&["task", "list"])?.as_secs_f64() * 1e3);
    }

    let mut table = Table::new("What a closed door costs, in turns", &["", "count", "p50", "p99", "max"]);
    for (name, spread) in [
        ("a request without a token, µs", &without),
        ("a request with a token, µs", &with),
        ("fermi task list, ms", &plain),
        ("fermi task list over TLS, ms", &tls),
    ] {
        table.row([name.to_owned()].into_iter().chain(spread.cells()));
    }
    table.print();
    report.promise("a token with a request costs", Bound::AtMost(50.0), with.p50() - without.p50(), "µs");
    report.promise("TLS of `fermi task list` costs", Bound::AtMost(5.0), tls.p50() - plain.p50(), "ms");
    let details = json!({
        "withoutTokenUs": without.json(), "withTokenUs": with.json(), "plainMs": plain.json(), "tlsMs": tls.json(),
    });
    report.keep("access", details);
    Ok(())
}

fn microseconds(wire: &mut Wire, request: &[u8]) -> Result<f64, Trouble> {
    let began = Instant::now();
    wire.send(request)?;
    let answer = loop {
        if let Some(answer) = wire.receive()? {
            break answer;
        }
    };
    if answer.status != 200 {
        return Err(format!("a request was answered with {}", answer.status).into());
    }
    Ok(began.elapsed().as_secs_f64() * 1e6)
}
