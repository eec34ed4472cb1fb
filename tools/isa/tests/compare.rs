//! No pipeline spills more, or leaves fewer waves, than `benches/results/isa` says. Where Mesa's driver is missing or of
//! another version, the test is ignored, and says so.

use std::process::{Command, ExitCode};

use libtest_mimic::{Arguments, Failed, Trial};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let name = "no_pipeline_spills_more_or_leaves_fewer_waves";
    if arguments.list || !runs(&arguments, name) {
        return libtest_mimic::run(&arguments, vec![Trial::test(name, || Ok(()))]).exit_code();
    }
    let output = Command::new(env!("CARGO_BIN_EXE_isa"))
        .arg("--check")
        .output();
    let (code, said) = match output {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            (output.status.code(), said)
        }
        Err(error) => (None, error.to_string()),
    };
    let ignored = code == Some(3);
    if ignored {
        eprintln!(
            "{name} is ignored: {}",
            said.trim_start_matches("error: ").trim()
        );
    }
    let test = move || match code {
        Some(0) => Ok(()),
        _ => Err(Failed::from(said)),
    };
    let trial = Trial::test(name, test).with_ignored_flag(ignored);
    libtest_mimic::run(&arguments, vec![trial]).exit_code()
}

/// Whether the filters of the command line leave the test in.
fn runs(arguments: &Arguments, name: &str) -> bool {
    let wanted = arguments
        .filter
        .as_ref()
        .is_none_or(|filter| name.contains(filter.as_str()));
    wanted && arguments.skip.iter().all(|skip| !name.contains(skip))
}
