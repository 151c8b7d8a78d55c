//! Clients that listen without having asked for anything.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use super::queue::{Bounds, Receiver, Sender, queue};
use super::tasks::Concern;
use crate::Principal;

/// The streams of events that were opened by GET.
#[derive(Debug)]
pub(super) struct Hub {
    /// `None` once there will be no more news.
    streams: Mutex<Option<Vec<Stream>>>,
    events: Bounds,
    max_streams: usize,
}

#[derive(Debug)]
struct Stream {
    listener: Option<Principal>,
    events: Sender,
}

impl Hub {
    pub(super) fn new(events: Bounds, max_streams: usize) -> Self {
        Self { streams: Mutex::new(Some(Vec::new())), events, max_streams }
    }

    /// Opens one for somebody, unless there are too many.
    pub(super) fn open(&self, listener: Option<Principal>) -> Option<Receiver> {
        let mut streams = self.streams();
        let streams = streams.as_mut()?;
        streams.retain(|stream| !stream.events.is_closed());
        if streams.len() >= self.max_streams {
            return None;
        }
        let (events, receiver) = queue(self.events);
        streams.push(Stream { listener, events });
        Some(receiver)
    }

    /// Tells those whom it concerns. Who does not keep up is told no more: a gap would go unnoticed.
    pub(super) fn tell(&self, event: &Bytes, concern: &Concern) {
        let kept =
            |stream: &Stream| !concern.is_of(stream.listener.as_ref()) || stream.events.try_send(event.clone()).is_ok();
        if let Some(streams) = self.streams().as_mut() {
            streams.retain(kept);
        }
    }

    /// Ends all of them.
    pub(super) fn close(&self) {
        *self.streams() = None;
    }

    fn streams(&self) -> MutexGuard<'_, Option<Vec<Stream>>> {
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
        let (mut quick, mut slow) = (hub.open(None).unwrap(), hub.open(None).unwrap());
        assert!(hub.open(None).is_none(), "no more than two");
        for number in 0..4 {
            hub.tell(&Bytes::from(vec![number]), &Concern::All);
            assert_eq!(quick.recv().await.unwrap(), [number][..]);
        }
        assert_eq!((slow.recv().await.unwrap(), slow.recv().await.unwrap()), (vec![0].into(), vec![1].into()));
        assert_eq!(slow.recv().await, None);
        hub.tell(&Bytes::from(vec![5; 8]), &Concern::All);
        hub.tell(&Bytes::from(vec![6]), &Concern::Of(None));
        assert_eq!((quick.recv().await.unwrap().len(), quick.recv().await), (8, None), "of bytes as of events");
        let mut quick = hub.open(None).unwrap();
        let third = hub.open(None);
        assert!(third.is_some(), "its place is free");
        hub.close();
        assert_eq!(quick.recv().await, None);
        assert!(hub.open(None).is_none());
    }
}
