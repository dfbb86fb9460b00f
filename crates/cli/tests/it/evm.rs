//! `txgraph evm`: needs no node.

use crate::harness::{Run, ask, json_lines, words};
use std::{
    io::Write,
    process::{Command, Stdio},
};
use txgraph_testkit::fixtures::{testdata, workspace};

const PROGRAM: &str = env!("CARGO_BIN_EXE_txgraph");

fn evm(line: &str, input: &str) -> Run {
    let mut child = Command::new(PROGRAM)
        .arg("evm")
        .args(words(line))
        .current_dir(workspace())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that fails early closes its input.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    Run::new(line.to_owned(), child.wait_with_output().unwrap())
}

fn stdout(line: &str, input: &str) -> String {
    evm(line, input).ended(0).stdout
}

fn json(line: &str, input: &str) -> serde_json::Value {
    evm(line, input).ended(0).json()
}

fn fails(line: &str, input: &str, status: i32, text: &str) {
    evm(line, input).ended(status).says(text);
}

#[test]
fn examples_of_the_help_work() {
    let mut seen = 0;
    for command in ["run", "asm", "disasm", "test", "bench"] {
        let help = stdout(&format!("{command} --help"), "");
        for line in help
            .lines()
            .filter_map(|line| line.trim().strip_prefix("$ "))
        {
            let line = line.replace("txgraph evm", &format!("{PROGRAM} evm"));
            let output = Command::new("sh")
                .args(["-c", &line])
                .current_dir(workspace())
                .output();
            let output = output.unwrap();
            assert!(output.status.success(), "{line}: {output:?}");
            assert!(!output.stdout.is_empty(), "{line}");
            seen += 1;
        }
    }
    assert!(seen >= 10, "{seen}");
}

#[test]
fn code_comes_from_arguments_files_and_stdin() {
    let code = "60016002015f5260205ff3";
    let folder = tempfile::tempdir().unwrap();
    let hex = folder.path().join("code.hex");
    std::fs::write(&hex, format!("0x{code}\n")).unwrap();
    let expected = "0x0000000000000000000000000000000000000000000000000000000000000003";
    for (rest, input) in [
        (format!("--code {code}"), ""),
        ("--fork=Cancun -".to_owned(), code),
        (format!("--fork=Shanghai {}", hex.display()), ""),
    ] {
        let answer = json(&format!("run --json {rest}"), input);
        assert_eq!(
            (&answer["output"], &answer["status"]),
            (&expected.into(), &"success".into())
        );
        assert_eq!(answer["gas_used"], 3 + 3 + 3 + 2 + 6 + 3 + 2);
        assert!(answer["time_ns"].is_u64());
    }
    // PUSH0 does not exist yet. The outcome is still a result.
    let line = format!("run --json --fork=London --code {code} --gas=500");
    let answer = json(&line, "");
    assert_eq!(
        (&answer["status"], &answer["gas_used"]),
        (&"halt".into(), &500.into())
    );
    let page = stdout("run --code 5ffd5b", "");
    assert!(
        page.contains("outcome") && page.contains("halt: stack underflow"),
        "{page}"
    );
}

#[test]
fn calldata_value_and_state_are_used() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state.json");
    std::fs::write(
        &state,
        r#"{"alloc": {"cccccccccccccccccccccccccccccccccccccccc":
            {"storage": {"0x7": "0x9"}}}}"#,
    )
    .unwrap();
    // calldata[0] + value + slot 7
    let code = "5f35340160075401".to_owned() + "5f5260205ff3";
    let line = format!(
        "run --json --state {} --value=16 --code {code} --calldata {:064x}",
        state.display(),
        256
    );
    let answer = json(&line, "");
    assert_eq!(answer["output"], format!("0x{:064x}", 256 + 16 + 9));
}

#[test]
fn programs_give_the_known_results() {
    let folder = workspace().join("testdata/evm/programs");
    let list = std::fs::read_to_string(folder.join("expected.json")).unwrap();
    let list: Vec<serde_json::Value> = serde_json::from_str(&list).unwrap();
    for name in ["count1000", "fact100"] {
        let expected = list.iter().find(|entry| entry["name"] == name).unwrap();
        let path = folder.join(format!("{name}.prog"));
        let answer = json(&format!("run --json --program {}", path.display()), "");
        assert_eq!(answer["gas_used"], expected["frame_gas"]);
        let output = answer["output"].as_str().unwrap().trim_start_matches("0x");
        assert_eq!(output, expected["out"]);
    }
}

#[test]
fn traces_go_to_stderr_or_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.jsonl");
    let code = "--code 60016002015f5260205ff3";
    stdout(&format!("run --trace={} {code}", file.display()), "");
    let to_file = std::fs::read_to_string(&file).unwrap();
    let output = evm(&format!("run --trace {code}"), "");
    assert_eq!(output.stderr, to_file);
    let lines = json_lines(&to_file);
    assert_eq!(lines.len(), 9);
    assert_eq!(
        (&lines[2]["opName"], &lines[2]["gasCost"]),
        (&"ADD".into(), &"0x3".into())
    );
    assert_eq!(lines[8]["gasUsed"], "0x16");
}

