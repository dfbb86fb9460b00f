use super::*;
use crate::ErrorKind;
use std::{collections::BTreeMap, fs};

fn env<'a>(pairs: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<OsString> + 'a {
    let map: BTreeMap<_, _> = pairs.iter().copied().collect();
    move |name| map.get(name).map(OsString::from)
}

fn reth(path: impl Into<PathBuf>) -> Option<SourceSpec> {
    Some(SourceSpec::reth(path))
}

fn file(text: &str) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("c.toml");
    fs::write(&path, text).unwrap();
    (dir, path)
}

#[test]
fn flag_over_environment_over_file_over_default() {
    let (dir, path) = file(
        "[node]\ndatadir = \"from-file\"\nchain-id = 5\n[run]\nthreads = 3\nmemory = \"2G\"\n",
    );
    let resolve = |flags: Config, pairs: &[(&str, &str)]| {
        Config::resolve_in(flags, Some(&path), &env(pairs)).unwrap()
    };
    let nothing = resolve(Config::default(), &[]);
    assert_eq!(nothing.source, reth(dir.path().join("from-file")));
    assert_eq!((nothing.threads, nothing.memory), (Some(3), Some(2 << 30)));
    assert_eq!(nothing.chunk_blocks, None);

    let pairs = [("RETH_DATADIR", "/reth"), ("RAYON_NUM_THREADS", "7")];
    let with_env = resolve(Config::default(), &pairs);
    assert_eq!(with_env.source, reth("/reth"));
    assert_eq!(with_env.threads, Some(7));
    // The chain id belongs to the directory of the file.
    assert_eq!(with_env.chain_id, None);

    let pairs = [("TXGRAPH_DATADIR", "/ours"), ("RETH_DATADIR", "/reth")];
    assert_eq!(resolve(Config::default(), &pairs).source, reth("/ours"));

    let pairs = [
        ("TXGRAPH_SOURCE", "reth:/source"),
        ("TXGRAPH_DATADIR", "/ours"),
    ];
    assert_eq!(resolve(Config::default(), &pairs).source, reth("/source"));

    let flags = Config {
        source: reth("/flag"),
        ..Config::default()
    };
    let with_flag = resolve(flags, &pairs);
    assert_eq!(with_flag.source, reth("/flag"));
    assert_eq!(with_flag.threads, Some(3));

    let pairs = [("TXGRAPH_HEAD", "http://localhost:8545")];
    for (source, expected) in [("reth:/flag", true), ("era:/flag", false)] {
        let flags = Config {
            source: Some(SourceSpec::from(source.to_owned())),
            ..Config::default()
        };
        assert_eq!(resolve(flags, &pairs).head.is_some(), expected, "{source}");
    }

    let flags = Config {
        static_files: Some("/sf".into()),
        ..Config::default()
    };
    let parts = resolve(flags, &[]);
    assert_eq!(parts.static_files, Some("/sf".into()));
    assert_eq!(parts.source, reth(dir.path().join("from-file")));
    assert_eq!(parts.chain_id, Some(5));
}

#[test]
fn a_file_names_a_source_by_kind() {
    for (text, expected) in [
        ("source = \"reth:data\"", Ok("data")),
        ("source = \"data\"", Ok("data")),
        ("source = \"reth:${HOME}\"", Ok("/me")),
        ("source = \"pond:x\"", Err("unknown kind of source `pond`")),
        ("source = \"x\"\ndatadir = \"y\"", Err("exclude each other")),
    ] {
        let (dir, path) = file(&format!("[node]\n{text}\n"));
        let loaded = Config::load_in(&path, &env(&[("HOME", "/me")]));
        match expected {
            Ok(location) => {
                assert_eq!(loaded.unwrap().source, reth(dir.path().join(location)));
            }
            Err(words) => {
                let message = loaded.unwrap_err().message;
                assert!(message.contains(words), "{message}");
            }
        }
    }
}

