//! How the command is linked.

fn main() {
    // No address is left to write at the start, and no page for it (docs/decisions/0059).
    println!("cargo:rustc-link-arg-bins=-no-pie");
    println!("cargo:rerun-if-changed=build.rs");
}
