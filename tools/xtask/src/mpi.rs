//! MPI for the tests of runs on a cluster.

use crate::apt::{self, Privilege, output};
use crate::{Step, run};

/// Debian's and Ubuntu's names of OpenMPI, and of what reads its headers.
const PACKAGES: [&str; 3] = ["openmpi-bin", "libopenmpi-dev", "libclang-dev"];

const TEST: Step = Step {
    arguments: &[
        "test",
        "--workspace",
        "--features",
        "rockfall-cli/mpi",
        "--test",
        "mpi",
    ],
    variable: None,
    remedy: "the failing tests are listed above",
};

/// Installs what is missing, where that can be done, and tests the program as mpirun starts it; without MPI, these tests are
/// reported as ignored.
pub fn test() -> Result<(), String> {
    let privilege = Privilege::gather();
    if !is_there() && apt::exists() && privilege != Privilege::None {
        apt::install(privilege == Privilege::Sudo, &PACKAGES);
    }
    if !is_there() {
        eprintln!("           ignored: {}", remedy());
        return Ok(());
    }
    eprintln!("           {TEST}");
    run(&TEST)
}

fn remedy() -> String {
    format!(
        "the tests of runs on a cluster need OpenMPI; install it (Debian and Ubuntu: sudo apt-get install {})",
        PACKAGES.join(" ")
    )
}

/// Whether OpenMPI is installed.
pub fn is_there() -> bool {
    let programs = [("mpirun", "--version"), ("mpicc", "--version")];
    programs
        .iter()
        .all(|(program, argument)| output(program, &[argument]).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_with_what_to_do() {
        assert!(remedy().ends_with("apt-get install openmpi-bin libopenmpi-dev libclang-dev)"));
    }
}
