//! The program as mpirun starts it, in a build without MPI.

use std::process::{Command, Output};

fn program() -> &'static str {
    env!("CARGO_BIN_EXE_rockfall")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_build_without_mpi_says_so_once() {
    for (size, rank) in [
        ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
        ("PMI_SIZE", "PMI_RANK"),
    ] {
        let run = |count: &str, own: &str| {
            let mut command = Command::new(program());
            command.env(size, count).env(rank, own).arg("schema");
            command.output().unwrap()
        };
        let first = run("4", "0");
        assert_eq!(first.status.code(), Some(2));
        let sentence = stderr(&first);
        assert!(sentence.contains("started 4 processes"), "{sentence}");
        assert!(sentence.contains("--features mpi"), "{sentence}");
        let other = run("4", "3");
        assert_eq!(other.status.code(), Some(2));
        assert!(stderr(&other).is_empty() && other.stdout.is_empty());
        assert!(run("1", "0").status.success());
    }
}
