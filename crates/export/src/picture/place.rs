//! Positions of nodes, computed by Graphviz. Only numbers reach it, no label.

use super::{Picture, layout::center, text::push};
use crate::{Drawing, Error, Layout, Result, graphviz::run};
use std::fmt::Arguments;

/// The center of each node in points, downwards.
pub(super) type Places = Vec<(f64, f64)>;

/// Points per inch.
const SCALE: f64 = 72.0;

/// Returns the layout, and the position of each node. `None` without Graphviz, or if it fails.
///
/// # Errors
///
/// If Graphviz takes too long: another layout would depend on the speed of the machine.
pub(super) fn positions(
    picture: &Picture<'_>,
    drawing: &Drawing,
) -> Result<(Layout, Option<Places>)> {
    let layout = picture.layout;
    let text = skeleton(picture, layout);
    match run(drawing, &["-Tplain"], text) {
        Ok(plain) => {
            let plain = String::from_utf8_lossy(&plain);
            Ok((layout, parse(&plain, picture.nodes.len())))
        }
        Err(Error::NoGraphviz { .. } | Error::Graphviz { .. }) => Ok((Layout::Hops, None)),
        Err(error) => Err(error),
    }
}

/// The nodes and arrows without labels: `n0`, `n1` and so on.
fn skeleton(picture: &Picture<'_>, layout: Layout) -> Vec<u8> {
    let settings = match layout {
        Layout::Auto | Layout::Hops => {
            "layout=dot rankdir=LR newrank=true nodesep=0.3 ranksep=2 splines=line".to_owned()
        }
        Layout::Radial => {
            let leaves = picture.nodes.len().min(100_000) as f64;
            let radius = (leaves * 1.3 / std::f64::consts::TAU).max(2.5);
            let (root, _) = center(picture);
            format!("layout=twopi root=n{root} ranksep={radius:.2} overlap=true splines=line")
        }
        Layout::Force => "layout=sfdp overlap=prism splines=line K=1.5".to_owned(),
    };
    let mut out = Vec::new();
    let mut put = |text: Arguments<'_>| push(&mut out, text);
    put(format_args!(
        "digraph {{ graph[{settings}] node[label=\"\" shape=box width=1.3 height=0.5]\n"
    ));
    let hops = layout == Layout::Hops;
    if hops {
        for (at, (_, nodes)) in picture.columns().into_iter().enumerate() {
            put(format_args!(
                "{{ rank=same c{at}[style=invis width=0.1 height=0.1]"
            ));
            for number in nodes {
                put(format_args!(" n{number}"));
            }
            put(format_args!(" }}\n"));
            if at > 0 {
                put(format_args!("c{} -> c{at}[style=invis]\n", at - 1));
            }
        }
    }
    for number in 0..picture.nodes.len() {
        put(format_args!("n{number}\n"));
    }
    for arrow in &picture.arrows {
        let back = hops && picture.nodes[arrow.source].column >= picture.nodes[arrow.target].column;
        let constraint = if back { "[constraint=false]" } else { "" };
        put(format_args!(
            "n{} -> n{}{constraint}\n",
            arrow.source, arrow.target
        ));
    }
    put(format_args!("}}\n"));
    out
}

/// Reads the format `plain` (<https://graphviz.org/docs/outputs/plain/>): a line `node NAME X Y`
/// for each node, in inches, upwards. `None` unless each node has a position.
fn parse(plain: &str, nodes: usize) -> Option<Places> {
    let mut places = vec![None; nodes];
    for line in plain.lines() {
        let mut words = line.split_ascii_whitespace();
        if words.next() != Some("node") {
            continue;
        }
        let Some(number) = words.next().and_then(|name| name.strip_prefix('n')) else {
            continue;
        };
        let number: usize = number.parse().ok()?;
        let mut inches = || {
            words
                .next()?
                .parse::<f64>()
                .ok()
                .filter(|inches| inches.is_finite())
        };
        let (x, y) = (inches()?, inches()?);
        *places.get_mut(number)? = Some((SCALE * x, -SCALE * y));
    }
    places.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn positions_need_every_node() {
        let plain =
            "graph 1 2 2\nnode n0 1 2 1 1 \"\" solid\nnode c0 9 9\nnode n1 0.5 -1 1 1\nstop";
        assert_eq!(parse(plain, 2), Some(vec![(72.0, -144.0), (36.0, 72.0)]));
        assert_eq!(parse(plain, 3), None);
        assert_eq!(parse(plain, 1), None, "a node that does not exist");
        assert_eq!(parse("node n0 inf 1", 1), None);
    }

    proptest! {
        #[test]
        fn any_output_is_read_without_panic(text in "(node n?[0-9]{0,3} [-.0-9einf ]{0,9}\n){0,9}") {
            parse(&text, 5);
        }
    }
}