#[test]
fn disassembly_assembles_to_the_same_bytes() {
    let source = "start: JUMPDEST PUSH start JUMP DATA 0xfe0c";
    let code = stdout("asm -", source);
    assert_eq!(code, "0x5b600056fe0c\n");
    let listing = stdout("disasm - --offsets", &code);
    assert!(listing.contains("L_00:"), "{listing}");
    assert_eq!(stdout("asm -", &listing), code);
    fails(
        "asm -",
        "ADD\n PUHS1 1",
        2,
        "line 2, column 2: PUHS1 is not a mnemonic",
    );
    fails("disasm -", "0x123", 2, "not hex");
    // Bytes that happen to be hex digits.
    let disasm = |format: &str| stdout(&format!("disasm - --code-format {format}"), "5b");
    assert_eq!(disasm("auto"), disasm("hex"));
    assert!(disasm("hex").contains("JUMPDEST"), "{}", disasm("hex"));
    assert!(
        !disasm("binary").contains("JUMPDEST"),
        "{}",
        disasm("binary")
    );
    fails("disasm - --code-format=hex", "JUMP", 2, "hex");
    let run = |format: &str| stdout(&format!("run - --code-format {format}"), "5b");
    assert!(run("hex").contains("success"), "{}", run("hex"));
    assert!(run("binary").contains("halt"), "{}", run("binary"));
}

#[test]
fn failing_tests_are_reported() {
    let state = workspace().join("testdata/evm/state");
    let report = json(&format!("test --json {}", state.display()), "");
    assert_eq!(report["total"]["failed"], 0);
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(state.join("eip1153.json")).unwrap();
    let path = folder.path().join("bent.json");
    std::fs::write(
        &path,
        text.replacen("\"gasPrice\":\"0x0a\"", "\"gasPrice\":\"0x0b\"", 1),
    )
    .unwrap();
    fails(&format!("test {}", path.display()), "", 1, "1 test failed");
    fails("test /nowhere.json", "", 1, "/nowhere.json");
    fails(
        &format!("test {} --filter 'no such test'", state.display()),
        "",
        2,
        "no test is left",
    );
    fails("test", "", 2, "PATH");
}

/// The reproductions of code that used gigabytes: transient storage, output, logs.
#[test]
fn hostile_code_meets_the_memory_limit() {
    for code in ["5b5a5a5d5f56", "633fffffff5ff3", "5b62ffffff5fa05f56"] {
        let line = format!("run --code {code} --gas 9000000000000 --memory-limit 32");
        let page = stdout(&line, "");
        assert!(
            page.contains("halt: memory limit of the run"),
            "{code}: {page}"
        );
    }
    let line = "run --code 00 --memory-limit 99999999999999";
    fails(line, "", 2, "too many bytes");
}

#[test]
fn wrong_use_is_status_2() {
    for (line, input, status, text) in [
        ("run", "", 2, "--code HEX"),
        ("run /nowhere.hex", "", 1, "/nowhere.hex"),
        ("run --code 0x1", "", 2, "not hex"),
        (
            "run --code 00 --fork Atlantis",
            "",
            2,
            "unknown fork `Atlantis`; known: Frontier, ",
        ),
        ("run -", "0x1", 2, "not hex"),
        ("bench /nowhere.prog", "", 1, "/nowhere.prog"),
        ("bench testdata/evm/state", "", 2, "no `.prog` files"),
    ] {
        fails(line, input, status, text);
    }
}

#[test]
fn traces_name_opcodes_of_later_forks_at_their_fork() {
    // 17 words, then DUPN, SLOTNUM, SWAPN and EXCHANGE, with operands where they have one.
    let code = format!("{}e6804be780e89d00", "5f".repeat(17));
    let names = |fork: &str| -> Vec<String> {
        let line = format!("run --trace --fork {fork} --code {code}");
        let steps = evm(&line, "").stderr;
        let steps = steps.lines().skip(17).filter_map(|line| {
            let step: serde_json::Value = serde_json::from_str(line).ok()?;
            Some(step["opName"].as_str()?.to_owned())
        });
        steps.collect()
    };
    assert_eq!(
        names("Amsterdam"),
        ["DUPN", "SLOTNUM", "SWAPN", "EXCHANGE", "STOP"]
    );
    assert_eq!(names("Osaka"), ["Unknown"]);
}

#[test]
fn help_names_the_default_fork() {
    let help = evm("run --help", "").stdout;
    let default = format!(
        "default: {}, for programs Cancun",
        txgraph_evm::Fork::LATEST
    );
    assert!(help.contains(&default), "{help}");
}

/// One transaction of a bundle: the outcome of the replay, and a trace.
#[test]
fn runs_one_transaction_of_a_bundle() {
    let file = testdata().join("bundles/20.json.zst");
    let folder = tempfile::tempdir().unwrap();
    let evm = |line: &str| {
        let line = format!("evm run --bundle {} {line}", file.display());
        ask(folder.path(), &line)
    };
    let ran = evm("--tx 0 --json --trace=trace.jsonl").ended(0);
    let json = ran.json();
    assert!(json["gas_used"].as_u64().unwrap() >= 21_000, "{json}");
    let trace = std::fs::read_to_string(folder.path().join("trace.jsonl")).unwrap();
    let last: serde_json::Value = serde_json::from_str(trace.lines().last().unwrap()).unwrap();
    assert!(last["gasUsed"].is_string(), "{last}");
    evm("--tx 10000").ended(3).says("has no transaction 10000");
    assert_eq!(evm("").status, 2, "the index is required");
}
