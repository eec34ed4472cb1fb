//! Has the linker leave the symbols of Python to the program that loads the library, where it must be told.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
