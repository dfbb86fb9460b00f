//! The order of the modules of each crate: none uses a module after it, and nothing is a cycle.

use crate::{fail_on, manifests, read, workspace};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

/// How the documentation of a crate begins the order of its modules. It ends at a full stop.
const ORDER: &str = "Modules, each using only those before it:";

/// A module by its names from the root, which has none.
type Module = Vec<String>;

/// The words and signs of a source file, without comments and literals.
pub(crate) fn tokens(text: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let quotes = rest.trim_start_matches(['b', 'r']).trim_start_matches('#');
        let start = rest.len() - quotes.len();
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if quotes.starts_with('"') && rest[..start].contains('r') {
            let end = format!("\"{}", "#".repeat(rest[..start].matches('#').count()));
            let close = rest[start + 1..].find(&end);
            close.map_or(rest.len(), |close| start + 1 + close + end.len())
        } else if c == '"' {
            let mut before = ' ';
            let close = rest[1..].find(|c| {
                let is_end = c == '"' && before != '\\';
                before = if before == '\\' { ' ' } else { c };
                is_end
            });
            close.map_or(rest.len(), |close| close + 2)
        } else if rest.starts_with("'\\") {
            rest[3..].find('\'').map_or(rest.len(), |end| end + 4)
        } else if c == '\'' && rest.chars().nth(2) == Some('\'') {
            rest.char_indices().nth(3).map_or(rest.len(), |(at, _)| at)
        } else {
            let word = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            let length = if rest.starts_with("::") {
                2
            } else {
                word.max(c.len_utf8())
            };
            if !c.is_whitespace() {
                tokens.push(&rest[..length]);
            }
            length
        };
        rest = &rest[length..];
    }
    tokens
}

/// The place after the group that begins here.
fn after_group(tokens: &[&str], mut at: usize) -> usize {
    let mut depth = 0;
    while at < tokens.len() {
        match tokens[at] {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => (),
        }
        at += 1;
        if depth == 0 {
            break;
        }
    }
    at
}

/// The tokens without items that only tests have.
fn without_tests<'a>(tokens: &[&'a str]) -> Vec<&'a str> {
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let rest = &tokens[at..];
        let is_test = rest.starts_with(&["#", "[", "cfg", "(", "test", ")"])
            || rest.starts_with(&["#", "[", "cfg", "(", "all", "(", "test"]);
        if !is_test {
            kept.push(tokens[at]);
            at += 1;
            continue;
        }
        while tokens.get(at) == Some(&"#") {
            at = after_group(tokens, at + 1);
        }
        let is_use = tokens[at..].iter().take(5).any(|token| *token == "use");
        while at < tokens.len() {
            match tokens[at] {
                ";" | "," | "}" => break,
                "{" if !is_use => {
                    at = after_group(tokens, at);
                    break;
                }
                _ => at = after_group(tokens, at),
            }
        }
        at += usize::from(matches!(tokens.get(at), Some(&(";" | ","))));
    }
    kept
}

/// Adds the paths of a tree of `use`, each with the name that it has afterwards.
fn expand(tokens: &[&str], at: &mut usize, prefix: &[&str], uses: &mut Vec<(String, Module)>) {
    let mut path = prefix.to_vec();
    while let Some(token) = tokens.get(*at) {
        *at += 1;
        match *token {
            "::" | "$" => (),
            "{" => {
                while !["}", ";"].contains(&tokens[*at]) {
                    expand(tokens, at, &path, uses);
                    *at += usize::from(tokens[*at] == ",");
                }
                *at += 1;
                return;
            }
            "self" if !path.is_empty() => (),
            "," | ";" | "}" | "as" => {
                *at -= 1;
                break;
            }
            word => path.push(word),
        }
    }
    let mut name = path.last().copied().unwrap_or_default();
    if tokens.get(*at) == Some(&"as") {
        name = tokens[*at + 1];
        *at += 2;
    }
    uses.push((
        name.to_owned(),
        path.iter().map(|part| (*part).to_owned()).collect(),
    ));
}

#[derive(Default)]
struct File {
    /// The names that `use` declares here: the name and the path.
    uses: Vec<(String, Module)>,
    /// The exported names among them.
    exports: BTreeSet<String>,
    /// Other paths that begin at the root, here or above.
    paths: Vec<Module>,
    /// Names after a keyword, of items.
    items: BTreeSet<String>,
    /// The names of macros, which `#[macro_export]` moves to the root.
    macros: BTreeSet<String>,
    children: Vec<String>,
}

