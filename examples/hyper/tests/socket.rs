//! The gated service over a socket.
#![allow(clippy::unwrap_used)]

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

async fn exchange(method: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    tokio::spawn(toolgate_hyper::serve(listener));
    let body = format!(r#"{{"jsonrpc":"2.0","id":5,"method":"{method}"}}"#);
    let length = body.len();
    let head = format!(
        "POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {length}"
    );
    stream.write_all(format!("{head}\r\n\r\n{body}").as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn methods_are_gated() {
    let allowed = exchange("get_time").await;
    assert!(allowed.starts_with("HTTP/1.1 200 OK") && allowed.ends_with("44 bytes"), "{allowed}");
    let denied = exchange("set_time").await;
    assert!(denied.starts_with("HTTP/1.1 403 Forbidden") && denied.contains(r#""id":5,"#), "{denied}");
}
