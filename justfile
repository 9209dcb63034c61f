# What CI runs, and what a change has to pass.
check:
    bash .ci/run

# The everyday loop: everything but the compile-time tests.
test:
    cargo test --workspace --exclude resilience-ui-tests

# The main job: an incident, with and without the guards.
stagedoor *ARGS:
    cargo run --example stagedoor -- {{ARGS}}

# Ours beside the peers, in one run.
bench:
    cargo run --release --manifest-path benches/Cargo.toml

# Draws the pictures of the gallery anew. Look at them before they are committed.
gallery:
    GALLERY=overwrite cargo test -p resilience-cli --test gallery every_picture