impl File {
    /// Whether an item, a module or an import has this name here.
    fn has(&self, name: &String) -> bool {
        let imports = self.uses.iter().any(|(known, _)| known == name);
        imports || self.items.contains(name) || self.children.contains(name)
    }

    fn parse(tokens: &[&str]) -> Self {
        let mut file = Self::default();
        let (mut at, mut depth) = (0, 0_usize);
        let mut inline = Vec::new();
        while at < tokens.len() {
            let (token, before) = (tokens[at], tokens[at.saturating_sub(1)]);
            let next = tokens.get(at + 1).copied().unwrap_or_default();
            at += 1;
            let mut found = Vec::new();
            match token {
                "{" => depth += 1,
                "}" => {
                    depth = depth.saturating_sub(1);
                    inline.retain(|open| *open < depth + 1);
                }
                "mod" if tokens.get(at + 1) == Some(&";") => file.children.push(next.to_owned()),
                "mod" if tokens.get(at + 1) == Some(&"{") => inline.push(depth + 1),
                "use" if next != "<" => expand(tokens, &mut at, &[], &mut found),
                _ if next == "::" && before != "::" && token.starts_with(char::is_lowercase) => {
                    let path = tokens[at - 1..].chunks(2);
                    let path = path.take_while(|pair| pair[0] != "{" && pair.get(1) == Some(&"::"));
                    let length = path.count() * 2 + 1;
                    let path = tokens[at - 1..at - 1 + length].iter().step_by(2);
                    found.push((String::new(), path.map(|part| (*part).to_owned()).collect()));
                    at += length - 1;
                }
                "fn" | "struct" | "enum" | "trait" | "const" | "static" | "type" | "union" => {
                    file.items.insert(next.to_owned());
                }
                "macro_rules" => {
                    file.macros.insert(tokens[at + 1].to_owned());
                }
                _ => (),
            }
            for (name, mut path) in found {
                // In a module inside of the file, `super` is the file.
                let above = path.iter().take_while(|part| *part == "super").count();
                if !inline.is_empty() && above > 0 {
                    path.drain(..above.min(inline.len()));
                    path.splice(..0, (above <= inline.len()).then(|| "self".to_owned()));
                }
                match name.is_empty() {
                    true => file.paths.push(path),
                    false => {
                        let exports = ["pub", ")"].contains(&before);
                        file.exports.extend(exports.then(|| name.clone()));
                        file.uses.push((name, path));
                    }
                }
            }
        }
        file
    }
}

struct Crate(BTreeMap<Module, File>);

impl Crate {
    /// Reads the root and every file that is a module of it.
    fn read(root: &Path) -> Self {
        let mut files = BTreeMap::new();
        let mut open = vec![(Module::new(), root.to_path_buf())];
        while let Some((module, path)) = open.pop() {
            let text = read(&path);
            let file = File::parse(&without_tests(&tokens(&text)));
            let is_root = ["lib.rs", "main.rs", "mod.rs"]
                .iter()
                .any(|name| path.ends_with(name));
            let folder = if is_root {
                path.with_file_name("")
            } else {
                path.with_extension("")
            };
            for child in &file.children {
                let module = [module.clone(), vec![child.clone()]].concat();
                let flat = folder.join(format!("{child}.rs"));
                let nested = folder.join(child).join("mod.rs");
                let path = if flat.exists() { flat } else { nested };
                open.push((module, path));
            }
            files.insert(module, file);
        }
        Self(files)
    }

