//! Names become addresses once, are judged, and are connected to.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::vec;

use hyper_util::client::legacy::connect::dns::Name;
use tokio::sync::Semaphore;
use tower_service::Service;

use super::address::is_public;

/// The future of a resolution.
pub type Resolution = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// Finds the addresses of a host's name. Closures that return a [`Resolution`] implement it.
pub trait Resolve: Send + Sync + 'static {
    /// The addresses of a name, the best first.
    fn resolve(&self, name: &str) -> Resolution;
}

impl<F: Fn(&str) -> Resolution + Send + Sync + 'static> Resolve for F {
    fn resolve(&self, name: &str) -> Resolution {
        self(name)
    }
}

/// The look-ups of one server's name that may be under way at once. The system's go on when nobody waits for them any
/// more, on threads that are all servers'.
const MAX_LOOKUPS: usize = 32;

/// The operating system's resolver.
pub(super) fn system() -> impl Resolve {
    few_at_once(MAX_LOOKUPS, look_up)
}

fn few_at_once(most: usize, look_up: fn(String) -> Resolution) -> impl Resolve {
    let places = Arc::new(Semaphore::new(most));
    move |name: &str| -> Resolution {
        let (places, found) = (Arc::clone(&places), look_up(name.to_owned()));
        Box::pin(async move {
            let place = places.acquire_owned().await.map_err(io::Error::other)?;
            let looking = tokio::spawn(async move {
                let _place = place;
                found.await
            });
            looking.await.map_err(io::Error::other)?
        })
    }
}

fn look_up(name: String) -> Resolution {
    Box::pin(async move {
        let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
        Ok(found.map(|address| address.ip()).collect())
    })
}

/// What a connector asks for addresses. It connects to the very addresses that it is given, so what was judged here
/// cannot have changed by then.
#[derive(Clone)]
pub(super) struct Guarded {
    resolve: Arc<dyn Resolve>,
    allows: fn(IpAddr) -> bool,
}

impl Guarded {
    pub(super) fn new(resolve: Arc<dyn Resolve>, trusted: bool) -> Self {
        Self { resolve, allows: if trusted { |_| true } else { is_public } }
    }

    #[cfg(test)]
    pub(super) fn allowing(resolve: impl Resolve, allows: fn(IpAddr) -> bool) -> Self {
        Self { resolve: Arc::new(resolve), allows }
    }
}

impl Service<Name> for Guarded {
    type Response = vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let (found, allows) = (self.resolve.resolve(name.as_str()), self.allows);
        Box::pin(async move {
            let found = found.await?;
            let allowed: Vec<_> = found.iter().copied().filter(|address| allows(*address)).collect();
            if allowed.is_empty() && !found.is_empty() {
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, NotPublic));
            }
            // The connector puts its port there.
            Ok(allowed.into_iter().map(|address| SocketAddr::new(address, 0)).collect::<Vec<_>>().into_iter())
        })
    }
}

/// A name that leads to no public address.
#[derive(Debug)]
struct NotPublic;

impl fmt::Display for NotPublic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a server that is not trusted leads to no public address")
    }
}

impl Error for NotPublic {}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::time::Duration;

    use super::*;

    async fn ask(guarded: &mut Guarded, name: &str) -> Result<Vec<IpAddr>, io::ErrorKind> {
        let found = guarded.call(name.parse().unwrap()).await;
        found.map(|found| found.map(|address| address.ip()).collect()).map_err(|error| error.kind())
    }

    fn fixed(addresses: &'static [&'static str]) -> impl Resolve {
        move |_: &str| -> Resolution {
            let found = addresses.iter().map(|address| address.parse().unwrap()).collect();
            Box::pin(async { Ok(found) })
        }
    }

    #[tokio::test]
    async fn only_public_addresses_are_given_to_who_is_not_trusted() {
        type Row = (&'static [&'static str], Result<&'static [&'static str], io::ErrorKind>);
        let rows: [Row; 5] = [
            (&["8.8.8.8"], Ok(&["8.8.8.8"])),
            (&["127.0.0.1", "8.8.8.8", "::1"], Ok(&["8.8.8.8"])),
            (&["127.0.0.1"], Err(io::ErrorKind::PermissionDenied)),
            (&["64:ff9b::7f00:1", "0.0.0.0", "fe80::1"], Err(io::ErrorKind::PermissionDenied)),
            (&[], Ok(&[])),
        ];
        for (found, expected) in rows {
            let parsed = |texts: &[&str]| -> Vec<IpAddr> { texts.iter().map(|text| text.parse().unwrap()).collect() };
            let mut guarded = Guarded::new(Arc::new(fixed(found)), false);
            assert_eq!(ask(&mut guarded, "a.example").await, expected.map(parsed), "{found:?}");
            let mut trusted = Guarded::new(Arc::new(fixed(found)), true);
            assert_eq!(ask(&mut trusted, "a.example").await, Ok(parsed(found)));
        }
    }

    /// What the system's resolver takes for an address, although the connector does not.
    #[tokio::test]
    async fn shorthands_of_addresses_are_judged_by_what_they_mean() {
        for name in ["127.1", "0x7f.1", "2130706433", "017700000001", "localhost", "0"] {
            let mut guarded = Guarded::new(Arc::new(system()), false);
            assert!(ask(&mut guarded, name).await.is_err(), "{name}");
        }
    }

    #[tokio::test]
    async fn who_gives_up_does_not_make_room_for_more_of_them() {
        static BEGUN: AtomicUsize = AtomicUsize::new(0);
        let hangs = |_: String| -> Resolution {
            Box::pin(async {
                BEGUN.fetch_add(1, SeqCst);
                std::future::pending().await
            })
        };
        let resolve = few_at_once(2, hangs);
        for _ in 0..5 {
            let given_up = tokio::time::timeout(Duration::from_millis(20), resolve.resolve("a.example"));
            assert!(given_up.await.is_err());
        }
        assert_eq!(BEGUN.load(SeqCst), 2);
        let resolve = few_at_once(1, |_: String| -> Resolution { Box::pin(async { Ok(vec![[8, 8, 8, 8].into()]) }) });
        for _ in 0..3 {
            assert_eq!(resolve.resolve("a.example").await.unwrap(), [IpAddr::from([8, 8, 8, 8])]);
        }
    }

    #[tokio::test]
    async fn a_name_that_changes_is_judged_each_time() {
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&calls);
        let rebinding = move |_: &str| -> Resolution {
            let first = counted.fetch_add(1, SeqCst) == 0;
            Box::pin(async move { Ok(vec![if first { [8, 8, 8, 8].into() } else { [127, 0, 0, 1].into() }]) })
        };
        let mut guarded = Guarded::new(Arc::new(rebinding), false);
        assert_eq!(ask(&mut guarded, "a.example").await, Ok(vec![[8, 8, 8, 8].into()]));
        assert_eq!(ask(&mut guarded, "a.example").await, Err(io::ErrorKind::PermissionDenied));
        assert_eq!(calls.load(SeqCst), 2);
    }
}
