//! What waits for somebody to read it, within bounds.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::sync::mpsc;

/// How much may wait: so many messages, with so many bytes. One may wait whatever its length.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) messages: usize,
    pub(super) bytes: usize,
}

#[derive(Clone, Debug)]
pub(super) struct Sender {
    queue: mpsc::Sender<Bytes>,
    bytes: usize,
    waiting: Arc<AtomicUsize>,
}

#[derive(Debug)]
pub(in crate::upstream) struct Receiver {
    queue: mpsc::Receiver<Bytes>,
    waiting: Arc<AtomicUsize>,
}

/// There is no room for it, or nobody to read it.
#[derive(Debug)]
pub(super) struct NotSent;

pub(super) fn queue(bounds: Bounds) -> (Sender, Receiver) {
    let (sender, receiver) = mpsc::channel(bounds.messages);
    let waiting = Arc::<AtomicUsize>::default();
    let sender = Sender { queue: sender, bytes: bounds.bytes, waiting: Arc::clone(&waiting) };
    (sender, Receiver { queue: receiver, waiting })
}

impl Sender {
    pub(super) fn try_send(&self, text: Bytes) -> Result<(), NotSent> {
        let length = text.len();
        let with = |waiting: usize| {
            let more = waiting.saturating_add(length);
            (waiting == 0 || more <= self.bytes).then_some(more)
        };
        // Counted before it is there, so that it cannot be taken out of the count first.
        self.waiting.fetch_update(Relaxed, Relaxed, with).map_err(|_| NotSent)?;
        self.queue.try_send(text).map_err(|_| {
            self.waiting.fetch_sub(length, Relaxed);
            NotSent
        })
    }

    pub(super) fn is_closed(&self) -> bool {
        self.queue.is_closed()
    }
}

impl Receiver {
    pub(super) async fn recv(&mut self) -> Option<Bytes> {
        std::future::poll_fn(|cx| self.poll_recv(cx)).await
    }

    pub(in crate::upstream) fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let received = self.queue.poll_recv(cx);
        if let Poll::Ready(Some(text)) = &received {
            self.waiting.fetch_sub(text.len(), Relaxed);
        }
        received
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(length: usize) -> Bytes {
        vec![b'x'; length].into()
    }

    #[tokio::test]
    async fn messages_and_bytes_are_bounded() {
        let (sender, mut receiver) = queue(Bounds { messages: 3, bytes: 10 });
        for length in [4, 6] {
            assert!(sender.try_send(text(length)).is_ok());
        }
        assert!(sender.try_send(text(1)).is_err(), "the bytes are used up");
        assert!(sender.try_send(text(0)).is_ok());
        assert!(sender.try_send(text(0)).is_err(), "the messages are used up");
        assert_eq!(receiver.recv().await.unwrap().len(), 4);
        assert!(sender.try_send(text(5)).is_err(), "what was not sent is not counted, what is there is");
        assert!(sender.try_send(text(4)).is_ok());
        for length in [6, 0, 4] {
            assert_eq!(receiver.recv().await.unwrap().len(), length);
        }
        assert!(sender.try_send(text(usize::from(u16::MAX))).is_ok(), "one may always wait");
        assert!(sender.try_send(text(1)).is_err());
        drop(receiver);
        assert!(sender.is_closed() && sender.try_send(text(0)).is_err());
    }
}
