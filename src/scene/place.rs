//! Places in the text of a scene.

use std::fmt::Write;

use super::comments::blank;

/// The line, from 1 on, of a [place](super::Problem::path) in the text of a scene, or of as much of it as is there: of what
/// is missing, the line on which that begins which it is missing from.
pub fn line_of(text: &str, place: &str) -> usize {
    let text = blank(text);
    let bytes = text.as_bytes();
    // The place of the value at hand, and for each list or object around it the length of its own place, with the index of
    // the entry in a list.
    let mut here = String::new();
    let mut around: Vec<(usize, Option<usize>)> = Vec::new();
    let (mut line, mut found, mut longest) = (1, 1, 0);
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let start = at;
        at += 1;
        let container = around.last_mut();
        match byte {
            b'\n' => line += 1,
            b'"' => {
                at = string_end(bytes, start);
                let is_key = text[at..].trim_start().starts_with(':');
                if let (Some((length, None)), true) = (container, is_key) {
                    here.truncate(*length);
                    if !here.is_empty() {
                        here.push('.');
                    }
                    here.push_str(text[start..at].trim_matches('"'));
                }
            }
            b'[' => {
                around.push((here.len(), Some(0)));
                here.push_str("[0]");
            }
            b'{' => around.push((here.len(), None)),
            b']' | b'}' => {
                if let Some((length, _)) = around.pop() {
                    here.truncate(length);
                }
            }
            b',' => {
                if let Some((length, Some(index))) = container {
                    *index += 1;
                    here.truncate(*length);
                    let _ = write!(here, "[{index}]");
                }
            }
            _ => (),
        }
        let is_entry = !byte.is_ascii_whitespace() && !b"[{]},:".contains(&byte) || byte == b'{';
        if is_entry && here.len() > longest && leads_to(place, &here) {
            (found, longest) = (line, here.len());
        }
    }
    found
}

/// Whether a place is another one or in it.
fn leads_to(place: &str, outer: &str) -> bool {
    let rest = place.strip_prefix(outer);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// The end of a string that starts at a quote.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(&byte) = bytes.get(at) {
        at += match byte {
            b'\\' => 2,
            b'"' => return at + 1,
            _ => 1,
        };
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_found_at_their_lines() {
        let text = r#"{
  "version": 1, // a comment with "shapes": {
  "shapes": {
    "ball": {
      "sphere": { "radius": -1 }
    }
  },
  "bodies": [
    { "shape": "ball", "position": [0, 1, 0] },
    {
      "shape": "b\"all",
      "position": [
        0,
        1
      ]
    },
    [1, 2],
  ]
}"#;
        for (place, line) in [
            ("$", 1),
            ("version", 2),
            ("shapes", 3),
            ("shapes.ball", 4),
            ("shapes.ball.sphere.radius", 5),
            ("shapes.ball.material", 4),
            ("shapes.ballast", 3),
            ("bodies", 8),
            ("bodies[0].position[1]", 9),
            ("bodies[1]", 10),
            ("bodies[1].shape", 11),
            ("bodies[1].position[1]", 14),
            ("bodies[1].velocity", 10),
            ("bodies[2][1]", 17),
            ("walls[0]", 1),
        ] {
            assert_eq!(line_of(text, place), line, "{place}");
        }
        // What is cut off has lines, too.
        for end in 0..text.len() {
            assert!(line_of(&text[..end], "bodies[1].position[1]") <= 14);
        }
    }
}
