//! Makes the linker remove the symbols from a release build of `ringctl`.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // Cargo ignores `strip` for a package that has its own `opt-level`.
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "release") {
        println!("cargo:rustc-link-arg-bins=-Wl,--strip-all");
    }
}
