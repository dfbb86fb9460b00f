//! The gas study re-made: one small interpreter, and gas accounting in steps from plain
//! to the form that the embedded interpreter has. Each step is a type, so each is its
//! own copy of the loop and nothing is decided while it runs.
//!
//! The interpreter is plain on purpose and knows only what the four programs of the
//! study use, under the rules of Cancun; its gas is compared with the real one's.

mod machine;
mod policy;

pub use machine::{Code, Ran, execute};
pub use policy::{BigSum, Function, Gas, PerBlock, Register, Table, ThreeCounters, Unmetered};

use crate::measure::{Answer, Subject};
use std::marker::PhantomData;
use txgraph_evm_tools::program::Program;

/// A program on a step of the ladder.
pub struct Rung<G> {
    program: Program,
    code: Code,
    gas: PhantomData<G>,
}

impl<G: Gas> Rung<G> {
    /// The code is looked through here, not when timed.
    pub fn new(program: &Program) -> Self {
        let code = program
            .state
            .get(&program.to)
            .map(|account| account.code.clone());
        let code = Code::new(&code.unwrap_or_default());
        Self {
            program: program.clone(),
            code,
            gas: PhantomData,
        }
    }
}

impl<G: Gas> Subject for Rung<G> {
    fn name(&self) -> &'static str {
        G::NAME
    }

    fn answer(&mut self) -> Answer {
        let Ran {
            success,
            gas_used,
            output,
        } = execute::<G>(&self.code, &self.program);
        Answer {
            success,
            gas_used,
            output,
        }
    }

    fn run(&mut self) -> u64 {
        execute::<G>(&self.code, &self.program).gas_used
    }
}

/// All steps in order, for a program. The last one counts no gas.
pub fn rungs(program: &Program) -> Vec<Box<dyn Subject>> {
    vec![
        Box::new(Rung::<ThreeCounters>::new(program)),
        Box::new(Rung::<BigSum>::new(program)),
        Box::new(Rung::<Function>::new(program)),
        Box::new(Rung::<Table>::new(program)),
        Box::new(Rung::<Register>::new(program)),
        Box::new(Rung::<PerBlock>::new(program)),
        Box::new(Rung::<Unmetered>::new(program)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use txgraph_evm::Fork;
    use txgraph_evm_tools::program::run_program;

    fn programs() -> Vec<Program> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/evm/programs");
        let names = [
            "count1000",
            "fact100",
            "fact1000",
            "keccak10k",
            "sstore2k",
            "memsweep",
        ];
        let open = |name| Program::open(&folder.join(format!("{name}.prog"))).unwrap();
        names.map(open).into()
    }

    #[test]
    fn every_step_charges_what_the_interpreter_charges() {
        for program in programs() {
            let real = run_program(&program, Fork::Cancun).unwrap();
            let mut rungs = rungs(&program);
            let unmetered = rungs.pop().unwrap().answer();
            assert_eq!((unmetered.success, unmetered.gas_used), (true, 0));
            assert_eq!(unmetered.output, real.output.to_vec());
            for mut rung in rungs {
                let answer = rung.answer();
                assert!(answer.success, "{} {}", program.name, rung.name());
                assert_eq!(
                    answer.gas_used,
                    real.gas_used,
                    "{} {}",
                    program.name,
                    rung.name()
                );
                assert_eq!(answer.output, real.output.to_vec(), "{}", program.name);
            }
        }
    }

    /// Where gas ends in the midst of a program, every step says so, as the interpreter.
    #[test]
    fn every_step_halts_when_gas_ends() {
        for mut program in programs() {
            let needed = run_program(&program, Fork::Cancun).unwrap().gas_used;
            for gas in [needed, needed - 1, needed / 2, 0] {
                program.gas = gas;
                let real = run_program(&program, Fork::Cancun).unwrap();
                assert!(real.is_success() || gas < needed || program.name == "sstore2k");
                let mut rungs = rungs(&program);
                rungs.pop();
                for mut rung in rungs {
                    let answer = rung.answer();
                    let told = (answer.success, answer.gas_used);
                    let name = &program.name;
                    assert_eq!(
                        told,
                        (real.is_success(), real.gas_used),
                        "{name} {} {gas}",
                        rung.name()
                    );
                }
            }
        }
    }
}
