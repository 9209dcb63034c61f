//! Functions of every shape, guarded, and doing what they did before.
#![deny(warnings)]
// The visibilities are part of the shapes.
#![allow(unreachable_pub)]

mod kit;
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
mod arguments;
mod boxed;
mod forms;
mod hygiene;
mod order;