    /// The module whose file has what a path names, and the name; none of another crate.
    fn resolve(&self, from: &Module, path: &[String], depth: usize) -> Option<(Module, String)> {
        let mut module = from.clone();
        let above = path.iter().take_while(|part| *part == "super").count();
        let mut at = above;
        match path[0].as_str() {
            "crate" => (module, at) = (Module::new(), 1),
            "self" => at = 1,
            "super" => module.truncate(module.len() - above),
            child if !self.0[from].children.iter().any(|name| name == child) => return None,
            _ => (),
        }
        loop {
            let file = &self.0[&module];
            let Some(name) = path.get(at).filter(|name| *name != "*") else {
                return Some((module, String::new()));
            };
            at += 1;
            if file.children.contains(name) {
                module.push(name.clone());
                continue;
            }
            if file.items.contains(name) || depth > 8 {
                return Some((module, name.clone()));
            }
            if let Some((_, target)) = file.uses.iter().find(|(known, _)| known == name) {
                let (target, item) = self.resolve(&module, target, depth + 1)?;
                if !item.is_empty() {
                    return Some((target, item));
                }
                module = target;
                continue;
            }
            let mut all = file.uses.iter().filter(|(known, _)| known == "*");
            let inside = all.find_map(|(_, target)| {
                let before = target.iter().take_while(|part| *part != "*");
                let path: Module = before.chain([name]).cloned().collect();
                let found = self.resolve(&module, &path, depth + 1);
                found.filter(|(target, name)| name.is_empty() || self.0[target].has(name))
            });
            if inside.is_some() {
                return inside;
            }
            let mut exported = (self.0.iter()).filter(|(_, file)| file.macros.contains(name));
            let target = exported.next().map(|(target, _)| target.clone());
            return Some((target.unwrap_or(module), name.clone()));
        }
    }

    /// The uses of each file: from, to, the name, and whether it is only exported.
    fn arrows(&self) -> Vec<(&Module, Module, String, bool)> {
        let mut arrows = Vec::new();
        for (from, file) in &self.0 {
            let uses = (file.uses.iter()).map(|(name, path)| (path, file.exports.contains(name)));
            for (path, exports) in uses.chain(file.paths.iter().map(|path| (path, false))) {
                if let Some((to, item)) = self.resolve(from, path, 0).filter(|(to, _)| to != from) {
                    arrows.push((from, to, item, exports));
                }
            }
        }
        arrows
    }

    /// Violations of the order of the root's modules, and every cycle.
    fn faults(&self, order: &[String]) -> Vec<String> {
        let arrows = self.arrows();
        let mut faults = BTreeSet::new();
        let mut siblings: BTreeMap<&[String], BTreeMap<(&str, &str), String>> = BTreeMap::new();
        for (from, to, item, _) in arrows.iter().filter(|(from, ..)| !from.is_empty()) {
            let shared = from.iter().zip(to).take_while(|(a, b)| a == b).count();
            let text = format!("{} uses {}::{item}", from.join("::"), to.join("::"));
            if let (Some(a), Some(b)) = (from.get(shared), to.get(shared)) {
                let place = |name| order.iter().position(|known| known == name);
                if shared == 0 && place(a) < place(b) {
                    faults.insert(format!("{text}, which is after it"));
                }
                let edges = siblings.entry(&from[..shared]).or_default();
                edges.insert((a, b), text);
            } else if to.is_empty() {
                faults.insert(format!("{text}, of lib.rs"));
            } else if shared < from.len() && item.starts_with(char::is_lowercase) {
                // A parent has types for its children, or functions, but does not call them then.
                let calls = arrows.iter().any(|(parent, child, _, exports)| {
                    **parent == *to && !exports && child.starts_with(&from[..=shared])
                });
                if calls {
                    faults.insert(format!("{text}, which uses it"));
                }
            }
        }
        for edges in siblings.values() {
            // What leads to a cycle, or away from it, is placed from one end or the other.
            let mut placed = layers(edges.keys().copied());
            placed.extend(layers(edges.keys().map(|(a, b)| (*b, *a))));
            let is_left = |(a, b): &&(&str, &str)| !placed.contains(a) && !placed.contains(b);
            let left = edges.keys().filter(is_left);
            faults.extend(left.map(|edge| format!("{}: a cycle", edges[edge])));
        }
        faults.into_iter().collect()
    }

    /// The faults, with the order that the documentation of the root states.
    fn faults_with_docs(&self, docs: &str) -> Vec<String> {
        let modules: BTreeSet<&String> = self.0[&Vec::new()].children.iter().collect();
        let text: Vec<&str> = docs
            .lines()
            .map_while(|line| line.strip_prefix("//!"))
            .collect();
        let text = text.join(" ").replace('`', "");
        let order = text
            .split_once(ORDER)
            .and_then(|(_, rest)| rest.split_once('.'));
        let order = order.map(|(names, _)| names.split(',').map(|name| name.trim().to_owned()));
        let order: Vec<String> = order.map(Iterator::collect).unwrap_or_default();
        let mut faults = self.faults(&order);
        if modules.len() > 1 && (order.len() != modules.len() || modules != order.iter().collect())
        {
            let arrows = self.arrows();
            let edges = arrows.iter().filter_map(|(from, to, ..)| {
                Some((from.first()?.as_str(), to.first()?.as_str())).filter(|(a, b)| a != b)
            });
            let free = modules.iter().map(|name| (name.as_str(), ""));
            let layers = layers(edges.chain(free)).split_off(1).join(", ");
            faults.push(format!(
                "state all modules in order: `//! {ORDER} {layers}.`"
            ));
        }
        faults
    }
}