#[test]
fn index_from_flag_environment_or_file() {
    let (dir, path) = file("[run]\nindex = \"mine\"\n");
    let resolve = |pairs: &[(&str, &str)]| {
        Config::resolve_in(Config::default(), Some(&path), &env(pairs)).unwrap()
    };
    let at = |path: PathBuf| Some(IndexChoice::At(path));
    assert_eq!(resolve(&[]).index, at(dir.path().join("mine")));
    assert_eq!(
        resolve(&[("TXGRAPH_INDEX", "off")]).index,
        Some(IndexChoice::Off)
    );
    assert_eq!(resolve(&[("TXGRAPH_INDEX", "x/y")]).index, at("x/y".into()));
    for word in ["auto", "off"] {
        let (_dir, path) = file(&format!("[run]\nindex = \"{word}\"\n"));
        let config = Config::resolve_in(Config::default(), Some(&path), &env(&[])).unwrap();
        assert_eq!(config.index, Some(IndexChoice::parse(word.as_ref())));
    }
    let cache = |pairs: &[(&str, &str)]| resolve(pairs).cache;
    assert_eq!(cache(&[]), None);
    assert_eq!(cache(&[("HOME", "/me")]), Some("/me/.cache".into()));
    let both = [("HOME", "/me"), ("XDG_CACHE_HOME", "/c")];
    assert_eq!(cache(&both), Some("/c".into()));
    let relative = [("HOME", "/me"), ("XDG_CACHE_HOME", "c")];
    assert_eq!(cache(&relative), Some("/me/.cache".into()));
}

#[test]
fn environment_names_the_file() {
    let (_dir, path) = file("[run]\nchunk-blocks = 77\n");
    let pairs = [
        (CONFIG_ENV, path.to_str().unwrap()),
        ("RAYON_NUM_THREADS", "0"),
    ];
    let config = Config::resolve_in(Config::default(), None, &env(&pairs)).unwrap();
    assert_eq!(
        config,
        Config {
            chunk_blocks: Some(77),
            ..Config::default()
        }
    );
}

#[test]
fn expands_variables() {
    let home = env(&[("HOME", "/home/me"), ("EMPTY", "")]);
    assert_eq!(
        expand("${HOME}/x/${HOME}", &home).unwrap(),
        "/home/me/x//home/me"
    );
    assert_eq!(expand("${NOPE:-/d}/x", &home).unwrap(), "/d/x");
    assert_eq!(expand("$HOME}", &home).unwrap(), "$HOME}");
    assert_eq!(
        expand("${EMPTY}", &home).unwrap_err(),
        "`${EMPTY}`: EMPTY is not set"
    );
    assert!(expand("${HOME", &home).is_err());
}

#[test]
fn mistakes_name_the_file() {
    for text in [
        "[run]\nthread = 1\n",
        "[node]\ndatadir = \"${TXGRAPH_NOT_SET_EVER}\"\n",
        "[run]\nmemory = \"lots\"\n",
        "nonsense",
    ] {
        let (_dir, path) = file(text);
        let error = Config::load(&path).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Usage, "{text}");
        assert!(error.message.contains("c.toml"), "{}", error.message);
    }
    let (_dir, path) = file("[run]\nthreads = 0\n");
    assert_eq!(
        Config::load(&path).unwrap_err().message,
        "threads must be at least 1"
    );
    let absent = Config::load(Path::new("/no/such/file.toml")).unwrap_err();
    assert_eq!(absent.kind, ErrorKind::Failed);
    let pairs = [("RAYON_NUM_THREADS", "many")];
    let error = Config::resolve_in(Config::default(), None, &env(&pairs)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Usage);
}

#[test]
fn committed_examples_load() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs");
    let mut seen = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        // The crate `distributed` reads and tests `cluster.toml`.
        if name.ends_with(".toml") && name != "cluster.toml" {
            let config = Config::load_in(&path, &env(&[("HOME", "/home/me")])).unwrap();
            config.check().unwrap();
            seen += 1;
        }
    }
    assert!(seen >= 2);
}

#[test]
fn shipped_example_shows_every_setting() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/local.toml");
    let text = fs::read_to_string(path).unwrap();
    // `source` and `datadir` exclude each other.
    assert!(text.contains("\n# source = "), "{text}");
    let is_key = |line: &str| {
        let key = line.split(" = ").next().unwrap_or_default();
        line.contains(" = ") && key.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')
    };
    let uncommented = text.lines().map(|line| match line.strip_prefix("# ") {
        Some(setting) if is_key(setting) && !setting.starts_with("source =") => setting,
        _ => line,
    });
    let text = uncommented.collect::<Vec<_>>().join("\n");
    let (_dir, path) = file(&text);
    let Config {
        source: Some(_),
        // Not a setting of the file.
        joined: _,
        head: Some(_),
        static_files: Some(_),
        rocksdb: Some(_),
        chain_id: Some(_),
        covers: Some(_),
        source_columns: Some(_),
        chain: Some(_),
        threads: Some(_),
        chunk_blocks: Some(_),
        memory: Some(_),
        index: Some(_),
        check_roots: Some(_),
        // Not a setting of the file.
        cache: None,
        token_list: Some(_),
    } = Config::load_in(&path, &env(&[("HOME", "/me")])).unwrap()
    else {
        panic!("a setting is missing")
    };
}
