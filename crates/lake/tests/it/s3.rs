//! A lake in a bucket of a server with the interface of S3. `scripts/lake-s3.sh` starts one;
//! without it these tests do nothing.

use crate::{
    again::{again, paths},
    steps,
    support::{
        ask, assert_same, chain, everything, node, open, options, range, source, until, work,
    },
};
use object_store::{
    ObjectStore, ObjectStoreExt, PutPayload,
    aws::{AmazonS3, AmazonS3Builder},
    path::Path as Key,
};
use rand::{Rng, SeedableRng, rngs::SmallRng};
use std::{
    env, fs,
    path::{Path, PathBuf},
};
use tokio::runtime::{Builder, Runtime};
use txgraph_chaingen::Profile;
use txgraph_lake::{Error, Lake, append, build, check, compact, verify};
use txgraph_reader::NodeSource;
use txgraph_testkit::{or_skip, queries::compare};
use txgraph_transfers::ScanRequest;

/// The bucket that the tests write to, which exists.
const BUCKET: &str = "TXGRAPH_S3_BUCKET";
/// Set when the server refuses unknown credentials.
const REFUSES: &str = "TXGRAPH_S3_REFUSES";
/// The kills of writers, unless `TXGRAPH_KILLS` has another number.
const KILLS: u32 = 12;

/// The bucket, as a client of the tests sees it.
struct Bucket {
    name: String,
    client: AmazonS3,
    runtime: Runtime,
}

impl Bucket {
    fn find() -> Option<Self> {
        let name = env::var(BUCKET).ok()?;
        let client = AmazonS3Builder::from_env()
            .with_bucket_name(&name)
            .with_allow_http(true);
        Some(Self {
            client: client.build().unwrap(),
            name,
            runtime: Builder::new_multi_thread().enable_all().build().unwrap(),
        })
    }

    fn location(&self, prefix: &str) -> PathBuf {
        format!("s3://{}/{prefix}", self.name).into()
    }

    fn put(&self, key: &str, content: Vec<u8>) {
        let key = Key::from(key);
        let put = self.client.put(&key, PutPayload::from(content));
        self.runtime.block_on(put).unwrap();
    }

    fn get(&self, key: &str) -> Option<Vec<u8>> {
        let key = Key::from(key);
        self.runtime.block_on(async {
            let found = self.client.get(&key).await.ok()?;
            Some(found.bytes().await.unwrap().to_vec())
        })
    }

    fn delete(&self, key: &str) {
        let key = Key::from(key);
        self.runtime.block_on(self.client.delete(&key)).unwrap();
    }

    fn folders(&self, key: &str) -> Vec<String> {
        let key = Key::from(key);
        let list = self.client.list_with_delimiter(Some(&key));
        let list = self.runtime.block_on(list).unwrap().common_prefixes;
        list.iter()
            .map(|prefix| prefix.filename().unwrap().to_owned())
            .collect()
    }
}

fn sample() -> (tempfile::TempDir, NodeSource) {
    chain(Profile::Mainnet, 150)
}

/// The same steps in a bucket and in a directory give the same files and the same answers.
#[test]
fn a_bucket_has_the_lake_of_a_directory() {
    let bucket = or_skip!(Bucket::find());
    let (_folder, node) = sample();
    let place = tempfile::tempdir().unwrap();
    let location = bucket.location("deep/same");
    // Left by a writer that was killed.
    let left = "0000000000-0000000009-aabbccdd-0";
    bucket.put(
        &format!("deep/same/partitions/{left}/blocks.parquet"),
        b"x".to_vec(),
    );
    for folder in [place.path(), &location] {
        build(folder, &node, &until(70, 32)).unwrap();
        for last in [75, 90, 130, 150] {
            append(folder, &node, &until(last, 32)).unwrap();
        }
    }
    assert!(compact(place.path(), &work()).unwrap().replaced > 3);
    assert!(compact(&location, &work()).unwrap().replaced > 3);
    let (local, remote) = (open(place.path()), open(&location));
    // With the CRC-32 of each file.
    assert_eq!(local.partitions(), remote.partitions());
    assert_eq!(remote.status().bytes, local.status().bytes);
    assert_eq!(remote.path(), location);
    let listed = local.partitions().iter().map(|it| it.folder.clone());
    assert_eq!(
        bucket.folders("deep/same/partitions"),
        listed.collect::<Vec<_>>()
    );
    assert_eq!(bucket.get("deep/same/LOCK"), None);
    let rows = compare(&source(&remote), &node, 40, 9, |_, _| ());
    assert!(rows > 500, "{rows}");
    check(&remote, &work()).unwrap();
    assert_eq!(verify(&remote, &node).unwrap().blocks, 151);
}

