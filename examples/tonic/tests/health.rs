//! A real client against the gated service, over a socket.
#![allow(clippy::unwrap_used)]

use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::Channel;
use tonic::{Code, Request};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

async fn client() -> HealthClient<Channel> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = toolgate_tonic::server().unwrap();
    tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
    HealthClient::new(Channel::from_shared(format!("http://{address}")).unwrap().connect_lazy())
}

fn request(role: Option<&'static str>) -> Request<HealthCheckRequest> {
    let mut request = Request::new(HealthCheckRequest { service: String::new() });
    if let Some(role) = role {
        request.metadata_mut().insert("x-demo-role", role.parse().unwrap());
    }
    request
}

#[tokio::test]
async fn methods_are_gated_by_their_path() {
    let mut client = client().await;
    assert_eq!(client.check(request(Some("prober"))).await.unwrap().into_inner().status, 1);
    let denied = client.watch(request(Some("prober"))).await.unwrap_err();
    assert_eq!((denied.code(), denied.message()), (Code::PermissionDenied, "policy.tool_not_allowed"));
    let mut watching = client.watch(request(Some("operator"))).await.unwrap().into_inner();
    assert_eq!(watching.message().await.unwrap().unwrap().status, 1);
    for role in [None, Some("stranger")] {
        assert_eq!(client.check(request(role)).await.unwrap_err().code(), Code::PermissionDenied);
    }
}
