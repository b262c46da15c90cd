//! One kept-alive HTTP/1.1 connection, written by hand so that a caller costs next to nothing.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use serde_json::Value;

use crate::Trouble;

const PATIENCE: Duration = Duration::from_secs(60);

/// The bytes of a request.
pub fn request(method: &str, path: &str, body: Option<&Value>) -> Vec<u8> {
    let head = format!("{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept-Language: en\r\n");
    match body {
        None => format!("{head}\r\n").into_bytes(),
        Some(body) => {
            let body = body.to_string();
            let length = body.len();
            format!("{head}Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}").into_bytes()
        }
    }
}

/// What came back.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

#[derive(Debug)]
pub struct Wire {
    stream: TcpStream,
    received: Vec<u8>,
}

impl Wire {
    pub fn open(address: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { stream, received: Vec::new() })
    }

    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    pub fn send(&mut self, request: &[u8]) -> io::Result<()> {
        self.stream.write_all(request)
    }

    /// Reads once, and gives the answer if it is whole.
    pub fn receive(&mut self) -> io::Result<Option<Answer>> {
        let before = self.received.len();
        self.received.resize(before + (64 << 10), 0);
        let read = self.stream.read(&mut self.received[before..]);
        self.received.truncate(before + *read.as_ref().unwrap_or(&0));
        if read? == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed the connection"));
        }
        self.whole_answer()
    }

    fn whole_answer(&mut self) -> io::Result<Option<Answer>> {
        let Some(end) = self.received.windows(4).position(|four| four == b"\r\n\r\n") else { return Ok(None) };
        let head = String::from_utf8_lossy(&self.received[..end]).to_ascii_lowercase();
        let status = head.get(9..12).and_then(|status| status.parse().ok());
        let length = head.split("\r\ncontent-length: ").nth(1).and_then(|rest| rest.lines().next());
        let length = length.and_then(|length| length.parse::<usize>().ok());
        let (Some(status), Some(length)) = (status, length) else {
            return Err(io::Error::other(format!("no answer with a length: {head}")));
        };
        if self.received.len() < end + 4 + length {
            return Ok(None);
        }
        let mut answer: Vec<u8> = self.received.drain(..end + 4 + length).collect();
        Ok(Some(Answer { status, body: answer.split_off(end + 4) }))
    }

    /// Asks and waits.
    pub fn ask(&mut self, method: &str, path: &str, body: Option<&Value>) -> io::Result<Answer> {
        self.send(&request(method, path, body))?;
        loop {
            if let Some(answer) = self.receive()? {
                return Ok(answer);
            }
        }
    }

    /// The `data` of what the API answers; anything but 200 is trouble.
    pub fn data(&mut self, method: &str, path: &str, body: Option<&Value>) -> Result<Value, Trouble> {
        let answer = self.ask(method, &format!("/api/v1{path}"), body)?;
        if answer.status != 200 {
            let body = String::from_utf8_lossy(&answer.body);
            return Err(format!("{method} {path} was answered with {}: {body}", answer.status).into());
        }
        Ok(answer.json()["data"].take())
    }

    pub fn get(&mut self, path: &str) -> Result<Value, Trouble> {
        self.data("GET", path, None)
    }
}
