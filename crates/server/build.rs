//! The console is part of the binary: this crate is compiled anew when its files are.
#![allow(clippy::print_stdout, reason = "cargo listens to it")]

fn main() {
    println!("cargo::rerun-if-changed=../../console/dist");
}
