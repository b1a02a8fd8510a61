//! The links within the documentation resolve.

use std::path::{Component, Path, PathBuf};

use super::markdown::{Page, docs, page, pages, root};

#[test]
fn every_relative_link_resolves() {
    let resolves = |target: &Path, anchor: Option<&str>| match anchor {
        None => root().join(target).exists(),
        Some(anchor) => root().join(target).is_file() && page(target).anchors().contains(anchor),
    };
    let mut broken = Vec::new();
    for page in pages() {
        for (target, anchor) in relative_links(&page) {
            if !resolves(&target, anchor.as_deref()) {
                let anchor = anchor.map(|anchor| format!("#{anchor}")).unwrap_or_default();
                broken.push(format!("{} -> {}{anchor}", page.path.display(), target.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn every_page_is_linked_from_the_index() {
    let linked: Vec<PathBuf> = relative_links(&page("docs/README.md")).into_iter().map(|(target, _)| target).collect();
    let pages = docs().into_iter().map(|page| page.path).filter(|path| *path != Path::new("docs/README.md"));
    let missing: Vec<PathBuf> = pages.filter(|path| !linked.contains(path)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn readme_links_to_the_index() {
    assert!(relative_links(&page("README.md")).iter().any(|(target, _)| target == Path::new("docs/README.md")));
}

/// The links of a page into the repository: the path from the repository's root, and the anchor.
fn relative_links(page: &Page) -> Vec<(PathBuf, Option<String>)> {
    let folder = page.path.parent().unwrap();
    let of = |link: &str| {
        let (path, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
        let target = if path.is_empty() { page.path.clone() } else { folder.join(path) };
        (normalize(&target), anchor.map(str::to_owned))
    };
    page.links().into_iter().filter(|link| !link.contains("://") && !link.starts_with("mailto:")).map(of).collect()
}

/// The path without `.` and `..`.
fn normalize(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut whole, part| {
        match part {
            Component::ParentDir => drop(whole.pop()),
            Component::CurDir => (),
            part => whole.push(part),
        }
        whole
    })
}
