use resilience_runtime::breaker;

#[breaker("payrail")]
fn sync(n: u32) -> Result<u32, String> { Ok(n) }
#[breaker("payrail")]
pub struct S;
#[breaker("payrail")]
pub trait T {}
#[breaker("payrail")]
impl S { pub fn make() -> Self { S } }
#[breaker("payrail")]
pub mod m { pub fn f() {} }
impl T for S {}
fn main() { let _ = (sync(1), S::make()); m::f(); }
