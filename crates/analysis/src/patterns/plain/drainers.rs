//! The rule of drainers, written again.

use super::{
    super::{SpenderApproval, TransactionEnds, finding::Pattern},
    List, Plain,
};
use alloy_primitives::Address;
use std::collections::{BTreeMap, BTreeSet};
use txgraph_transfers::Transfer;

impl List<'_> {
    /// Whether an approval lets a spender take a transfer.
    fn is_allowed(&self, at: usize, spender: Address, approvals: &[SpenderApproval]) -> bool {
        let it = &self.0[at];
        let mut before: Vec<&SpenderApproval> = (approvals.iter())
            .filter(|approval| {
                let ends = (approval.owner, approval.spender);
                Some(approval.token) == it.token_address
                    && ends == (it.from_address, spender)
                    && approval.position < it.position()
            })
            .collect();
        before.sort_by_key(|approval| (approval.position, approval.amount));
        let place = |approval: &SpenderApproval| (approval.position.block, approval.position.tx);
        let is_inside = |approval: &&SpenderApproval| place(approval) == it.transaction();
        let (inside, before): (Vec<&SpenderApproval>, Vec<_>) =
            before.into_iter().partition(is_inside);
        inside.iter().any(|approval| !approval.amount.is_zero())
            || before.last().is_some_and(|last| !last.amount.is_zero())
    }

    pub(in super::super) fn drainers(
        &self,
        approvals: &[SpenderApproval],
        ends: &BTreeMap<(u64, u32), TransactionEnds>,
    ) -> Vec<Plain> {
        let spenders: BTreeSet<Address> = approvals.iter().map(|it| it.spender).collect();
        let mut all = Vec::new();
        for spender in spenders {
            let is_pull = |at: &usize| {
                let it = &self.0[*at];
                let mut together =
                    (self.0.iter()).filter(|other| other.transaction() == it.transaction());
                let is_paid = together.any(|other| {
                    other.to_address == it.from_address
                        && other.from_address != it.from_address
                        && !other.value.is_zero()
                });
                let ends = &ends[&it.transaction()];
                ![it.from_address, it.to_address].contains(&Address::ZERO)
                    && it.from_address != it.to_address
                    && !it.value.is_zero()
                    && !is_paid
                    && ends.signer != it.from_address
                    && spender != it.from_address
                    && (ends.signer == spender || ends.called == Some(spender))
                    && self.is_allowed(*at, spender, approvals)
            };
            let pulls: BTreeSet<usize> = (0..self.0.len()).filter(is_pull).collect();
            let victims = |pulls: &mut dyn Iterator<Item = &usize>| {
                let owners: BTreeSet<Address> = pulls.map(|at| self.0[*at].from_address).collect();
                owners.len()
            };
            if victims(&mut pulls.iter()) < 4 {
                continue;
            }
            let of_token = |token: Option<Address>| {
                let of = move |at: &&usize| self.0[**at].token_address == token;
                victims(&mut pulls.iter().filter(of))
            };
            let mut main = *pulls.first().unwrap();
            for at in &pulls {
                if of_token(self.0[*at].token_address) > of_token(self.0[main].token_address) {
                    main = *at;
                }
            }
            let mut evidence = BTreeSet::new();
            let mut gained: BTreeMap<Address, u128> = BTreeMap::new();
            let mut times: BTreeMap<Address, BTreeSet<(u64, u32)>> = BTreeMap::new();
            let mut transactions = BTreeSet::new();
            for first in &pulls {
                let same = |at: &usize| {
                    let [it, first] = [*at, *first].map(|at| &self.0[at]);
                    it.transaction() == first.transaction()
                        && it.token_address == first.token_address
                        && !it.value.is_zero()
                };
                let together: Vec<usize> = (0..self.0.len()).filter(same).collect();
                let mut holders = BTreeSet::new();
                for at in &together {
                    let it = &self.0[*at];
                    if pulls.contains(at) {
                        evidence.insert((*at, "pulled"));
                    } else if holders.contains(&it.from_address) && it.from_address != it.to_address
                    {
                        evidence.insert((*at, "passed"));
                    } else {
                        continue;
                    }
                    holders.insert(it.to_address);
                }
                let is_first = together.iter().find(|at| pulls.contains(at)) == Some(first);
                let is_main = self.0[*first].token_address == self.0[main].token_address;
                transactions.insert(self.0[*first].transaction());
                let owners = together.iter().filter(|at| pulls.contains(at));
                for holder in holders {
                    let sum = |is_in: bool| -> u128 {
                        let end =
                            |it: &Transfer| [it.from_address, it.to_address][usize::from(is_in)];
                        let of = together.iter().filter(|at| end(&self.0[**at]) == holder);
                        of.map(|at| self.value(*at)).sum()
                    };
                    let is_owner = owners.clone().any(|at| self.0[*at].from_address == holder);
                    if !is_owner && sum(true) > sum(false) {
                        let times = times.entry(holder).or_default();
                        times.insert(self.0[*first].transaction());
                        if is_first && is_main {
                            *gained.entry(holder).or_default() += sum(true) - sum(false);
                        }
                    }
                }
            }
            if times
                .values()
                .all(|times| 2 * times.len() < transactions.len())
            {
                continue;
            }
            let most = gained.values().max();
            let other = gained.iter().find(|it| Some(it.1) == most).map(|it| *it.0);
            all.push((
                Pattern::Drainer,
                spender,
                other,
                evidence.into_iter().collect(),
            ));
        }
        all.sort();
        all
    }
}