#[test]
fn one_process_writes_at_a_time() {
    let bucket = or_skip!(Bucket::find());
    let (_folder, node) = sample();
    let location = bucket.location("locked");
    build(&location, &node, &until(40, 32)).unwrap();
    bucket.put("locked/LOCK", b"another process".to_vec());
    let error = append(&location, &node, &until(80, 32)).unwrap_err();
    assert!(matches!(error, Error::InUse(_)), "{error}");
    assert!(error.to_string().contains("locked/LOCK exists"), "{error}");
    // It still belongs to the other process.
    assert!(bucket.get("locked/LOCK").is_some());
    bucket.delete("locked/LOCK");
    append(&location, &node, &until(80, 32)).unwrap();
    assert_eq!(open(&location).blocks().blocks(), 81);
}

fn write_all(location: &Path, node: &NodeSource) {
    build(location, node, &until(60, 32)).unwrap();
    for last in [70, 90, 100, 130, 150] {
        append(location, node, &until(last, 32)).unwrap();
    }
    compact(location, &work()).unwrap();
}

#[test]
fn killed_writers_leave_a_lake_that_continues_when_the_lock_is_deleted() {
    let bucket = or_skip!(Bucket::find());
    let name = "it::s3::killed_writers_leave_a_lake_that_continues_when_the_lock_is_deleted";
    if let Some([chain, prefix, step]) = paths() {
        steps::end_before(&step);
        write_all(&bucket.location(prefix.to_str().unwrap()), &node(&chain));
        fs::write(chain.join("steps"), steps::done().to_string()).unwrap();
        return;
    }
    let kills = env::var("TXGRAPH_KILLS").map_or(KILLS, |text| text.parse().unwrap());
    let (folder, node) = sample();
    let write_until = |prefix: &str, step: u64| {
        let step = step.to_string();
        let mut child = again(name, &[folder.path(), prefix.as_ref(), step.as_ref()]);
        child.output().unwrap().status.success()
    };
    // The lake of a writer that is not killed, and its steps.
    assert!(write_until("killed/whole", u64::MAX));
    let steps = fs::read_to_string(folder.path().join("steps")).unwrap();
    let steps: u64 = steps.parse().unwrap();
    let whole = bucket.location("killed/whole");
    let whole = open(&whole);
    let everything = everything(range(0, 150));
    let expected = ask(&source(&whole), &everything).unwrap().0;

    let mut chance = SmallRng::seed_from_u64(29);
    let (mut locked, mut midway) = (0, 0);
    let (mut lakes, mut prefix) = (0, "killed/0".to_owned());
    for kill in 0..kills {
        let location = bucket.location(&prefix);
        write_until(&prefix, chance.random_range(1..=steps));
        let lock = format!("{prefix}/LOCK");
        if bucket.get(&lock).is_some() {
            locked += 1;
            let error = build(&location, &node, &until(60, 32)).unwrap_err();
            assert!(matches!(error, Error::InUse(_)), "{error}");
            assert!(error.to_string().contains(&lock), "{error}");
            bucket.delete(&lock);
        }
        if bucket.get(&format!("{prefix}/manifest.json")).is_some() {
            let lake = open(&location);
            check(&lake, &work()).unwrap();
            let blocks = lake.blocks().span();
            midway += u32::from(blocks.is_some_and(|blocks| blocks.last < 150));
        }
        // Most continue the lake after the next kill, too.
        if kill % 3 == 2 || kill + 1 == kills {
            write_all(&location, &node);
            let lake = open(&location);
            assert_eq!(lake.blocks(), whole.blocks());
            let found = ask(&source(&lake), &everything).unwrap().0;
            assert_same(&found, &expected, "after kills");
            verify(&lake, &node).unwrap();
            // Compaction gives these partitions the content of one build.
            let content = |lake: &Lake| -> Vec<_> {
                (lake.partitions().iter())
                    .map(|it| (it.blocks, it.files.clone()))
                    .collect()
            };
            assert_eq!(content(&lake), content(&whole));
            let listed = lake.partitions().iter().map(|it| it.folder.clone());
            let partitions = format!("{prefix}/partitions");
            assert_eq!(bucket.folders(&partitions), listed.collect::<Vec<_>>());
            assert_eq!(bucket.get(&lock), None);
            lakes += 1;
            prefix = format!("killed/{lakes}");
        }
    }
    assert!(locked > 0 && midway > 0, "{locked} locked, {midway} midway");
}

