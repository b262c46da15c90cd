//! A hundred followers of the logs of one task whose ranks write without a pause: what that costs the server.

use std::fs;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::json;

use super::fleet::{Fleet, eventually};
use super::outside::{self, CpuMeter, pss_mb};
use crate::Trouble;
use crate::report::{Bound, Report, Table};

pub const RANKS: u32 = 16;
const FOLLOWERS: usize = 100;
/// A rank writes 20 of them in a second.
const SCRIPT: &str =
    "i=0; while :; do i=$((i+1)); echo \"step $i loss 1.2345 tokens/s 12345 of rank $RANK\"; sleep 0.05; done";
const SPAN: Duration = Duration::from_secs(10);
/// What has come is read so often.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A task whose ranks write, and all who follow it.
pub struct Followed {
    followers: Vec<TcpStream>,
    heard: Vec<u64>,
}

impl Followed {
    /// Starts the task and follows it as soon as every rank has written something.
    pub fn begin(fleet: &Fleet) -> Result<Self, Trouble> {
        let task = start(fleet)?;
        Self::follow(fleet, &task)
    }

    fn follow(fleet: &Fleet, task: &str) -> Result<Self, Trouble> {
        outside::many_files()?;
        let followers = (0..FOLLOWERS).map(|_| follow(fleet.address(), task)).collect::<io::Result<Vec<_>>>()?;
        Ok(Self { followers, heard: vec![0; FOLLOWERS] })
    }

    /// Reads what comes, and counts it.
    pub fn listen(&mut self, span: Duration) -> io::Result<()> {
        let until = Instant::now() + span;
        let mut buffer = vec![0; 256 << 10];
        while Instant::now() < until {
            for (stream, heard) in self.followers.iter_mut().zip(&mut self.heard) {
                loop {
                    match stream.read(&mut buffer) {
                        Ok(0) => return Err(io::Error::other("the server has ended a follower's connection")),
                        Ok(bytes) => *heard += bytes as u64,
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                        Err(error) => return Err(error),
                    }
                }
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }

    /// Counts anew.
    pub fn reset(&mut self) {
        self.heard.fill(0);
    }

    /// What the one that heard least has heard, and the one that heard most.
    pub fn heard(&self) -> (u64, u64) {
        (self.heard.iter().min().copied().unwrap_or(0), self.heard.iter().max().copied().unwrap_or(0))
    }
}

/// Starts a task that writes, and waits until every rank has written something.
fn start(fleet: &Fleet) -> Result<String, Trouble> {
    let id = fleet.create(&mut fleet.wire()?, &fleet.task(&["/bin/sh", "-c", SCRIPT])?)?;
    eventually("every rank to have written something", || {
        let logs = fleet.wire().ok()?.get(&format!("/training-tasks/{id}/logs?tail=1&stream=stdout")).ok()?;
        let chunks = logs["chunks"].as_array()?;
        let wrote = chunks.iter().filter(|chunk| chunk["length"].as_u64() > Some(0)).count();
        (wrote == RANKS as usize).then_some(())
    })?;
    Ok(id)
}

pub fn measure(report: &mut Report) -> Result<(), Trouble> {
    let fleet = Fleet::of(&[("watched", RANKS)])?;
    let id = start(&fleet)?;
    let meter = CpuMeter::start(fleet.server_pid());
    std::thread::sleep(SPAN);
    let alone = meter.percent();

    let mut watched = Followed::follow(&fleet, &id)?;
    watched.listen(Duration::from_secs(2))?;
    let (memory, files) = (pss_mb(fleet.server_pid()), open_files(fleet.server_pid()));
    watched.reset();
    let meter = CpuMeter::start(fleet.server_pid());
    watched.listen(SPAN)?;
    let followed = meter.percent();
    let (memory_after, files_after) = (pss_mb(fleet.server_pid()), open_files(fleet.server_pid()));
    let (least, most) = watched.heard();

    let mut table = Table::new("100 followers of the logs of 16 ranks, 20 lines/s each", &["", "CPU %", "MB", "files"]);
    table.row(["nobody follows".to_owned(), format!("{alone:.0}"), String::new(), String::new()]);
    table.row([
        "all follow".to_owned(),
        format!("{followed:.0}"),
        format!("{memory:.1} → {memory_after:.1}"),
        format!("{files} → {files_after}"),
    ]);
    table.print();
    println!("  each follower heard {least} to {most} bytes in {} s", SPAN.as_secs());
    report.promise("100 log followers: CPU of the server, %", Bound::AtMost(30.0), followed, "");
    report.promise(
        "100 log followers: more open files after 10 s",
        Bound::AtMost(0.0),
        files_after as f64 - files as f64,
        "",
    );
    report.keep(
        "logFollowers",
        json!({
            "serverCpuPercent": { "alone": alone, "followed": followed }, "pssMb": [memory, memory_after],
            "openFiles": [files, files_after], "bytes": [least, most],
        }),
    );
    Ok(())
}

fn follow(address: &str, task: &str) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect(address)?;
    let request = format!(
        "GET /api/v1/training-tasks/{task}/logs?follow=true&tail=1 HTTP/1.1\r\nHost: {address}\r\n\
         Accept: text/event-stream\r\n\r\n"
    );
    stream.write_all(request.as_bytes())?;
    stream.set_nonblocking(true)?;
    Ok(stream)
}

pub fn open_files(pid: u32) -> usize {
    fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count)
}
