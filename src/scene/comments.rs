//! Comments and trailing commas, which scene files may have and JSON has not.

use std::borrow::Cow;

/// Blanks comments (`//` to the end of the line, `/*` to `*/`) and commas after the last entry of a list or an object.
///
/// Each of their bytes but line breaks becomes a space, so that what is left is JSON with every line and column where
/// it was. What no reader of JSON would take stays as it is, for the reader to find: a comment without an end, a comma
/// after no entry.
pub(super) fn blank(text: &str) -> Cow<'_, str> {
    let mut blanks = Blanks::new(text.as_bytes());
    blanks.find();
    match blanks.found {
        true => Cow::Owned(
            String::from_utf8(blanks.bytes).expect("whole characters have become spaces"),
        ),
        false => Cow::Borrowed(text),
    }
}

struct Blanks {
    bytes: Vec<u8>,
    found: bool,
}

impl Blanks {
    fn new(text: &[u8]) -> Blanks {
        Blanks {
            bytes: text.to_vec(),
            found: false,
        }
    }

    fn find(&mut self) {
        // The last byte that is no space and no comment, and where it is.
        let mut last = (0, b' ');
        // The byte before that.
        let mut before = b' ';
        let mut at = 0;
        while let Some(&byte) = self.bytes.get(at) {
            let end = match (byte, self.bytes.get(at + 1)) {
                (b'/', Some(b'/')) => Some(self.line_end(at)),
                (b'/', Some(b'*')) => self.comment_end(at),
                _ => None,
            };
            if let Some(end) = end {
                self.erase(at, end);
                at = end;
                continue;
            }
            if matches!(byte, b']' | b'}') && last.1 == b',' && !b"[{,: ".contains(&before) {
                self.erase(last.0, last.0 + 1);
            }
            if !byte.is_ascii_whitespace() {
                (before, last) = (last.1, (at, byte));
            }
            at = match byte {
                b'"' => self.string_end(at),
                _ => at + 1,
            };
        }
    }

    fn line_end(&self, start: usize) -> usize {
        let rest = &self.bytes[start..];
        start
            + rest
                .iter()
                .position(|byte| *byte == b'\n')
                .unwrap_or(rest.len())
    }

    fn comment_end(&self, start: usize) -> Option<usize> {
        let inside = &self.bytes[start + 2..];
        let length = inside.windows(2).position(|pair| pair == b"*/")?;
        Some(start + 2 + length + 2)
    }

    /// Behind the quote that ends a string. A line break ends it, too: JSON has none in strings, and its reader says
    /// so before anything behind it matters.
    fn string_end(&self, start: usize) -> usize {
        let mut at = start + 1;
        while let Some(byte) = self.bytes.get(at) {
            match byte {
                b'"' => return at + 1,
                b'\n' => return at,
                b'\\' => at += 2,
                _ => at += 1,
            }
        }
        self.bytes.len()
    }

    fn erase(&mut self, start: usize, end: usize) {
        self.found = true;
        for byte in &mut self.bytes[start..end] {
            if !matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn comments_and_last_commas_become_spaces() {
        for (text, blanked) in [
            ("{ } // end", "{ }       "),
            ("[1, /* two */ 3]", "[1,           3]"),
            ("[1, // é\n 2]", "[1,      \n 2]"),
            ("/* a\r\n b */1", "    \r\n     1"),
            ("[1, 2,]", "[1, 2 ]"),
            ("{\"a\": 1, // last\n}", "{\"a\": 1         \n}"),
            ("[[1,],]", "[[1 ] ]"),
            ("[\"a\",]", "[\"a\" ]"),
            ("1 /**/", "1     "),
        ] {
            assert_eq!(blank(text), blanked, "{text}");
        }
    }

    #[test]
    fn what_is_neither_stays() {
        for text in [
            "{\"a\": \"http://b, } /* c */\"}",
            "\"\\\"// no\"",
            "\"\\\\\"",
            "[,]",
            "[1,,]",
            "{\"a\":,}",
            "[1] , ",
            ",]",
            "/* never",
            "/*/",
            "1 / 2",
            "\"open // string",
            "\"open \\",
            "",
        ] {
            assert_eq!(blank(text), text);
        }
        // A string without an end does not hide what the next line has.
        assert_eq!(blank("\"open\n// a"), "\"open\n    ");
    }

    proptest! {
        #[test]
        fn json_without_comments_is_left_alone(words in prop::collection::vec("[\\\\/*,\"{}\\[\\]: a]{0,8}", 0..8)) {
            let text = serde_json::to_string_pretty(&words).unwrap();
            prop_assert_eq!(blank(&text), text.as_str());
        }

        #[test]
        fn any_text_keeps_its_length_and_its_lines(text in "[\\\\/*,\"{}\\[\\]: aé\n\r]{0,60}") {
            let blanked = blank(&text);
            prop_assert_eq!(blanked.len(), text.len());
            let breaks = |text: &str| text.bytes().map(|byte| byte == b'\n').collect::<Vec<_>>();
            prop_assert_eq!(breaks(&blanked), breaks(&text));
            let again = blank(&blanked);
            prop_assert_eq!(again.as_ref(), blanked.as_ref());
        }
    }
}
