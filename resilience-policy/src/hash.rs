//! A fingerprint of what a policy means.

use std::fmt::{self, Write};
use std::sync::Arc;

use crate::fleet::FleetSettings;
use crate::names::Names;
use crate::policy::{Dependency, Resource, RuntimeSettings};

/// FNV-1a, 64 bits: the same in every build and release, which the standard library's hasher does not promise.
struct Fnv(u64);

impl Write for Fnv {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
        }
        Ok(())
    }
}

/// Over the effective values in a fixed order and spelling, so that comments, order, line ends and `60s` for `1m`
/// change nothing.
pub(crate) fn of(
    runtime: &RuntimeSettings,
    fleet: Option<&FleetSettings>,
    dependencies: &Names<Arc<Dependency>>,
    resources: &Names<Resource>,
) -> String {
    let mut hash = Fnv(0xCBF2_9CE4_8422_2325);
    // Writing into the hasher cannot fail; `writeln!` only has a result because other writers can.
    let _ = writeln!(hash, "{runtime:?}");
    // Without its password: a fingerprint is shown to everybody, and would let anybody try passwords against it.
    for value in fleet.into_iter().flat_map(FleetSettings::values) {
        let _ = writeln!(hash, "{}={:?}", value.key, value.value);
    }
    for (name, dependency) in dependencies.each() {
        let shared = [
            dependency.breaker_shared,
            dependency.slots_shared,
            dependency.budget_shared,
            dependency.fallback_shared,
        ];
        let _ = writeln!(hash, "[{name}] {shared:?}");
        for value in dependency.values() {
            let _ = writeln!(hash, "{}={:?}", value.key, value.value);
        }
    }
    for (name, resource) in resources.each() {
        let _ = writeln!(hash, "{name}={}", resource.capacity);
    }
    format!("{:012x}", hash.0 >> 16)
}
