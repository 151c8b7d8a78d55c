//! `cargo run -p toolgate-tonic`

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = "127.0.0.1:50051".parse()?;
    println!("grpc.health.v1.Health on {address}; x-demo-role: prober may Check, operator may Watch as well");
    toolgate_tonic::server()?.serve(address).await?;
    Ok(())
}
