//! A connection that can be told to end, and from which a stranger sends only so much.

use std::io;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::Ticket;

/// What a stranger may send before it is heard: the head of a request, or a log-in. More waits until it has shown who it is.
const STRANGERS_BYTES: u64 = 64 << 10;

#[derive(Debug)]
pub struct BoundedStream<S> {
    stream: S,
    ticket: Ticket,
}

impl<S> BoundedStream<S> {
    pub fn new(stream: S, ticket: Ticket) -> Self {
        Self { stream, ticket }
    }

    pub fn ticket(&self) -> &Ticket {
        &self.ticket
    }

    fn goes_on(&self) -> io::Result<()> {
        if self.ticket.0.line.is_ended.load(Ordering::SeqCst) {
            return Err(io::Error::new(io::ErrorKind::ConnectionAborted, "it has given way to others"));
        }
        Ok(())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for BoundedStream<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let line = self.ticket.0.line.clone();
        line.reader.register(context.waker());
        self.goes_on()?;
        if !line.is_heard_out.load(Ordering::SeqCst) && line.read.load(Ordering::SeqCst) >= STRANGERS_BYTES {
            return Poll::Pending;
        }
        let before = into.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, into);
        line.read.fetch_add((into.filled().len() - before) as u64, Ordering::SeqCst);
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for BoundedStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.ticket.0.line.writer.register(context.waker());
        self.goes_on()?;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.ticket.0.line.writer.register(context.waker());
        self.goes_on()?;
        Pin::new(&mut self.stream).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.ticket.0.line.writer.register(context.waker());
        self.goes_on()?;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.ticket.0.line.writer.register(context.waker());
        self.goes_on()?;
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
