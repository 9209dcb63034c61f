use resilience_runtime::{Failure, breaker, bulkhead, fallback};
use tokio::net::{TcpListener, TcpStream, ToSocketAddrs};

#[breaker("payrail")]
#[bulkhead]
#[fallback(none = "the order stays pending, and the buyer is told when to come back")]
async fn charge(payrail: impl ToSocketAddrs) -> Result<(), Failure<std::io::Error>> {
    TcpStream::connect(payrail).await?; // here your client would send the charge
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let _resilience = resilience_runtime::init()?; // finds resilience.toml, and watches it
    let healthy = TcpListener::bind("127.0.0.1:0").await?;
    for _ in 0..6 {
        match charge("127.0.0.1:1").await { // nobody listens there
            Err(Failure::Rejected(refused)) => println!("refused: {refused}; Retry-After {:?}", refused.retry_after()),
            answer => println!("{answer:?}"),
        }
    }
    tokio::time::sleep(std::time::Duration::from_millis(1200)).await; // the cooldown is 1 s ± 10 %
    println!("{:?}", charge(healthy.local_addr()?).await);
    Ok(())
}
