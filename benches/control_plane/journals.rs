//! What played agents send of their runs by HTTP: a journal that says that its ranks have begun.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use fermi_api::link::{CLUSTER_HEADER, CREDENTIAL_HEADER, ENVIRONMENT_HEADER, EPOCH_HEADER, Welcome};
use fermi_domain::task::RunKey;

use super::wire::Wire;

/// Real agents send side by side, and the server stores together what comes together.
const THREADS: usize = 8;

/// Of which run, and who sends it.
#[derive(Debug)]
pub struct Journal {
    pub run: RunKey,
    pub welcome: Welcome,
    pub credential: Option<String>,
}

/// Sends what is given to it, as long as anybody may give.
pub fn start(server: SocketAddr) -> Sender<Journal> {
    let (sender, journals) = channel();
    let journals = Arc::new(Mutex::new(journals));
    for _ in 0..THREADS {
        let journals = journals.clone();
        std::thread::spawn(move || serve(server, &journals));
    }
    sender
}

fn serve(server: SocketAddr, journals: &Mutex<Receiver<Journal>>) {
    let mut wire = None;
    loop {
        let next = journals.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(journal) = next else { return };
        // A server that goes away meanwhile gets it again.
        for _ in 0..100 {
            match send(&mut wire, server, &journal) {
                Ok(200) => break,
                Ok(status) => eprintln!("the journal of {} was answered with {status}", journal.run),
                Err(_) => wire = None,
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    }
}

fn send(wire: &mut Option<Wire>, server: SocketAddr, journal: &Journal) -> io::Result<u16> {
    let wire = match wire {
        Some(wire) => wire,
        None => wire.insert(Wire::open(&server.to_string())?),
    };
    let Journal { run, welcome, credential } = journal;
    let body = begun(run);
    let mut head = Vec::new();
    write!(head, "POST /api/agent/v1/runs/{run}/journal?offset=0 HTTP/1.1\r\nHost: 127.0.0.1\r\n")?;
    write!(head, "{ENVIRONMENT_HEADER}: {}\r\n{CLUSTER_HEADER}: {}\r\n", welcome.environment, welcome.cluster)?;
    write!(head, "{EPOCH_HEADER}: {}\r\n", welcome.epoch)?;
    if let Some(credential) = credential {
        write!(head, "{CREDENTIAL_HEADER}: {credential}\r\n")?;
    }
    write!(head, "Content-Length: {}\r\n\r\n{body}", body.len())?;
    wire.send(&head)?;
    loop {
        if let Some(answer) = wire.receive()? {
            return Ok(answer.status);
        }
    }
}

/// One rank, which has begun.
fn begun(run: &RunKey) -> String {
    let lines = [
        r#"{"journal":1,"fermi":"0.1.0"}"#.to_owned(),
        format!(
            r#"{{"v":1,"seq":1,"timeMs":1,"event":"run.started","runId":"{run}","worldSize":1,"folder":null,"wardenPid":2,"supervisorPid":3,"masterPort":29500}}"#
        ),
        r#"{"v":1,"seq":2,"timeMs":1,"event":"attempt.started","attempt":1,"masterAddr":"127.0.0.1","masterPort":29500,"resume":false}"#.to_owned(),
        r#"{"v":1,"seq":3,"timeMs":1,"event":"rank.started","attempt":1,"rank":0,"localRank":0,"pid":4}"#.to_owned(),
    ];
    lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect()
}
