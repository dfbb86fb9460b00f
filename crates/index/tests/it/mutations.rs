//! Damaged indexes: a result is right, or it is an error. Never a wrong result.

use crate::{
    damage::{sample, segments},
    support::{Reference, Sample, ask, everything, open, range, seen},
    transactions::{asked, naive},
};
use alloy_primitives::Address;
use rand::{
    Rng, SeedableRng,
    rngs::SmallRng,
    seq::{IndexedRandom, SliceRandom},
};
use std::{collections::BTreeMap, env, fs, path::PathBuf};
use txgraph_graph::{SearchRequest, search};
use txgraph_index::{Index, Indexed, fuzzing};
use txgraph_transfers::{Participation, ScanReport, ScanRequest, Transfer, TransferSource};

/// Mutations in CI. More are made with `TXGRAPH_MUTATIONS=20000`.
const MUTATIONS: usize = 1500;

/// Queries and their right answers.
struct Queries {
    scans: Vec<(ScanRequest, Vec<Transfer>, ScanReport)>,
    searches: Vec<(SearchRequest, String)>,
    /// Addresses, and their transactions.
    transactions: Vec<(Address, Vec<Participation>)>,
}

impl Queries {
    fn new(sample: &Sample, chance: &mut SmallRng) -> Self {
        let reference = Reference::of(&sample.node);
        let mut requests: Vec<_> = (0..5).map(|_| reference.query(chance)).collect();
        requests.push(everything(range(0, reference.tip)));
        let scans = requests.into_iter().map(|request| {
            let (rows, report) = ask(&sample.node, &request).unwrap();
            (request, rows, seen(&report))
        });
        let search_request = |hops| {
            let root = reference.all.choose(chance).unwrap().from_address;
            SearchRequest {
                hops: Some(hops),
                max_degree: Some(3),
                ..SearchRequest::new(vec![root], range(0, reference.tip).into())
            }
        };
        let requests: Vec<_> = [1, 2, 3].map(search_request).into();
        let participations = naive(&sample.node, reference.tip);
        let transactions = [0, 1, 2, 3, 4].map(|_| {
            let address = participations.choose(chance).unwrap().address;
            let own = participations.iter().filter(|it| it.address == address);
            (address, own.copied().collect())
        });
        Self {
            transactions: transactions.into(),
            scans: scans.collect(),
            searches: requests
                .into_iter()
                .map(|request| {
                    let graph = graph(&sample.node, &request).unwrap();
                    (request, graph)
                })
                .collect(),
        }
    }

    /// Asks all queries. Returns how many answers were right and how many were errors,
    /// or what was wrong.
    fn ask(&self, index: &Index, sample: &Sample) -> Result<(usize, usize), String> {
        let indexed = Indexed::new(index, &sample.node);
        let (mut right, mut errors) = (0, 0);
        for (request, rows, report) in &self.scans {
            match ask(&indexed, request) {
                Ok((found, of_found)) if found == *rows && seen(&of_found) == *report => right += 1,
                Ok(_) => return Err(format!("{request:?}")),
                Err(_) => errors += 1,
            }
            match indexed.hubs(request, 2) {
                Ok(hubs) if self.are_hubs(&hubs, request, rows) => right += 1,
                Ok(hubs) => return Err(format!("{hubs:?} of {request:?}")),
                Err(_) => errors += 1,
            }
        }
        for (request, expected) in &self.searches {
            match graph(&indexed, request) {
                Ok(found) if found == *expected => right += 1,
                Ok(_) => return Err(format!("{request:?}")),
                Err(_) => errors += 1,
            }
        }
        for (address, expected) in &self.transactions {
            match asked(index, *address, range(0, 60), false, usize::MAX) {
                Ok(found) if found == *expected => right += 1,
                Ok(found) => return Err(format!("{address}: {found:?}")),
                Err(_) => errors += 1,
            }
        }
        Ok((right, errors))
    }

    /// Whether each of these has more than two counterparties among the rows.
    fn are_hubs(&self, hubs: &[Address], _: &ScanRequest, rows: &[Transfer]) -> bool {
        hubs.iter().all(|hub| {
            let others = rows
                .iter()
                .filter_map(|t| match (t.from_address, t.to_address) {
                    (from, to) if from == *hub => Some(to),
                    (from, to) if to == *hub => Some(from),
                    _ => None,
                });
            others
                .filter(|other| other != hub)
                .collect::<std::collections::BTreeSet<_>>()
                .len()
                > 2
        })
    }
}

