//! A reader for the parts of Markdown pages that the tests check.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A page of the documentation.
pub struct Page {
    /// The path, relative to the root of the repository.
    pub path: PathBuf,
    /// The content.
    pub text: String,
}

/// A block of code in a page.
pub struct Block<'a> {
    /// The language of its fence.
    pub language: &'a str,
    /// The content.
    pub code: String,
}

/// The root of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The page at `path`.
pub fn page(path: impl AsRef<Path>) -> Page {
    let path = path.as_ref();
    let text = fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Page { path: path.to_owned(), text }
}

/// Every page of `docs/`.
pub fn docs() -> Vec<Page> {
    let mut paths: Vec<PathBuf> = fs::read_dir(root().join("docs"))
        .unwrap()
        .map(|entry| Path::new("docs").join(entry.unwrap().file_name()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    paths.sort();
    paths.into_iter().map(page).collect()
}

/// Every page of the documentation, with those outside of `docs/`.
pub fn pages() -> Vec<Page> {
    let others = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "client/README.md"];
    others.into_iter().map(page).chain(docs()).collect()
}

impl Page {
    /// The lines outside of blocks of code.
    pub fn prose(&self) -> impl Iterator<Item = &str> {
        self.lines().filter_map(|(line, fence)| fence.is_none().then_some(line))
    }

    /// The blocks of code.
    pub fn blocks(&self) -> Vec<Block<'_>> {
        let mut blocks: Vec<Block> = Vec::new();
        let mut within = false;
        for (line, fence) in self.lines() {
            match fence {
                Some(language) if !within => blocks.push(Block { language, code: String::new() }),
                Some(_) if !line.trim_start().starts_with("```") => {
                    let code = &mut blocks.last_mut().expect("a block that has begun").code;
                    code.push_str(line);
                    code.push('\n');
                }
                _ => (),
            }
            within = fence.is_some();
        }
        blocks
    }

    /// The headings of a level, in their order.
    pub fn headings(&self, level: usize) -> Vec<&str> {
        self.prose().filter_map(heading).filter(|(found, _)| *found == level).map(|(_, text)| text).collect()
    }

    /// The content under a heading, up to the next heading of the same or a higher level.
    pub fn section(&self, title: &str) -> String {
        let of = |line: &str| heading(line).map(|(level, text)| (level, text.to_owned()));
        let mut lines = self.text.lines().skip_while(|line| of(line).is_none_or(|(_, text)| text != title));
        let (level, _) =
            of(lines.next().unwrap_or_else(|| panic!("{} has no {title:?}", self.path.display()))).unwrap();
        let under: Vec<&str> = lines.take_while(|line| of(line).is_none_or(|(other, _)| other > level)).collect();
        under.join("\n")
    }

    /// The anchors that GitHub generates from the headings.
    pub fn anchors(&self) -> BTreeSet<String> {
        let mut anchors = BTreeSet::new();
        for (_, text) in self.prose().filter_map(heading) {
            let anchor = anchor(text);
            let numbered = (1..).map(|number| format!("{anchor}-{number}"));
            let free = std::iter::once(anchor.clone()).chain(numbered).find(|anchor| !anchors.contains(anchor));
            anchors.extend(free);
        }
        anchors
    }

    /// The targets of links and images.
    pub fn links(&self) -> Vec<&str> {
        let within =
            |line| str::split(line, "](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link);
        self.prose().flat_map(within).collect()
    }

    /// Each line, with the language of the block of code that it belongs to, its fences included.
    fn lines(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        let mut fence = None;
        self.text.lines().map(move |line| {
            let Some(language) = line.trim_start().strip_prefix("```") else { return (line, fence) };
            let own = fence.take();
            if own.is_none() {
                fence = Some(language);
            }
            (line, own.or(Some(language)))
        })
    }
}

/// The level and the text of a heading, or `None` for any other line.
fn heading(line: &str) -> Option<(usize, &str)> {
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    Some((level, text.strip_prefix(' ')?.trim())).filter(|_| level > 0)
}

fn anchor(heading: &str) -> String {
    let kept = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    heading.to_lowercase().chars().filter(|c| kept(*c)).map(|c| if c == ' ' { '-' } else { c }).collect()
}
