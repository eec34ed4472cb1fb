//! Points of VTK files, with the numbers that belong to each: the older format in text or binary, and the XML one in text or
//! with raw bytes at its end.

use super::{Mistake, Rows, components};

const EXPECTED: &str =
    "points with their data, in VTK's older format, or in XML as text or appended raw bytes";

/// Whether the bytes begin as a VTK file does.
pub(super) fn is_vtk(bytes: &[u8]) -> bool {
    bytes.starts_with(b"# vtk") || head(bytes).contains("<VTKFile")
}

/// Text at the start of a file, in which XML has its first tag.
fn head(bytes: &[u8]) -> &str {
    let start = &bytes[..bytes.len().min(1024)];
    match std::str::from_utf8(start) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&start[..error.valid_up_to()]).unwrap_or_default(),
    }
}

/// Points as `x`, `y`, `z`, and the data of points under their names.
pub(super) fn read(bytes: &[u8]) -> Result<Rows, Mistake> {
    let wrong = |found: String| (0, found, EXPECTED);
    let arrays = match bytes.starts_with(b"# vtk") {
        true => older(bytes),
        false => xml(bytes),
    };
    let arrays = arrays.map_err(wrong)?;
    let points = arrays.first().filter(|points| points.components == 3);
    let count = points.map_or(0, |points| points.numbers.len() / 3);
    let (mut columns, mut others) = (Vec::new(), Vec::new());
    for (index, array) in arrays.iter().enumerate() {
        if array.numbers.len() != count * array.components {
            others.push(array.name.clone());
            continue;
        }
        let name = if index == 0 { "position" } else { &array.name };
        columns.extend(components(name, count, array.components, &array.numbers));
    }
    let row = |index: usize| columns.iter().map(|(_, column)| column[index]).collect();
    Ok(Rows {
        rows: (0..count).map(|index| (0, row(index))).collect(),
        names: columns.iter().map(|(name, _)| name.clone()).collect(),
        others,
    })
}

/// Numbers that belong to points; the first are the points themselves.
struct Array {
    name: String,
    components: usize,
    numbers: Vec<f64>,
}

/// Rest of a file of the older format, while it is read.
struct Older<'a> {
    rest: &'a [u8],
    binary: bool,
}

impl<'a> Older<'a> {
    fn line(&mut self) -> Option<&'a str> {
        while !self.rest.is_empty() {
            let end = self.rest.iter().position(|byte| *byte == b'\n');
            let end = end.unwrap_or(self.rest.len());
            let line = std::str::from_utf8(&self.rest[..end]).ok()?.trim();
            self.rest = self.rest.get(end + 1..).unwrap_or_default();
            if !line.is_empty() {
                return Some(line);
            }
        }
        None
    }

    fn numbers(&mut self, count: usize, kind: &str) -> Result<Vec<f64>, String> {
        let few = || format!("fewer than {count} numbers");
        if self.binary {
            let size = size_of_kind(kind)?;
            let length = count.checked_mul(size).ok_or_else(few)?;
            let own = self.rest.get(..length).ok_or_else(few)?;
            self.rest = &self.rest[length..];
            return of_bytes(kind, own, true);
        }
        let mut numbers = Vec::new();
        while numbers.len() < count {
            let start = self
                .rest
                .iter()
                .position(|byte| !byte.is_ascii_whitespace());
            self.rest = &self.rest[start.ok_or_else(few)?..];
            let end = self.rest.iter().position(u8::is_ascii_whitespace);
            let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
            self.rest = rest;
            let word = String::from_utf8_lossy(word);
            // What is no number is told of only where one is needed.
            numbers.push(word.parse().unwrap_or(f64::NAN));
        }
        Ok(numbers)
    }
}

