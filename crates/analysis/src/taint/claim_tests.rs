//! Claims against a twin in which every user of a contract has an account of its own there.

use super::{
    tests::{follow, shown},
    *,
};
use proptest::prelude::*;
use txgraph_graph::testing;
use txgraph_transfers::{ChangedSlot, FlowEnd};

/// One transaction of users and a contract `v` that keeps their tokens.
#[derive(Clone, Copy, Debug)]
enum Act {
    /// From user to user.
    Pay(usize, usize, u64),
    Deposit(usize, u64),
    /// To the owner of the slot, or to another user.
    Withdraw(usize, usize, u64),
    /// From slot to slot, without a transfer.
    Assign(usize, usize, u64),
}

const USERS: [&str; 4] = ["r", "a", "b", "c"];
const VAULT: &str = "v";

/// The account of a user in the contract, in the twin.
fn inside(user: usize) -> String {
    format!("v{}", USERS[user])
}

#[derive(Default)]
struct Chain {
    transfers: Vec<Transfer>,
    flows: BTreeMap<Place, AmountFlows>,
    /// The same transfers, and those from slot to slot, between the accounts of the twin.
    twin: Vec<Transfer>,
    slots: [u64; USERS.len()],
}

impl Chain {
    fn slot(&mut self, user: usize, after: u64) -> ChangedSlot {
        let before = std::mem::replace(&mut self.slots[user], after);
        ChangedSlot {
            contract: testing::address(VAULT),
            slot: U256::from(user),
            key: Some(testing::address(USERS[user])),
            before: U256::from(before),
            after: U256::from(after),
        }
    }

    fn add(&mut self, block: u64, act: Act) {
        let place = (block, 0);
        let transfer = |from: &str, to: &str, value: u64| {
            let ends = [from, to].map(testing::address);
            testing::transfer(place, "T", ends[0], ends[1], U256::from(value))
        };
        let mut flows = AmountFlows::default();
        match act {
            Act::Pay(from, to, value) => {
                let paid = transfer(USERS[from], USERS[to], value);
                self.twin.push(paid.clone());
                self.transfers.push(paid);
            }
            Act::Deposit(user, value) => {
                let paid = transfer(USERS[user], VAULT, value);
                flows.writes = vec![self.slot(user, self.slots[user] + value)];
                flows.flows = vec![(FlowEnd::Transfer(paid.position()), FlowEnd::Slot(0))];
                self.transfers.push(paid);
                self.twin.push(transfer(USERS[user], &inside(user), value));
            }
            Act::Withdraw(user, to, value) => {
                let value = value.min(self.slots[user]);
                let paid = transfer(VAULT, USERS[to], value);
                flows.writes = vec![self.slot(user, self.slots[user] - value)];
                flows.flows = vec![(FlowEnd::Slot(0), FlowEnd::Transfer(paid.position()))];
                self.transfers.push(paid);
                self.twin.push(transfer(&inside(user), USERS[to], value));
            }
            Act::Assign(from, to, value) if from != to => {
                let value = value.min(self.slots[from]);
                flows.writes = vec![
                    self.slot(from, self.slots[from] - value),
                    self.slot(to, self.slots[to] + value),
                ];
                flows.flows = vec![(FlowEnd::Slot(0), FlowEnd::Slot(1))];
                self.twin.push(transfer(&inside(from), &inside(to), value));
            }
            Act::Assign(..) => {}
        }
        if !flows.writes.is_empty() {
            self.flows.insert(place, flows);
        }
    }
}

fn run(method: TaintMethod, transfers: &[Transfer], flows: BTreeMap<Place, AmountFlows>) -> Taint {
    let end = |address: &Address| (testing::name(*address) == "r").then_some(TaintEnd::Returned);
    // Users have tokens of their own, the contract has none.
    let opening = |address: Address, _| {
        let is_user = USERS.contains(&&*testing::name(address));
        Some(U256::from(if is_user { 3 } else { 0 }))
    };
    follow(
        TaintTracker::new(method, end, opening)
            .with_flows(flows, BTreeSet::from([testing::address(VAULT)])),
        transfers,
    )
}

/// Transactions with amounts that are multiples of `unit`.
fn acts(unit: u64, assign: u32) -> impl Strategy<Value = Vec<Act>> {
    let user = || 0..USERS.len();
    let value = move || (0u64..9).prop_map(move |value| value * unit);
    let act = prop_oneof![
        2 => (user(), user(), value()).prop_map(|(from, to, value)| Act::Pay(from, to, value)),
        2 => (user(), value()).prop_map(|(user, value)| Act::Deposit(user, value)),
        2 => (user(), user(), value()).prop_map(|(user, to, value)| Act::Withdraw(user, to, value)),
        assign => (user(), user(), value()).prop_map(|(from, to, value)| Act::Assign(from, to, value)),
    ];
    proptest::collection::vec(act, 0..50)
}

