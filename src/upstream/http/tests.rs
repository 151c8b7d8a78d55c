//! A connection goes to the very address that was judged.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tower::ServiceExt;

use super::resolve::{Guarded, Resolution};
use super::{HttpConfig, HttpUpstream};
use crate::answer::Denial;
use crate::upstream::UpstreamBody;

const PUBLIC: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(127, 0, 0, 1));
const PRIVATE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(127, 0, 0, 2));

/// Accepts connections, each for one request, and counts them.
fn count(listener: TcpListener) -> Arc<AtomicUsize> {
    let count = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&count);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            counter.fetch_add(1, SeqCst);
            _ = stream.read(&mut [0; 4096]).await;
            _ = stream.write_all(b"HTTP/1.1 202 Accepted\r\nconnection: close\r\ncontent-length: 0\r\n\r\n").await;
        }
    });
    count
}

async fn get(upstream: &HttpUpstream) -> Response<UpstreamBody> {
    let request = Request::get("/").body(Full::<Bytes>::default()).unwrap();
    upstream.clone().oneshot(request).await.unwrap()
}

/// The name leads to a public address first, and then, while the gate still believes that, to a private one.
#[tokio::test]
async fn a_name_that_is_bound_anew_leads_nowhere() {
    let public = TcpListener::bind((PUBLIC, 0)).await.unwrap();
    let port = public.local_addr().unwrap().port();
    let private = TcpListener::bind((PRIVATE, port)).await.unwrap();
    let (public, private) = (count(public), count(private));
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let rebinding = move |_: &str| -> Resolution {
        let address = if counted.fetch_add(1, SeqCst) == 0 { PUBLIC } else { PRIVATE };
        Box::pin(async move { Ok(vec![address]) })
    };
    let config = HttpConfig::new(&format!("http://a.example:{port}/")).unwrap();
    let guarded = Guarded::allowing(rebinding, |address| address == PUBLIC);
    let upstream = HttpUpstream::guarded(config, guarded).unwrap();
    assert_eq!(get(&upstream).await.status(), 202);
    assert_eq!(calls.load(SeqCst), 1, "what was judged is what is connected to");
    let refused = get(&upstream).await;
    assert_eq!(refused.extensions().get::<Denial>().map(Denial::reason), Some("upstream.unreachable"));
    assert_eq!((calls.load(SeqCst), public.load(SeqCst), private.load(SeqCst)), (2, 1, 0));
}
