//! The name of this instance.

/// The policy's name for it, else `RESILIENCE_INSTANCE`, else `HOSTNAME`, else the host's name.
pub(crate) fn name(policy: Option<&str>) -> String {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    policy
        .map(str::to_owned)
        .or_else(|| variable("RESILIENCE_INSTANCE"))
        .or_else(|| variable("HOSTNAME"))
        .or_else(|| {
            std::fs::read_to_string("/proc/sys/kernel/hostname")
                .ok()
                .map(|name| name.trim().to_owned())
        })
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "unnamed".to_owned())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_policy_names_the_instance_first() {
        assert_eq!(super::name(Some("api-01")), "api-01");
        assert!(!super::name(None).is_empty());
    }
}
