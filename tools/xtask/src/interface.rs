//! The size of the library's interface: the items that its documentation shows.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The most items that the documentation may show.
const MOST: usize = 2_300;

/// The module with the structs of scene files: their fields are a scene's.
const SCENE_FORMAT: &str = "scene/format";

/// Starts of the ids that rustdoc gives to the parts of an item.
const PARTS: [&str; 6] = [
    "associatedconstant.",
    "associatedtype.",
    "method.",
    "structfield.",
    "tymethod.",
    "variant.",
];

/// Counts the items in the pages that `cargo doc` has written of the library, and prints how many each layer has.
///
/// # Errors
/// With a sentence, if there are more than [`MOST`], or no pages.
pub fn check() -> Result<(), String> {
    let root = crate::checks().join("doc").join("rockfall");
    let read = |path: &Path| {
        fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let list = read(&root.join("all.html"))?;
    let mut layers = BTreeMap::new();
    for page in pages(&list) {
        *layers.entry(layer(page)).or_default() += items(&read(&root.join(page))?);
    }
    let total = layers.values().sum();
    let each: Vec<String> = layers
        .iter()
        .map(|(layer, items)| format!("{layer} {items}"))
        .collect();
    eprintln!("           {total}: {}", each.join(", "));
    judge(total)
}

fn judge(total: usize) -> Result<(), String> {
    match total {
        0 => Err(
            "the library's documentation shows no items; rustdoc's pages may have changed"
                .to_owned(),
        ),
        1..=MOST => Ok(()),
        _ => Err(format!(
            "the library's documentation shows {total} items, more than {MOST}: make private what users do not need \
             (CONTRIBUTING.md says how), or raise the number in {}",
            file!()
        )),
    }
}

/// The pages in rustdoc's list of all items; it has none of fields and methods, which are on the page of their type.
fn pages(list: &str) -> impl Iterator<Item = &str> {
    let links = list.split("<li><a href=\"").skip(1);
    links
        .filter_map(|rest| rest.split('"').next())
        .filter(|link| !link.starts_with('#'))
}

/// The part of the library to which a page belongs.
fn layer(page: &str) -> &str {
    match page.split_once('/') {
        Some(_) if page.starts_with(SCENE_FORMAT) => SCENE_FORMAT,
        Some((layer, _)) => layer,
        None => "root",
    }
}

/// Number of items on a page: a type or function, and its fields, variants and methods without those of traits that it
/// implements.
fn items(page: &str) -> usize {
    let others = ["trait", "synthetic", "blanket"];
    let ends = others
        .iter()
        .filter_map(|kind| page.find(&format!("id=\"{kind}-implementations\"")));
    let own = &page[..ends.min().unwrap_or(page.len())];
    let ids = own.split("id=\"").skip(1);
    1 + ids
        .filter(|id| PARTS.iter().any(|part| id.starts_with(part)))
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_and_methods_are_counted_but_not_those_of_traits() {
        let page = r#"<h1>Struct A</h1><span id="structfield.x"></span><section id="method.f"></section>
            <h2 id="trait-implementations"></h2><section id="method.clone"></section>"#;
        assert_eq!(items(page), 3);
    }

    #[test]
    fn each_page_belongs_to_a_layer() {
        let list = r#"<li><a href="scene/format/struct.Wall.html">format::Wall</a></li><li><a href="fn.f.html">f</a></li>"#;
        let layers: Vec<&str> = pages(list).map(layer).collect();
        assert_eq!(layers, ["scene/format", "root"]);
        assert_eq!(layer("step/gpu/struct.Adapter.html"), "step");
    }

    #[test]
    fn too_many_and_none_are_refused() {
        assert_eq!(judge(MOST), Ok(()));
        assert!(judge(MOST + 1).unwrap_err().contains("make private"));
        assert!(judge(0).is_err());
    }
}
