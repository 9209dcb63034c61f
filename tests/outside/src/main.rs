use std::time::Duration;

use resilience_runtime::{Failure, breaker, bulkhead, fallback};
use tokio::net::{TcpListener, TcpStream, ToSocketAddrs};

#[breaker("payrail")]
#[bulkhead]
#[fallback(none = "the order stays pending; the buyer is told when to come back")]
async fn charge(payrail: impl ToSocketAddrs) -> Result<(), Failure<std::io::Error>> {
    TcpStream::connect(payrail).await?; // here your client sends the charge
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let _resilience = resilience_runtime::init()?; // finds the policy file, and watches it
    let healthy = TcpListener::bind("127.0.0.1:0").await?;
    for _ in 0..6 {
        match charge("127.0.0.1:1").await {
            Err(Failure::Rejected(refused)) => println!("refused: {refused}"),
            Err(Failure::Error(error)) => println!("failed: {}", error.kind()),
            Ok(()) => println!("charged"),
        }
    }
    tokio::time::sleep(Duration::from_secs(1)).await; // as long as it said
    charge(healthy.local_addr()?).await?;
    println!("charged");
    Ok(())
}

#[cfg(test)]
mod tests;