/// Returns the error of a scan of everything.
fn scan_error(location: &Path) -> String {
    let lake = match Lake::open(location) {
        Ok(lake) => lake,
        Err(error) => return error.to_string(),
    };
    let request = ScanRequest {
        with_hashes: true,
        ..everything(range(0, 150))
    };
    let error = ask(&source(&lake), &request).unwrap_err();
    assert!(check(&lake, &work()).is_err());
    error.to_string()
}

#[test]
fn missing_and_damaged_objects_give_precise_errors() {
    let bucket = or_skip!(Bucket::find());
    let (_folder, node) = sample();
    let location = bucket.location("damaged");
    build(&location, &node, &options(64)).unwrap();
    let lake = open(&location);
    let folder = format!("damaged/partitions/{}", lake.partitions()[1].folder);
    let key = format!("{folder}/transfers.parquet");
    let good = bucket.get(&key).unwrap();
    let mut flipped = good.clone();
    flipped[100] ^= 1;
    for (bad, what) in [
        (Some(good[..good.len() / 3].to_vec()), "bytes instead of"),
        (Some([&good[..], b"more"].concat()), "bytes instead of"),
        (Some(Vec::new()), "it has 0 bytes instead of"),
        (Some(flipped), "do not match their checksum"),
        (None, "the object does not exist"),
    ] {
        match bad {
            Some(bad) => bucket.put(&key, bad),
            None => bucket.delete(&key),
        }
        let error = scan_error(&location);
        assert!(error.contains(&key) && error.contains(what), "{error}");
    }
    bucket.put(&key, good);
    let sums = format!("{folder}/checksums.json");
    let good = bucket.get(&sums).unwrap();
    bucket.delete(&sums);
    let error = scan_error(&location);
    assert!(error.contains(&sums), "{error}");
    bucket.put(&sums, good);
    verify(&open(&location), &node).unwrap();

    bucket.put("damaged/manifest.json", b"<html>".to_vec());
    let error = scan_error(&location);
    assert!(error.contains("manifest.json is damaged"), "{error}");
    bucket.delete("damaged/manifest.json");
    let error = Lake::open(&location).unwrap_err();
    assert!(matches!(error, Error::NotAStore { .. }), "{error}");
}

#[test]
fn missing_buckets_and_wrong_locations_are_named() {
    if Bucket::find().is_none() {
        return;
    }
    let (_folder, node) = sample();
    for error in [
        Lake::open(Path::new("s3://no-such-bucket/x")).unwrap_err(),
        build(Path::new("s3://no-such-bucket/x"), &node, &options(64)).unwrap_err(),
    ] {
        let error = error.to_string();
        assert!(
            error.contains("there is no bucket `no-such-bucket`"),
            "{error}"
        );
    }
    for (location, what) in [("s3://", "names no bucket"), ("s3://b/x//y", "s3://b/x//y")] {
        let error = Lake::open(Path::new(location)).unwrap_err();
        assert!(matches!(error, Error::Options(_)), "{error}");
        assert!(error.to_string().contains(what), "{error}");
    }
}

#[test]
#[expect(
    clippy::print_stdout,
    reason = "read by the process that starts this one"
)]
fn refused_credentials_and_silent_servers_are_named() {
    let bucket = or_skip!(Bucket::find());
    let location = bucket.location("locked");
    // A process with other credentials.
    if let Some([]) = paths() {
        println!("found: {}", Lake::open(&location).unwrap_err());
        return;
    }
    let open_with = |key: &str, value: &str| {
        let name = "it::s3::refused_credentials_and_silent_servers_are_named";
        let run = again(name, &[]).env(key, value).output().unwrap();
        assert!(run.status.success(), "{run:?}");
        String::from_utf8(run.stdout).unwrap()
    };
    // Nothing listens on port 9.
    let found = open_with("AWS_ENDPOINT_URL", "http://127.0.0.1:9");
    assert!(found.contains("found: cannot read s3://"), "{found}");
    assert!(found.contains("locked/manifest.json"), "{found}");
    if env::var_os(REFUSES).is_some() {
        let found = open_with("AWS_ACCESS_KEY_ID", "unknown");
        let what = "the server refuses the credentials of the environment (InvalidAccessKeyId: ";
        assert!(found.contains(what), "{found}");
    }
}
