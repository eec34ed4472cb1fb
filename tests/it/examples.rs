//! The examples do what they say.

use std::process::{Command, Output};

/// Runs an example, as Cargo has built it beside this test.
fn run(name: &str) -> Output {
    let mut path = std::env::current_exe().unwrap();
    path.pop();
    if path.ends_with("deps") {
        path.pop();
    }
    path.push("examples");
    path.push(name);
    path.set_extension(std::env::consts::EXE_EXTENSION);
    let mut command = Command::new(&path);
    // Mesa's layer that puts the GPU of the display first complains where there is none.
    command.env("NODEVICE_SELECT", "1");
    let output = command.output().unwrap_or_else(|error| {
        panic!(
            "{}: {error}; `cargo test` builds it, `cargo test --test it` alone does not",
            path.display()
        )
    });
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {said}");
    output
}

/// The rows of numbers that an example prints after the names of their columns.
fn rows(output: &Output) -> Vec<Vec<f64>> {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let rows = text.lines().skip(1);
    rows.map(|row| row.split(',').map(|cell| cell.parse().unwrap()).collect())
        .collect()
}

#[test]
fn own_output_sees_a_heap_come_to_rest() {
    let output = run("own_output");
    let rows = rows(&output);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("at rest"), "{said}");
    assert!(rows.len() > 5);
    let [first, last] = [rows.first().unwrap()[1], rows.last().unwrap()[1]];
    assert!(0.0 < last && last < first, "from {first} m to {last} m");
}

#[test]
fn own_law_throws_a_ball_back() {
    let heights: Vec<f64> = rows(&run("own_law")).iter().map(|row| row[1]).collect();
    let lowest = heights.iter().copied().fold(f64::INFINITY, f64::min);
    assert!(0.05 < lowest && lowest < 0.15, "{lowest} m");
    let at = heights.iter().position(|height| *height == lowest).unwrap();
    let after = heights[at..].iter().copied().fold(0.0, f64::max);
    assert!(0.15 < after && after < 0.5, "thrown back to {after} m");
}

#[test]
fn embed_draws_balls_from_the_simulations_buffers() {
    let text = String::from_utf8(run("embed").stdout).unwrap();
    let picture: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
    assert_eq!(picture.len(), 32, "{text}");
    let drawn = |row: &str| row.chars().filter(|c| "#o.".contains(*c)).count();
    let all: usize = picture.iter().map(|row| drawn(row)).sum();
    assert!((100..1500).contains(&all), "{all} pixels:\n{text}");
    // Nothing is below the floor, nothing where no ball can have come.
    assert_eq!(drawn(picture[0]), 0, "{text}");
    assert!(drawn(picture[31]) + drawn(picture[30]) > 0, "{text}");
}

#[test]
fn bowl_is_filled_until_a_marble_falls_beside_it() {
    let output = run("bowl");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("the bowl is full"), "{text}");
}

#[test]
fn bulldozer_slows_down_under_load_and_moves_the_pebbles() {
    let output = run("bulldozer");
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let moved = text.lines().last().unwrap().split(' ').next().unwrap();
    assert!(moved.parse::<u32>().unwrap() > 20, "{moved}");
    let rows: Vec<Vec<f64>> = text
        .lines()
        .skip(1)
        .filter(|row| row.contains(','))
        .map(|row| row.split(',').map(|cell| cell.parse().unwrap()).collect())
        .collect();
    let most = rows.iter().map(|row| -row[2]).fold(0.0, f64::max);
    assert!(most > 10.0, "{most} N");
}