/// The names in an order in which each arrow leads to an earlier one; names on cycles, and names
/// that use them, are left out.
fn layers<'a>(arrows: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<&'a str> {
    let arrows: BTreeSet<_> = arrows.collect();
    let mut open: BTreeSet<&str> = arrows.iter().flat_map(|(a, b)| [*a, *b]).collect();
    let mut placed = Vec::new();
    loop {
        let is_free = |name: &&str| !arrows.iter().any(|(a, b)| a == name && open.contains(b));
        let free: Vec<&str> = open.iter().copied().filter(is_free).collect();
        if free.is_empty() {
            return placed;
        }
        open.retain(|name| !free.contains(name));
        placed.extend(free);
    }
}

#[test]
fn modules_are_in_order() {
    let mut faults = Vec::new();
    for name in manifests().into_keys() {
        let folder = workspace().join("crates").join(&name).join("src");
        let root = ["lib.rs", "main.rs"].map(|name| folder.join(name));
        let root = root.iter().find(|path| path.exists()).unwrap();
        let found = Crate::read(root).faults_with_docs(&read(root));
        faults.extend(found.iter().map(|fault| format!("{name}: {fault}")));
    }
    fail_on("order of modules", &faults);
}

#[test]
fn planted_arrows_are_found() {
    let faults = |order: &str, files: &[(&str, &str)]| {
        let files = files.iter().map(|(module, text)| {
            let module = module.split("::").filter(|name| !name.is_empty());
            let file = File::parse(&without_tests(&tokens(text)));
            (module.map(str::to_owned).collect(), file)
        });
        Crate(files.collect()).faults_with_docs(&format!("//! Docs.\n//! {ORDER} {order}.\n"))
    };
    let root = (
        "",
        "mod a; mod b; pub use a::A; #[cfg(test)] mod tests; fn root() { b::f() }",
    );
    let a = (
        "a",
        "//! crate::b\n pub struct A; const C: char = '\"'; /* super::b */ fn g() {}",
    );
    let none = Vec::<String>::new();
    for b in [
        "use crate::A; #[cfg(test)] mod tests { use super::*; use crate::root; }",
        "use super::{a::{self, A as B}, A}; mod inline { use super::g; use super::super::A; }",
        "mod c; use c::T; struct P; fn f() { c::t(); a::unknown(); }",
    ] {
        let c = (
            "b::c",
            "use super::P; use crate::a::A; struct T; fn t() { std::mem::drop(\"\") }",
        );
        assert_eq!(faults("a,\n//! b", &[root, a, ("b", b), c]), none, "{b}");
    }
    for (order, a, b) in [
        ("b, a", "struct A;", "use crate::a::A;"),
        ("a", "struct A;", ""),
        ("a, b, c", "struct A;", ""),
        ("a, b", "fn x() { crate::b::f::<u8>() }", "fn f() {}"),
        ("a, b", "use super::b as c;", "fn f() {}"),
        ("a, b", "struct A;", "fn f() { crate::root() }"),
        (
            "a, b",
            "struct A;",
            "mod c; fn up() {} fn down() { c::t() }",
        ),
        ("a, b", "struct A;", "mod c; mod d;"),
    ] {
        let c = ("b::c", "use super::{up, d::D}; struct C; fn t() { up() }");
        let d = ("b::d", "struct D; fn f(_: super::c::C) {}");
        let found = faults(order, &[root, ("a", a), ("b", b), c, d]);
        assert!(!found.is_empty(), "{order}, {a}, {b}");
    }
    // A name that the root exports with everything of a module belongs to the file that has it.
    let root = ("", "mod a; mod b; pub use b::*;");
    for (b, name) in [
        ("mod c; pub use c::{C as D};", "D"),
        ("mod c; pub use self::c::*;", "C"),
    ] {
        let a = format!("use crate::{name};");
        let files = [root, ("a", &a), ("b", b), ("b::c", "pub struct C;")];
        assert_eq!(
            faults("a, b", &files),
            ["a uses b::c::C, which is after it"],
            "{b}"
        );
        assert_eq!(faults("b, a", &files), none, "{b}");
    }
}
