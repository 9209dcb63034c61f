//! Prints `docs/reference.md`.

fn main() {
    print!("{}", resilience_policy::reference::page());
}