/// Compares with the twin, with this error of amounts.
fn compare(acts: Vec<Act>, error: u64) -> Result<(), TestCaseError> {
    let mut chain = Chain::default();
    for (block, act) in (0u64..).zip(acts) {
        chain.add(block, act);
    }
    let taint = run(TaintMethod::Execution, &chain.transfers, chain.flows);
    let twin = run(TaintMethod::Haircut, &chain.twin, BTreeMap::new());
    prop_assert!(error > 0 || taint.beyond_slots == 0);
    let initial = |address| testing::name(address).chars().next();
    let mut sums = BTreeMap::<_, [AmountSum; 2]>::new();
    for (side, taint) in [&taint, &twin].into_iter().enumerate() {
        for row in &taint.rows {
            let it = &row.transfer;
            let ends = (initial(it.from_address), initial(it.to_address));
            if ends != (Some('v'), Some('v')) {
                let of = (Some(it.block_number), ends.0, ends.1, row.source);
                sums.entry(of).or_default()[side] += widen(row.amount);
            }
        }
        for end in &taint.ends {
            let of = (None, initial(end.address), None, 0);
            sums.entry(of).or_default()[side] += end.amount;
        }
    }
    // The slots at the end are the accounts in the contract.
    for slot in &taint.slots {
        let of = (None, initial(slot.key.unwrap()), Some('v'), 0);
        sums.entry(of).or_default()[0] += slot.tainted;
    }
    for end in &twin.ends {
        if let Some(user) = testing::name(end.address).strip_prefix('v') {
            let of = (None, user.chars().next(), Some('v'), 0);
            sums.entry(of).or_default()[1] += end.amount;
        }
    }
    for (of, [found, wanted]) in sums {
        let difference = found.max(wanted) - found.min(wanted);
        prop_assert!(
            difference <= AmountSum::from(error),
            "{of:?}: {found} {wanted}"
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    /// A contract whose storage says whose its tokens are pays as if every user had an account there.
    #[test]
    fn slots_are_accounts(acts in acts(1, 0)) {
        compare(acts, 0)?;
    }

    /// The same if tokens are assigned from slot to slot. These steps are no transfers, so that parts with
    /// different numbers of hops are rounded together.
    #[test]
    fn slots_that_pay_each_other_are_accounts(acts in acts(1_000_000_000_000, 2)) {
        compare(acts, 1000)?;
    }
}

/// A transfer of a text of [`testing::transactions`], as an end of a flow.
fn moved(transfers: &[Transfer], at: usize) -> FlowEnd {
    FlowEnd::Transfer(transfers[at].position())
}

fn slot(number: u64, before: u64, after: u64) -> ChangedSlot {
    ChangedSlot {
        contract: testing::address("v"),
        slot: U256::from(number),
        key: None,
        before: U256::from(before),
        after: U256::from(after),
    }
}

/// The flows of transactions that change one slot each.
fn flows<const N: usize>(
    steps: [(u32, ChangedSlot, (FlowEnd, FlowEnd)); N],
) -> BTreeMap<Place, AmountFlows> {
    let flows = steps.map(|(transaction, slot, flow)| {
        let flows = AmountFlows {
            writes: vec![slot],
            flows: vec![flow],
        };
        ((100, transaction), flows)
    });
    flows.into()
}

/// Follows transfers from `r`. No address has tokens before.
fn followed(
    method: TaintMethod,
    transfers: &[Transfer],
    flows: BTreeMap<Place, AmountFlows>,
) -> Taint {
    let end = |address: &Address| (*address == testing::address("r")).then_some(TaintEnd::Returned);
    let tracker = TaintTracker::new(method, end, |_, _| Some(U256::ZERO));
    follow(
        tracker.with_flows(flows, BTreeSet::from([testing::address(VAULT)])),
        transfers,
    )
}

/// The example of docs/taint-contracts.md.
#[test]
fn a_withdrawal_of_another_user_is_not_tainted() {
    // `r` pays `b`, who deposits. Carol (`c`) and `b` withdraw.
    let text = "x>v:90 | r>b:10 | b>v:10 | v>c:50 | v>b:10";
    let transfers = testing::transactions(text);
    let flows = flows([
        (2, slot(1, 0, 10), (moved(&transfers, 2), FlowEnd::Slot(0))),
        (3, slot(2, 90, 40), (FlowEnd::Slot(0), moved(&transfers, 3))),
        (4, slot(1, 10, 0), (FlowEnd::Slot(0), moved(&transfers, 4))),
    ]);
    let ends = |method, flows| shown(&followed(method, &transfers, flows)).1;
    assert_eq!(ends(TaintMethod::Execution, flows), ["b:10 held"]);
    assert_eq!(
        ends(TaintMethod::Haircut, BTreeMap::new()),
        ["c:5 held", "v:4 held", "b:1 held"]
    );
}

#[test]
fn shares_of_a_vault_are_paid_out_with_what_they_are_worth() {
    // `a` and `x` pay 10 each for 100 shares each. The vault earns 10, and `a` takes 15 for its shares.
    let transfers = testing::transactions("r>a:10 | a>v:10 | x>v:10 | y>v:10 | v>a:15");
    let flows = flows([
        (1, slot(1, 0, 100), (moved(&transfers, 1), FlowEnd::Slot(0))),
        (2, slot(2, 0, 100), (moved(&transfers, 2), FlowEnd::Slot(0))),
        (4, slot(1, 100, 0), (FlowEnd::Slot(0), moved(&transfers, 4))),
    ]);
    let taint = followed(TaintMethod::Execution, &transfers, flows);
    // All shares of `a` are tainted, but no more than the 10 that came can leave.
    assert_eq!(shown(&taint).0, ["r>a:10/1 1", "a>v:10/1 2", "v>a:10/1 3"]);
    assert_eq!(shown(&taint).1, ["a:10 held"]);
    let rules: Vec<_> = taint.rows.iter().map(|row| row.rule).collect();
    assert_eq!(
        rules,
        [TaintRule::Transfer, TaintRule::Transfer, TaintRule::Slot]
    );
    assert_eq!(taint.beyond_slots, 0);
}

#[test]
fn what_a_contract_is_paid_is_passed_on() {
    // `v` has 90 of its own. It is paid 10, passes 6 on, and pays 4 of unknown origin.
    let transfers = testing::transactions("x>v:90 | r>v:10 v>b:6 | v>c:50");
    let flows = AmountFlows {
        writes: Vec::new(),
        flows: vec![(moved(&transfers, 1), moved(&transfers, 2))],
    };
    let taint = run(
        TaintMethod::Execution,
        &transfers,
        BTreeMap::from([((100, 1), flows)]),
    );
    // Of the 94 that are left, 4 are tainted: of 50, 2.
    assert_eq!(shown(&taint).0, ["r>v:10/1 1", "v>b:6/1 2", "v>c:2/1 2"]);
    assert_eq!(taint.rows[1].rule, TaintRule::PassedOn);
    assert_eq!(taint.rows[2].rule, TaintRule::Undecided);
}

#[test]
fn what_is_split_adds_up() {
    // Two payments, 7 of 14 tainted, split in 14.
    let paid: Vec<_> = (0..14).map(|at| format!("v>p{at}:1")).collect();
    let text = format!("x>a:4 | r>a:7 | x>v:3 a>v:11 {}", paid.join(" "));
    let transfers = testing::transactions(&text);
    let mut flows = AmountFlows::default();
    for at in 4..transfers.len() {
        let to = moved(&transfers, at);
        flows
            .flows
            .extend([2, 3].map(|from| (moved(&transfers, from), to)));
    }
    let flows = BTreeMap::from([((100, 2), flows)]);
    let taint = followed(TaintMethod::Execution, &transfers, flows);
    assert_eq!(taint.beyond_slots, 0);
    assert_eq!(taint.ends.len(), 7);
    assert!(
        taint
            .ends
            .iter()
            .all(|end| end.amount == AmountSum::from(1))
    );
}

#[test]
fn a_payment_beyond_the_slots_takes_of_all() {
    // The slot of `x` has 10, but the contract lost what is not tainted.
    let transfers = testing::transactions("x>v:10 | r>v:10 | v>y:10 | v>x:10");
    let flows = flows([
        (1, slot(1, 0, 10), (moved(&transfers, 1), FlowEnd::Slot(0))),
        (3, slot(2, 10, 0), (FlowEnd::Slot(0), moved(&transfers, 3))),
    ]);
    let taint = run(TaintMethod::Execution, &transfers, flows);
    // Half of what left unexplained is tainted; the rest of it pays what lacks.
    assert_eq!(shown(&taint).0, ["r>v:10/1 1", "v>y:5/1 2", "v>x:5/1 2"]);
    assert_eq!(taint.beyond_slots, 1);
}
