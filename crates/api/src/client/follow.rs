//! Reads a live stream (SSE) and takes it up again where it broke.

use std::io::{BufRead, BufReader, Read};
use std::time::{Duration, Instant};

use ureq::http::header;

use super::{Client, ClientError};

/// The server says something each 15 s, if only that it lives.
pub(super) const SILENCE: Duration = Duration::from_secs(45);
/// How long is waited before a stream is opened again: longer each time, up to this.
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// How long a server may be away before the stream is given up.
const PATIENCE: Duration = Duration::from_secs(600);
const FIRST_WAIT: Duration = Duration::from_millis(200);
/// A line that is longer is not one of ours.
const LONGEST_LINE: u64 = 16 << 20;

/// What comes out of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Something happened.
    Event {
        /// Where to resume.
        cursor: Option<String>,
        /// The kind; `message` where none was given.
        kind: String,
        data: String,
    },
    /// The stream broke; it is being opened again.
    Lost,
    /// And is open again.
    Back,
}

/// A stream that outlives its connection.
pub struct Follower {
    client: Client,
    path: String,
    /// What is asked for instead when it is opened again and no cursor says where.
    path_again: Option<String>,
    cursor: Option<String>,
    open: Option<BufReader<Box<dyn Read>>>,
    /// Since when there is no connection.
    lost: Option<Instant>,
    wait: Duration,
}

impl std::fmt::Debug for Follower {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Follower").field("path", &self.path).field("cursor", &self.cursor).finish_non_exhaustive()
    }
}

impl Follower {
    pub(super) fn new(client: Client, path: String, cursor: Option<String>) -> Self {
        Self { client, path, path_again: None, cursor, open: None, lost: None, wait: FIRST_WAIT }
    }

    /// Asks for this when the stream is opened again and the server has named no cursor.
    pub(super) fn again_by(self, path: String) -> Self {
        Self { path_again: Some(path), ..self }
    }

    /// Where the stream would be taken up again.
    pub fn cursor(&self) -> Option<&str> {
        self.cursor.as_deref()
    }

    /// The next moment; none when the server has ended the stream for good.
    #[allow(clippy::should_implement_trait, reason = "it fails, and the stream may go on after `Lost`")]
    pub fn next(&mut self) -> Result<Option<Moment>, ClientError> {
        loop {
            let Some(stream) = &mut self.open else {
                if let Some(moment) = self.reopen()? {
                    return Ok(Some(moment));
                }
                continue;
            };
            match read_event(stream) {
                Ok(Some(Moment::Event { kind, .. })) if kind == "end" => return Ok(None),
                Ok(Some(moment)) => {
                    if let Moment::Event { cursor: Some(cursor), .. } = &moment {
                        self.cursor = Some(cursor.clone());
                    }
                    self.wait = FIRST_WAIT;
                    return Ok(Some(moment));
                }
                // An end without a word, and an error, are the same to us: the server went away.
                Ok(None) | Err(_) => {
                    self.open = None;
                    self.lost = Some(Instant::now());
                    return Ok(Some(Moment::Lost));
                }
            }
        }
    }

    fn reopen(&mut self) -> Result<Option<Moment>, ClientError> {
        let Some(since) = self.lost else {
            // The first time a failure is an answer.
            self.open = Some(self.connect()?);
            return Ok(None);
        };
        std::thread::sleep(self.wait);
        self.wait = (self.wait * 2).min(LONGEST_WAIT);
        match self.connect() {
            Ok(stream) => {
                self.open = Some(stream);
                self.lost = None;
                Ok(Some(Moment::Back))
            }
            Err(error) if error.may_pass() && since.elapsed() < PATIENCE => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn connect(&self) -> Result<BufReader<Box<dyn Read>>, ClientError> {
        let mut headers = vec![(header::ACCEPT, "text/event-stream".to_owned())];
        if let Some(cursor) = &self.cursor {
            headers.push((header::HeaderName::from_static("last-event-id"), cursor.clone()));
        }
        let again = self.path_again.as_ref().filter(|_| self.lost.is_some() && self.cursor.is_none());
        let response = self.client.open_stream(again.unwrap_or(&self.path), &headers, SILENCE)?;
        if response.status().as_u16() >= 400 {
            return Err(match self.client.open::<serde_json::Value>(response) {
                Err(error) => error,
                Ok(_) => ClientError::NotUnderstood {
                    server: self.client.server().to_string(),
                    reason: "an error without a body".to_owned(),
                },
            });
        }
        let reader: Box<dyn Read> = Box::new(response.into_body().into_with_config().limit(u64::MAX).reader());
        Ok(BufReader::new(reader))
    }
}

/// Reads up to the blank line that ends an event; none at the end of the stream.
fn read_event(stream: &mut impl BufRead) -> std::io::Result<Option<Moment>> {
    let (mut cursor, mut kind, mut data) = (None, "message".to_owned(), None::<String>);
    loop {
        let mut line = Vec::new();
        if stream.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end_matches(['\n', '\r']);
        if line.is_empty() {
            match data.take() {
                Some(data) => return Ok(Some(Moment::Event { cursor, kind, data })),
                // A comment or a lone id.
                None => continue,
            }
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "id" => cursor = Some(value.to_owned()),
            "event" => kind = value.to_owned(),
            "data" => match &mut data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => data = Some(value.to_owned()),
            },
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(text: &str) -> Vec<(Option<String>, String, String)> {
        let mut stream = text.as_bytes();
        let mut seen = Vec::new();
        while let Some(Moment::Event { cursor, kind, data }) = read_event(&mut stream).unwrap() {
            seen.push((cursor, kind, data));
        }
        seen
    }

    #[test]
    fn events_are_read_with_their_cursor_and_comments_are_passed_over() {
        let seen = events(": hello\n\nid: 7\nevent: task\ndata: {\"a\":\ndata: 1}\n\n:\n\ndata:x\r\n\r\n");
        assert_eq!(
            seen,
            [
                (Some("7".to_owned()), "task".to_owned(), "{\"a\":\n1}".to_owned()),
                (None, "message".to_owned(), "x".to_owned())
            ]
        );
    }

    #[test]
    fn an_event_that_was_cut_is_none() {
        assert!(events("id: 1\ndata: half").is_empty());
    }
}
