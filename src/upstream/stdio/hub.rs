//! Clients that listen without having asked for anything.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::queue::{Bounds, Receiver, Sender, queue};
use bytes::Bytes;

/// The streams of events that were opened by GET.
#[derive(Debug)]
pub(super) struct Hub {
    /// `None` once there will be no more news.
    streams: Mutex<Option<Vec<Sender>>>,
    events: Bounds,
    max_streams: usize,
}

impl Hub {
    pub(super) fn new(events: Bounds, max_streams: usize) -> Self {
        Self { streams: Mutex::new(Some(Vec::new())), events, max_streams }
    }

    /// Opens one, unless there are too many.
    pub(super) fn open(&self) -> Option<Receiver> {
        let mut streams = self.streams();
        let streams = streams.as_mut()?;
        streams.retain(|stream| !stream.is_closed());
        if streams.len() >= self.max_streams {
            return None;
        }
        let (sender, receiver) = queue(self.events);
        streams.push(sender);
        Some(receiver)
    }

    /// Tells all of them. Who does not keep up is told no more: a gap would go unnoticed.
    pub(super) fn tell(&self, event: &Bytes) {
        if let Some(streams) = self.streams().as_mut() {
            streams.retain(|stream| stream.try_send(event.clone()).is_ok());
        }
    }

    /// Ends all of them.
    pub(super) fn close(&self) {
        *self.streams() = None;
    }

    fn streams(&self) -> MutexGuard<'_, Option<Vec<Sender>>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A message as an event of a stream.
pub(super) fn event(message: &[u8]) -> Bytes {
    [b"event: message\ndata: ", message, b"\n\n"].concat().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_does_not_keep_up_is_told_no_more() {
        let hub = Hub::new(Bounds { messages: 2, bytes: 8 }, 2);
        let (mut quick, mut slow) = (hub.open().unwrap(), hub.open().unwrap());
        assert!(hub.open().is_none(), "no more than two");
        for number in 0..4 {
            hub.tell(&Bytes::from(vec![number]));
            assert_eq!(quick.recv().await.unwrap(), [number][..]);
        }
        assert_eq!((slow.recv().await.unwrap(), slow.recv().await.unwrap()), (vec![0].into(), vec![1].into()));
        assert_eq!(slow.recv().await, None);
        hub.tell(&Bytes::from(vec![5; 8]));
        hub.tell(&Bytes::from(vec![6]));
        assert_eq!((quick.recv().await.unwrap().len(), quick.recv().await), (8, None), "of bytes as of events");
        let mut quick = hub.open().unwrap();
        let third = hub.open();
        assert!(third.is_some(), "its place is free");
        hub.close();
        assert_eq!(quick.recv().await, None);
        assert!(hub.open().is_none());
    }
}
