//! `txgraph approvals`: what it prints, writes and refuses.

use crate::harness::Sample;

const OWNER: &str = "0xcc346449a79058a09ecf17cc9d8f9ec64b3c7529";
const SPENDER: &str = "0x23b9f8b9c7624bf5bbdc966963cd2888b8a46c5c";

#[test]
fn an_approval_is_seen_from_both_sides() {
    for sample in Sample::both() {
        let page = sample.ok(&format!("approvals {OWNER}"));
        let amount = "999,979.99999999999999981 OZA";
        assert!(page.stdout.contains(amount), "{}", page.stdout);
        let count = "open at the end of block 40: 1 of 1 approval";
        assert!(page.stderr.contains(count), "{}", page.stderr);
        let owner = sample.rows(&format!("approvals {OWNER} -f csv"));
        assert_eq!(owner.len(), 1);
        assert_eq!(
            (&*owner[0]["kind"], &*owner[0]["unlimited"]),
            ("allowance", "false")
        );
        assert_eq!(owner[0]["amount"], "999979999999999999999810");
        let spender = sample.ok(&format!("approvals {SPENDER} --as-spender -f csv"));
        assert!(spender.rows().contains(&owner[0]));
        let token = &owner[0]["token_address"];
        let of_token = sample.rows(&format!("approvals {OWNER} -t {token} -f csv"));
        assert_eq!(of_token, owner);
        let as_spender = format!("approvals {SPENDER} --as-spender -f csv");
        let of_token = sample.rows(&format!("{as_spender} -t {token}"));
        let all = sample.rows(&as_spender);
        let wanted = all.iter().filter(|it| it["token_address"] == *token);
        assert!(of_token.iter().eq(wanted));
        let of_other = sample.rows(&format!("approvals {OWNER} -t {SPENDER} -f csv"));
        assert_eq!(of_other.len(), 0);
        let limited = sample.ok(&format!("approvals {OWNER} --unlimited"));
        assert!(
            limited
                .stderr
                .contains("unlimited at the end of block 40: 0 of 1")
        );
        let unlimited = sample.rows(&format!("{as_spender} --unlimited"));
        let wanted = all.iter().filter(|it| it["unlimited"] == "true");
        assert!(unlimited.iter().eq(wanted));
        let coin = sample.run(&format!("approvals {OWNER} -t eth"));
        assert!(coin.ended(2).stderr.contains("no approvals"));
        // What was not approved in these blocks is not listed.
        let later = sample.ok(&format!("approvals {OWNER} -b 14:"));
        assert!(later.stdout.ends_with("none\n"), "{}", later.stdout);
        assert!(
            later.stderr.contains("before 14 are not listed"),
            "{}",
            later.stderr
        );
        let split = sample.run(&format!("approvals {OWNER} -b 3:5,8:9"));
        assert!(split.ended(2).stderr.contains("consecutive"));
    }
}
