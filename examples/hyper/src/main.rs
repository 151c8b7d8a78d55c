//! `cargo run -p toolgate-hyper`

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
    println!("http://{}: `get_*` passes, everything else is denied", listener.local_addr()?);
    toolgate_hyper::serve(listener).await
}
