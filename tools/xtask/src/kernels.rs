//! The innermost loops of the CPU engine, as the compiler makes them: what they use of slices and arrays must be inlined.
//!
//! A loop that calls a function for each lane is not made of vectors, and takes several times as long, with the same bits: no other test
//! notices.

use std::collections::BTreeSet;
use std::env::consts::{ARCH, OS};
use std::process::{Command, Stdio};

use crate::python::program;
use crate::tools::succeeds;

/// Parts of the names of the functions that have the loops.
const KERNELS: [&str; 2] = ["rockfall::step::cpu::lanes::avx512::", "_version>:"];

/// Generic functions of the standard library that are inlined only where the compiler puts them into the same unit.
const CALLED: [&str; 4] = [
    "core::iter::adapters::zip::",
    "core::array::",
    "core::slice::copy_from_slice_impl",
    "core::slice::<impl [[T; N]]>::as_flattened",
];

/// Looks for calls in the loops of the program as it is released, which has to be built.
///
/// # Errors
/// With a sentence, if a loop calls a function that `math::each` has instead.
pub fn check() -> Result<(), String> {
    let what = "the calls in the loops of the CPU engine";
    if (OS, ARCH) != ("linux", "x86_64") {
        crate::ignored(what, "they are read on x86-64 Linux");
        return Ok(());
    }
    if !succeeds(Command::new("objdump").arg("--version")) {
        crate::ignored(what, "`objdump` is missing; `apt-get install binutils`");
        return Ok(());
    }
    let program = program("release");
    let mut objdump = Command::new("objdump");
    objdump
        .args(["--disassemble", "--demangle", "--no-show-raw-insn"])
        .arg(&program)
        .stderr(Stdio::inherit());
    let output = objdump
        .output()
        .map_err(|error| format!("objdump: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let (kernels, calls) = read(&text);
    if kernels == 0 {
        return Err(format!(
            "{}: found no loop of the CPU engine; {} looks for names with {KERNELS:?}",
            program.display(),
            file!()
        ));
    }
    match calls.first() {
        None => Ok(()),
        Some(first) => Err(format!(
            "{kernels} loops of the CPU engine make {} calls that slow them down, such as {first}; use `math::each`",
            calls.len()
        )),
    }
}

/// The number of kernels in a disassembly, and those calls of theirs that should not be there.
fn read(disassembly: &str) -> (usize, BTreeSet<String>) {
    let (mut kernels, mut calls) = (0, BTreeSet::new());
    let mut kernel = None;
    for line in disassembly.lines() {
        if !line.starts_with([' ', '\t']) {
            let is_own = line.contains("<rockfall::step::cpu::");
            let is_kernel = is_own && KERNELS.iter().any(|part| line.contains(part));
            kernel = is_kernel.then_some(line);
            kernels += usize::from(is_kernel);
        } else if let Some(kernel) = kernel
            && let Some((_, called)) = line.split_once("call ")
            && CALLED.iter().any(|name| called.contains(name))
        {
            let [kernel, called] = [kernel, called].map(|text| {
                let (_, name) = text.split_once('<').unwrap_or_default();
                name.trim_end_matches(':').trim_end_matches('>')
            });
            calls.insert(format!("`{kernel}` calls `{called}`"));
        }
    }
    (kernels, calls)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_should_be_inlined_are_found() {
        let disassembly = "\
0000000000400000 <rockfall::step::cpu::pose::pose_some::pose_some_avx_avx2_version>:
  400000:\tcall   401000 <<core::iter::adapters::zip::Zip<A,B> as core::iter::adapters::zip::ZipImpl<A,B>>::new>
  400005:\tcall   402000 <rockfall::step::cpu::lanes::avx512::both>
0000000000402000 <rockfall::step::cpu::lanes::avx512::both>:
  402000:\tvmovups (%rdi),%zmm0
0000000000403000 <rockfall::scene::parse>:
  403000:\tcall   404000 <core::array::equality>
";
        let (kernels, calls) = read(disassembly);
        assert_eq!(kernels, 2);
        let calls: Vec<_> = calls.into_iter().collect();
        assert_eq!(
            calls,
            [
                "`rockfall::step::cpu::pose::pose_some::pose_some_avx_avx2_version` calls \
                 `<core::iter::adapters::zip::Zip<A,B> as core::iter::adapters::zip::ZipImpl<A,B>>::new`"
            ]
        );
    }
}