fn older(bytes: &[u8]) -> Result<Vec<Array>, String> {
    let mut file = Older {
        rest: bytes,
        binary: false,
    };
    file.line();
    file.line();
    file.binary = match file.line() {
        Some("ASCII") => false,
        Some("BINARY") => true,
        other => return Err(format!("the third line {:?}", other.unwrap_or_default())),
    };
    let mut arrays: Vec<Array> = Vec::new();
    let mut of_points = 0;
    while let Some(line) = file.line() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| -> Result<usize, String> {
            let word = words.get(at).and_then(|word| word.parse().ok());
            word.ok_or_else(|| format!("the line {line:?}"))
        };
        let word = |at: usize| words.get(at).copied().unwrap_or_default();
        let add = |name: &str, components: usize, numbers| Array {
            name: name.to_owned(),
            components,
            numbers,
        };
        match word(0).to_ascii_uppercase().as_str() {
            "POINTS" => {
                let count = number(1)?.saturating_mul(3);
                arrays.insert(0, add("position", 3, file.numbers(count, word(2))?));
            }
            "VERTICES" | "LINES" | "POLYGONS" | "CELLS" => {
                file.numbers(number(2)?, "int")?;
            }
            "CELL_TYPES" => {
                file.numbers(number(1)?, "int")?;
            }
            "POINT_DATA" => of_points = number(1)?,
            // Nothing of what belongs to cells is a body.
            "CELL_DATA" => break,
            "SCALARS" => {
                let components = number(3).unwrap_or(1);
                let start = file.rest;
                if !file
                    .line()
                    .is_some_and(|line| line.starts_with("LOOKUP_TABLE"))
                {
                    file.rest = start;
                }
                let numbers = file.numbers(of_points.saturating_mul(components), word(2))?;
                arrays.push(add(word(1), components, numbers));
            }
            "VECTORS" | "NORMALS" => {
                let numbers = file.numbers(of_points.saturating_mul(3), word(2))?;
                arrays.push(add(word(1), 3, numbers));
            }
            "FIELD" => {
                for _ in 0..number(2)? {
                    let head = file.line().unwrap_or_default();
                    let parts: Vec<&str> = head.split_whitespace().collect();
                    let [name, components, rows, kind] = parts[..] else {
                        return Err(format!("the line {head:?}"));
                    };
                    let (Ok(components), Ok(rows)) = (components.parse(), rows.parse::<usize>())
                    else {
                        return Err(format!("the line {head:?}"));
                    };
                    let count = rows.saturating_mul(components);
                    let numbers = file.numbers(count, kind)?;
                    // Those before the points belong to all of the file.
                    if of_points > 0 {
                        arrays.push(add(name, components, numbers));
                    }
                }
            }
            _ => {}
        }
    }
    Ok(arrays)
}