/// A graph with its report as text, to compare.
fn graph(source: &dyn TransferSource, request: &SearchRequest) -> Result<String, String> {
    let graph = search(source, request).map_err(|error| error.to_string())?;
    let vertices: Vec<_> = graph.graph.node_weights().collect();
    let edges: Vec<_> = graph
        .graph
        .raw_edges()
        .iter()
        .map(|edge| (edge.source(), edge.target(), &edge.weight))
        .collect();
    Ok(format!(
        "{vertices:?} {edges:?} {:?} {:?}",
        graph.limits,
        seen(&graph.scan)
    ))
}

/// Changes some bytes, of which at least one is in a region that is drawn at random, so that
/// short regions are damaged as often as long ones.
fn damage(
    bytes: &mut Vec<u8>,
    regions: &[(String, std::ops::Range<usize>)],
    chance: &mut SmallRng,
) -> String {
    let (name, region) = regions.choose(chance).unwrap();
    let at = chance.random_range(region.clone());
    let len = chance.random_range(1..=64).min(bytes.len() - at);
    let kind = chance.random_range(0..9);
    match kind {
        0 | 1 => bytes[at] ^= 1 << chance.random_range(0..8),
        2 => bytes[at] = bytes[at].wrapping_add(chance.random_range(1..=255)),
        3 => chance.fill(&mut bytes[at..at + len]),
        4 => bytes[at..at + len].fill(0),
        5 => bytes[region.clone()].shuffle(chance),
        // What a file system may do to a page.
        6 => {
            let page = at & !4095;
            let end = bytes.len().min(page + 4096);
            bytes[page..end].fill(0);
        }
        7 => bytes.truncate(at),
        _ => {
            let copied = bytes[at..at + len].to_vec();
            let to = chance.random_range(0..=bytes.len() - len);
            bytes[to..to + len].copy_from_slice(&copied);
        }
    }
    format!("kind {kind} at {at} in {name}")
}

/// All files of an index but the lock, with their bytes.
fn files(sample: &Sample) -> Vec<(PathBuf, Vec<u8>)> {
    let mut paths = segments(sample.place.path());
    paths.push(sample.place.path().join("MANIFEST"));
    let read = |path: PathBuf| {
        let bytes = fs::read(&path).unwrap();
        (path, bytes)
    };
    paths.into_iter().map(read).collect()
}

#[test]
#[expect(
    clippy::print_stdout,
    reason = "the numbers of a long run are reported"
)]
fn damaged_index_never_gives_a_wrong_answer() {
    let mutations = env::var("TXGRAPH_MUTATIONS").map_or(MUTATIONS, |text| text.parse().unwrap());
    let sample = sample();
    let mut chance = SmallRng::seed_from_u64(17);
    let queries = Queries::new(&sample, &mut chance);
    let files = files(&sample);
    let whole = queries.ask(&open(sample.place.path(), &sample.node), &sample);
    assert_eq!(whole, Ok((20, 0)), "an index without damage");

    let mut outcomes = BTreeMap::<_, usize>::new();
    for number in 0..mutations {
        let (path, good) = files.choose(&mut chance).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        let regions = match name.ends_with(".segment") {
            true => fuzzing::regions(good),
            false => vec![("manifest".to_owned(), 0..good.len())],
        };
        let mut bad = good.clone();
        let what = match chance.random_range(0..20) {
            0 => {
                // Another file of the index in its place.
                bad.clone_from(&files.choose(&mut chance).unwrap().1);
                "another file".to_owned()
            }
            1 => {
                bad.extend_from_slice(&[0; 4096][..chance.random_range(1..4096)]);
                "longer".to_owned()
            }
            _ => damage(&mut bad, &regions, &mut chance),
        };
        if bad == *good {
            continue;
        }
        fs::write(path, &bad).unwrap();
        let outcome = match Index::open(sample.place.path(), sample.node.chain()) {
            Err(_) => "refused when opened",
            Ok(index) => match queries.ask(&index, &sample) {
                Ok((_, 0)) => "answered, all right",
                Ok(_) => "answered or refused, all right",
                Err(wrong) => {
                    panic!("mutation {number} ({name}: {what}) gave a wrong answer to {wrong}")
                }
            },
        };
        *outcomes.entry(outcome).or_default() += 1;
        fs::write(path, good).unwrap();
    }
    println!("{mutations} mutations, 0 wrong answers: {outcomes:?}");
    // Damage outside of the head is found when it is read, not before.
    assert!(outcomes.len() > 1, "{outcomes:?}");
}
