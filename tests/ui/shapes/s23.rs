//! S23: no prelude, shadowed crates, types and macros, no unsafe.

#![no_implicit_prelude]
#![forbid(unsafe_code)]
#![deny(warnings)]

#[allow(dead_code)]
mod core {}
#[allow(dead_code)]
mod std {}
#[allow(dead_code)]
mod tokio {}
#[allow(dead_code)]
mod resilience_runtime {}
#[allow(unused_macros)]
macro_rules! vec {
    () => {};
}
#[allow(unused_macros)]
macro_rules! panic {
    () => {};
}
#[allow(unused_macros)]
macro_rules! compile_error {
    () => {};
}
#[allow(unused_macros)]
macro_rules! include_bytes {
    () => {};
}
#[allow(dead_code)]
enum Option {
    Some,
    None,
}
#[allow(dead_code)]
trait Clone {}
#[allow(dead_code)]
trait Future {}
#[allow(dead_code)]
trait From {}
#[allow(dead_code)]
struct Box;
#[allow(dead_code)]
struct Ok2;
#[allow(non_camel_case_types, dead_code)]
type u32 = ::core::primitive::u64;
type Result<T> = ::core::result::Result<T, ::resilience_runtime::Rejection>;
use ::core::result::Result::Ok;

async fn spare(n: u32, _s: ::std::string::String) -> Result<u32> {
    Ok(n)
}

#[::resilience_runtime::breaker("payrail")]
#[::resilience_runtime::retry]
#[::resilience_runtime::fallback(self::spare)]
async fn f(n: u32, s: ::std::string::String) -> Result<u32> {
    Ok(n + s.len() as u32)
}

#[test]
fn s23_no_prelude_shadowed_crates_types_and_macros_no_unsafe() {
    ::core::mem::drop(f(1, ::std::string::String::new()));
}
