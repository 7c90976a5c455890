//! The migrations are embedded in the binary; a new or changed file has to trigger a build.

fn main() {
    println!("cargo:rerun-if-changed=migrations");
}
