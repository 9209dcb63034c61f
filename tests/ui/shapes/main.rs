//! Functions of every shape, guarded, and doing what they did before. What the attributes add gives no warning, not one
//! of clippy's either.
#![deny(warnings, clippy::nursery)]
// What the shapes themselves are told without an attribute, or would be if they were no examples.
#![allow(
    unreachable_pub,
    clippy::cast_possible_truncation,
    clippy::drop_non_drop,
    clippy::future_not_send,
    clippy::large_types_passed_by_value,
    clippy::let_underscore_future,
    clippy::manual_assert,
    clippy::many_single_char_names,
    clippy::missing_const_for_fn,
    clippy::needless_arbitrary_self_type,
    clippy::needless_pass_by_value,
    clippy::redundant_pub_crate,
    clippy::ref_option,
    clippy::semicolon_if_nothing_returned,
    clippy::trivially_copy_pass_by_ref,
    clippy::unused_async,
    clippy::use_self
)]

mod alike;
mod arguments;
mod bodies;
mod boxed;
mod decided;
mod forms;
mod hygiene;
mod kit;
mod order;
mod places;
mod s01;
mod s02;
mod s03;
mod s04;
mod s05;
mod s06;
mod s07;
mod s08;
mod s09;
mod s10;
mod s11;
mod s13;
mod s14;
mod s15;
mod s17;
mod s18;
mod s20;
mod s22;
mod s23;
mod s26;
mod s28;
mod s30;
mod s32;
mod s34;
mod s35;
mod s37;
mod s39;
mod s41;
mod signatures;
