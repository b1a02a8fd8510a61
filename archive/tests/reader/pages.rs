//! Pages of directories.

use futures_executor::block_on;
use snapshot_archive::{Archive, Page};

use crate::support::{Counting, FORMATS, Folder, open, path};

const ENTRIES: usize = 3000;

/// A directory with many entries, which are not in the order of their numbers.
fn tree() -> Folder {
    let folder = Folder::new();
    for number in 0..ENTRIES {
        folder.write(format!("many/{number}"), "");
    }
    folder.write("many/few/only", "");
    folder
}

fn page(archive: &mut Archive<Counting>, after: Option<&[u8]>, limit: usize) -> Page {
    block_on(archive.list(&path("many"), after, limit)).unwrap()
}

fn names(page: &Page) -> Vec<Vec<u8>> {
    page.children.iter().map(|child| child.name.to_vec()).collect()
}

#[test]
fn pages_of_a_list_are_sorted_and_complete() {
    let folder = tree();
    let mut expected: Vec<_> = (0..ENTRIES).map(|number| number.to_string().into_bytes()).collect();
    expected.push(b"few".to_vec());
    expected.sort();
    for format in FORMATS {
        let mut archive = open(&folder.archive(format));
        for limit in [701, 1000, 5000] {
            let mut all = Vec::new();
            let mut after = None;
            loop {
                let page = page(&mut archive, after.as_deref(), limit);
                assert!(page.children.len() <= limit.min(1000));
                all.extend(names(&page));
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
            assert!(all == expected, "{format:?} {limit}");
        }
    }
}

#[test]
fn page_follows_any_name() {
    let folder = tree();
    for format in FORMATS {
        let mut archive = open(&folder.archive(format));
        let mut after = |name: &[u8]| names(&page(&mut archive, Some(name), 2));
        assert_eq!(after(b""), [b"0", b"1"], "{format:?}");
        assert_eq!(after(b"1499x"), [&b"15"[..], b"150"], "{format:?}");
        assert_eq!(after(b"999"), [b"few"], "{format:?}");
        assert!(after(b"~").is_empty(), "{format:?}");
    }
}

#[test]
fn page_has_at_least_one_entry() {
    let folder = tree();
    for format in FORMATS {
        assert_eq!(names(&page(&mut open(&folder.archive(format)), None, 0)), [b"0"], "{format:?}");
    }
}
