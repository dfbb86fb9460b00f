//! Every key of directories that reth wrote.

use super::{compare, open};
use rand::{SeedableRng, rngs::StdRng};
use rocksdb::{DB, Options};
use txgraph_testkit::fixtures::v2;

const FAMILIES: [&str; 3] = [
    "TransactionHashNumbers",
    "AccountsHistory",
    "StoragesHistory",
];

#[test]
fn every_key_is_equal() {
    let mut random = StdRng::seed_from_u64(3);
    for fixture in v2() {
        let directory = fixture.path().join("rocksdb");
        if !directory.join("CURRENT").exists() {
            println!("{}: no RocksDB", fixture.name);
            continue;
        }
        let scratch = tempfile::tempdir().unwrap();
        let mut options = Options::default();
        options.set_max_open_files(-1);
        let families = DB::list_cf(&options, &directory).unwrap();
        let oracle =
            DB::open_cf_as_secondary(&options, &directory, &scratch.path().into(), &families)
                .unwrap();
        let db = open(&directory, &FAMILIES);
        let state = db.catch_up().unwrap();
        for family in FAMILIES {
            let rows = compare(&oracle, &state, family, 5000, &mut random);
            println!("{} {family}: {rows} rows equal, 5000 seeks", fixture.name);
        }
    }
}