fn xml(bytes: &[u8]) -> Result<Vec<Array>, String> {
    const MARK: &[u8] = b"<AppendedData";
    let at = bytes.windows(MARK.len()).position(|own| own == MARK);
    let (text, appended) = bytes.split_at(at.unwrap_or(bytes.len()));
    let text = std::str::from_utf8(text).map_err(|_| "bytes that are not text".to_owned())?;
    let file = tag(text, "VTKFile").ok_or("no <VTKFile>")?;
    if attribute(file, "compressor").is_some() {
        return Err("compressed data".to_owned());
    }
    let big = attribute(file, "byte_order") == Some("BigEndian");
    let header = match attribute(file, "header_type") {
        Some("UInt64") => 8,
        _ => 4,
    };
    // The bytes begin after the underscore.
    let first = appended.iter().position(|byte| *byte == b'_');
    let raw = first.map_or(&[][..], |first| &appended[first + 1..]);
    let is_raw = tag(
        &String::from_utf8_lossy(&appended[..first.unwrap_or(0)]),
        "AppendedData",
    )
    .is_some_and(|own| attribute(own, "encoding") == Some("raw"));

    let part = |name: &str| -> &str {
        let from = text.find(&format!("<{name}")).unwrap_or(text.len());
        let own = &text[from..];
        own.split_once(&format!("</{name}>"))
            .map_or("", |(own, _)| own)
    };
    let count = tag(text, "Piece").and_then(|own| attribute(own, "NumberOfPoints"));
    let count: usize = count
        .and_then(|own| own.parse().ok())
        .ok_or("no number of points")?;
    let mut arrays = Vec::new();
    for section in ["Points", "PointData"] {
        for own in part(section).split("<DataArray").skip(1) {
            let (head, content) = own.split_once('>').ok_or("a <DataArray> without an end")?;
            let name = attribute(head, "Name").unwrap_or("position").to_owned();
            let components = attribute(head, "NumberOfComponents");
            let components: usize = components.and_then(|own| own.parse().ok()).unwrap_or(1);
            let kind = attribute(head, "type").unwrap_or_default();
            let few = || format!("too few bytes of {name:?}");
            let numbers = match attribute(head, "format") {
                Some("ascii") => {
                    let words = content
                        .split('<')
                        .next()
                        .unwrap_or_default()
                        .split_whitespace();
                    words.map(|word| word.parse().unwrap_or(f64::NAN)).collect()
                }
                Some("appended") if is_raw => {
                    let offset = attribute(head, "offset").and_then(|own| own.parse().ok());
                    let offset: usize = offset.ok_or_else(few)?;
                    let from = offset.checked_add(header).ok_or_else(few)?;
                    let length = size_of_kind(kind)?
                        .checked_mul(components)
                        .and_then(|size| size.checked_mul(count))
                        .and_then(|length| length.checked_add(from));
                    let own = raw.get(from..length.ok_or_else(few)?).ok_or_else(few)?;
                    of_bytes(kind, own, big)?
                }
                other => {
                    let other = other.unwrap_or("none");
                    return Err(format!("data of the format {other:?}, encoded"));
                }
            };
            arrays.push(Array {
                name,
                components,
                numbers,
            });
        }
    }
    Ok(arrays)
}

/// Attributes of the first tag of a name.
fn tag<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, after) = text.split_once(&format!("<{name}"))?;
    after.split('>').next()
}

fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let (_, after) = tag.split_once(&format!(" {name}=\""))?;
    after.split('"').next()
}

fn size_of_kind(kind: &str) -> Result<usize, String> {
    Ok(match kind.to_ascii_lowercase().as_str() {
        "double" | "float64" | "int64" | "uint64" | "vtkidtype" => 8,
        "float" | "float32" | "int" | "int32" | "uint32" | "unsigned_int" => 4,
        "short" | "int16" | "uint16" | "unsigned_short" => 2,
        "char" | "unsigned_char" | "int8" | "uint8" => 1,
        _ => return Err(format!("numbers of the kind {kind:?}")),
    })
}

fn of_bytes(kind: &str, bytes: &[u8], big: bool) -> Result<Vec<f64>, String> {
    macro_rules! of {
        ($Number:ty) => {{
            let (chunks, _) = bytes.as_chunks::<{ size_of::<$Number>() }>();
            let number = |bytes: &[u8; size_of::<$Number>()]| match big {
                true => <$Number>::from_be_bytes(*bytes) as f64,
                false => <$Number>::from_le_bytes(*bytes) as f64,
            };
            chunks.iter().map(number).collect()
        }};
    }
    Ok(match kind.to_ascii_lowercase().as_str() {
        "double" | "float64" => of!(f64),
        "float" | "float32" => of!(f32),
        "int64" | "vtkidtype" => of!(i64),
        "uint64" => of!(u64),
        "int" | "int32" => of!(i32),
        "uint32" | "unsigned_int" => of!(u32),
        "short" | "int16" => of!(i16),
        "uint16" | "unsigned_short" => of!(u16),
        "char" | "int8" => of!(i8),
        "unsigned_char" | "uint8" => of!(u8),
        _ => return Err(format!("numbers of the kind {kind:?}")),
    })
}
