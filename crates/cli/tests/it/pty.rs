//! A terminal for the program: what a person sees on stdout.

use crate::harness::Run;
use nix::pty::{Winsize, openpty};
use std::{
    fs::File,
    io::Read,
    process::{Command, Stdio},
    thread,
};

/// Runs with a terminal of this many columns as stdout. Its stderr is a pipe.
pub(crate) fn run_in_terminal(mut command: Command, columns: u16) -> Run {
    let name = format!("{command:?}");
    let size = Winsize {
        ws_row: 50,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    let terminal = openpty(&size, None).unwrap();
    command.stdout(Stdio::from(terminal.slave));
    command.stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    // The last copy of the other end, besides the copy of the child.
    drop(command);
    let mut master = File::from(terminal.master);
    let reader = thread::spawn(move || {
        let mut bytes = Vec::new();
        let mut buffer = [0; 4096];
        // The end of a terminal is an error (EIO).
        while let Ok(count @ 1..) = master.read(&mut buffer) {
            bytes.extend_from_slice(&buffer[..count]);
        }
        bytes
    });
    let mut output = child.wait_with_output().unwrap();
    output.stdout = reader.join().unwrap();
    let mut run = Run::new(name, output);
    run.stdout = run.stdout.replace("\r\n", "\n");
    run
}
