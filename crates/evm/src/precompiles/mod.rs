//! The precompiled contracts of each fork. BN254 is our own code, the others are revm's.

mod bn254;

pub(crate) use bn254::LineCache;

use crate::{fork::Fork, outcome::Halt};
use alloy_primitives::{Address, Bytes};
use revm_precompile::{Precompile, PrecompileId, PrecompileSpecId, PrecompileStatus, Precompiles};

/// The highest of the addresses that are numbered from 1, by fork.
const fn highest(fork: Fork) -> u16 {
    match fork {
        Fork::Frontier | Fork::Homestead | Fork::TangerineWhistle | Fork::SpuriousDragon => 0x04,
        Fork::Byzantium | Fork::Constantinople | Fork::Petersburg => 0x08,
        Fork::Istanbul | Fork::Berlin | Fork::London | Fork::Paris | Fork::Shanghai => 0x09,
        Fork::Cancun => 0x0a,
        Fork::Prague | Fork::Osaka | Fork::Amsterdam => 0x11,
    }
}

/// The address of P256VERIFY (EIP-7951).
const P256VERIFY: u16 = 0x100;

/// Whether `address` is a precompiled contract.
#[inline]
pub fn is_precompile(fork: Fork, address: &Address) -> bool {
    let bytes = &address.0.0;
    if bytes[..18] != [0; 18] {
        return false;
    }
    let number = u16::from_be_bytes([bytes[18], bytes[19]]);
    (1..=highest(fork)).contains(&number) || number == P256VERIFY && fork >= Fork::Osaka
}

/// The precompiled contract at `address`.
pub(crate) fn get(fork: Fork, address: &Address) -> Option<&'static Precompile> {
    if !is_precompile(fork, address) {
        return None;
    }
    let set = match fork {
        Fork::Frontier | Fork::Homestead | Fork::TangerineWhistle | Fork::SpuriousDragon => {
            PrecompileSpecId::HOMESTEAD
        }
        Fork::Byzantium | Fork::Constantinople | Fork::Petersburg => PrecompileSpecId::BYZANTIUM,
        Fork::Istanbul => PrecompileSpecId::ISTANBUL,
        Fork::Berlin | Fork::London | Fork::Paris | Fork::Shanghai => PrecompileSpecId::BERLIN,
        Fork::Cancun => PrecompileSpecId::CANCUN,
        Fork::Prague => PrecompileSpecId::PRAGUE,
        Fork::Osaka | Fork::Amsterdam => PrecompileSpecId::OSAKA,
    };
    Precompiles::new(set).get(address)
}

/// Runs a precompiled contract; returns the gas used and the output.
pub(crate) fn run(
    fork: Fork,
    precompile: &Precompile,
    lines: &mut LineCache,
    input: &[u8],
    gas_limit: u64,
) -> Result<(u64, Bytes), Halt> {
    match precompile.id() {
        PrecompileId::Bn254Add => priced(bn254::add_gas(fork), gas_limit, || bn254::add(input)),
        PrecompileId::Bn254Mul => priced(bn254::multiply_gas(fork), gas_limit, || {
            bn254::multiply(input)
        }),
        PrecompileId::Bn254Pairing => {
            let gas = bn254::pairing_gas(fork, input.len());
            priced(gas, gas_limit, || bn254::pairing(lines, input))
        }
        _ => run_revm(precompile, input, gas_limit),
    }
}

/// Runs one of our contracts if `gas` is within the limit. `None` is invalid input.
fn priced<const N: usize>(
    gas: u64,
    gas_limit: u64,
    contract: impl FnOnce() -> Option<[u8; N]>,
) -> Result<(u64, Bytes), Halt> {
    if gas > gas_limit {
        return Err(Halt::OutOfGas);
    }
    let output = contract().ok_or(Halt::PrecompileFailed)?;
    Ok((gas, Bytes::copy_from_slice(&output)))
}

/// Runs a contract of revm's crate.
fn run_revm(precompile: &Precompile, input: &[u8], gas_limit: u64) -> Result<(u64, Bytes), Halt> {
    // Only contracts of other chains have fatal errors.
    let output = precompile
        .execute(input, gas_limit, 0)
        .map_err(|_| Halt::PrecompileFailed)?;
    match output.status {
        PrecompileStatus::Success if output.gas_used <= gas_limit => {
            Ok((output.gas_used, output.bytes))
        }
        PrecompileStatus::Halt(reason) if !reason.is_oog() => Err(Halt::PrecompileFailed),
        PrecompileStatus::Revert => Err(Halt::PrecompileFailed),
        _ => Err(Halt::OutOfGas),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `is_precompile` agrees with revm's sets.
    #[test]
    fn is_precompile_agrees_with_revm() {
        for fork in Fork::ALL {
            for number in 0..0x200u16 {
                let mut address = Address::ZERO;
                address.0[18..].copy_from_slice(&number.to_be_bytes());
                let exists = get(fork, &address).is_some();
                assert_eq!(exists, is_precompile(fork, &address), "{fork} 0x{number:x}");
            }
        }
        assert!(!is_precompile(Fork::Osaka, &Address::repeat_byte(1)));
    }
}
